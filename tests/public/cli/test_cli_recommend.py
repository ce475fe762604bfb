"""pairrank recommend: from a file of ratings to ranked items, or to one sentence."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from cli_runs import misused, refused, run
from pairrank.datasets import make_ratings
from pairrank.recommend import recommend

RATINGS = make_ratings(40, 60, random_state=0)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("ratings") / "ratings.csv"
    lines = "".join(f"u{u},i{i},{r}\n" for u, i, r in zip(*RATINGS, strict=True))
    path.write_text("user,item,rating\n" + lines)
    return path


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def named():
    user, item, rating = RATINGS
    return [f"u{one}" for one in user], [f"i{one}" for one in item], rating


def test_items_new_to_the_users_are_written_best_first(file, tmp_path):
    done = run("recommend", file, "--users", "u7, u3", "--top", 4, "-o", tmp_path / "out.csv")
    rows = rows_of((tmp_path / "out.csv").read_text())
    expected = recommend(named(), ["u7", "u3"], top=4)
    assert [row["user"] for row in rows] == ["u7"] * 4 + ["u3"] * 4
    assert [row["item"] for row in rows] == expected.item.tolist()
    assert [int(row["position"]) for row in rows] == [1, 2, 3, 4] * 2
    np.testing.assert_array_equal([float(row["score"]) for row in rows], expected.score)
    rated = set(zip(*named()[:2], strict=True))
    assert not {(row["user"], row["item"]) for row in rows} & rated
    assert "recommendations" in done.stdout


def test_everyone_is_served_on_standard_output(file):
    done = run("recommend", file, "--top", 1, "--quiet")
    rows = rows_of(done.stdout)
    assert len(rows) == len({row["user"] for row in rows}) == np.unique(RATINGS[0]).size
    assert done.stderr == ""
    assert "users with recommendations" in run("recommend", file, "--top", 1).stderr


def test_users_come_from_a_file_or_from_standard_input(file, tmp_path):
    (tmp_path / "who.txt").write_text("u7\n\n  u3\n")
    wanted = run("recommend", file, "--users", "u7,u3", "-q").stdout
    assert run("recommend", file, "--users", f"@{tmp_path}/who.txt", "-q").stdout == wanted
    assert run("recommend", file, "--users", "@-", "-q", stdin=b"u7\nu3").stdout == wanted


def test_bare_numbers_between_colons_are_read_from_standard_input():
    text = "".join(f"{u}::{i}::{r}\n" for u, i, r in zip(*RATINGS, strict=True))
    rows = rows_of(run("recommend", "-", "--users", 5, "-q", stdin=text.encode()).stdout)
    assert [int(row["item"]) for row in rows] == recommend(RATINGS, [5]).item.tolist()


def test_columns_and_separator_are_options(file, tmp_path):
    text = file.read_text().splitlines()
    turned = ["stars/film/who"]
    turned += ["/".join(reversed(line.split(","))) for line in text[1:]]
    (tmp_path / "turned.txt").write_text("\n".join(turned))
    columns = ["--user", "who", "--item", "2", "--rating", "stars", "--separator", "/"]
    found = run("recommend", tmp_path / "turned.txt", *columns, "--users", "u3", "-q")
    assert found.stdout == run("recommend", file, "--users", "u3", "-q").stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--model", "ranksvm"],
        ["--model", "rankncg", "--alpha", "5"],
        ["--model", "hull"],
        ["--model", "hull", "--nu", "0.01"],
        ["--model", "mprank"],
        ["--model", "svrank", "-C", "2"],
        ["--alpha", "30", "--references", "20", "--min-support", "2"],
        ["--kernel", "rbf"],
        ["--kernel", "rbf", "--gamma", "0.002"],
        ["--kernel", "poly", "--model", "ranksvm"],
        ["--impute", "gaussian", "--seed", "3"],
    ],
)
def test_every_model_and_option_recommends(file, options):
    rows = rows_of(run("recommend", file, "--users", "u3", "--top", 3, "-q", *options).stdout)
    assert len(rows) == 3
    scores = [float(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)


def test_references_are_as_many_as_asked_for(file):
    found = run("recommend", file, "--users", "u3", "-q", "--references", 7, "--min-support", 0)
    ratings = [f"u{user}" for user in RATINGS[0]], [f"i{item}" for item in RATINGS[1]], RATINGS[2]
    expected = recommend(ratings, ["u3"], n_references=7, min_support=0)
    assert [row["item"] for row in rows_of(found.stdout)] == expected.item.tolist()


def test_the_seed_decides_what_is_drawn(file):
    draws = ["recommend", file, "--users", "u3", "-q", "--impute", "gaussian-item"]
    assert run(*draws).stdout == run(*draws).stdout
    assert run(*draws).stdout != run(*draws, "--seed", 1).stdout


def test_a_summary_can_be_had_as_json(file, tmp_path):
    done = run("recommend", file, "--users", "u3", "-o", tmp_path / "out.csv", "--json")
    record = json.loads(done.stdout)
    assert record["ratings"] == RATINGS[0].size
    assert record["users with recommendations"] == 1
    assert record["recommendations"] == 10
    assert "standard output takes" in misused("recommend", file, "--json")


def test_ratings_given_twice_are_refused_or_made_one(tmp_path):
    (tmp_path / "r.csv").write_text("1,a,3\n2,a,4\n1,a,5\n1,b,1\n2,b,2\n2,c,5\n3,c,1\n3,a,2\n")
    said = refused("recommend", tmp_path / "r.csv", "--min-support", 1)
    assert "r.csv: user 1 rates item a twice" in said
    for rule in ("mean", "last"):
        arguments = ["--duplicates", rule, "--min-support", 1, "--users", 1, "-q"]
        rows = rows_of(run("recommend", tmp_path / "r.csv", *arguments).stdout)
        assert [row["item"] for row in rows] == ["c"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--users", "u3,nobody"], "ratings.csv: no ratings of user 'nobody'"),
        (["--users", " , "], "--users holds no name"),
        (["--users", "@missing.txt"], "missing.txt: No such file"),
        (["--user", "who"], "no column 'who'"),
        (["--separator", ""], "the separator is empty"),
        (["--min-support", "999"], "nothing to recommend"),
        (["-o", "no/such/folder/out.csv"], "its folder does not exist"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(file, options, complaint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert complaint in refused("recommend", file, *options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no ratings"),
        ("user,item,rating\n", "no ratings below"),
        ("1,2,x\n1,2,y\n", "line 1: column 'rating': 'x' is not"),
        ("a,b,rating\n1,2,y\n", "line 2: column 'rating': 'y' is not"),
    ],
)
def test_a_file_without_ratings_is_refused(text, complaint, tmp_path):
    (tmp_path / "r.csv").write_text(text)
    assert complaint in refused("recommend", tmp_path / "r.csv", "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_standard_output_is_utf_8_whatever_the_terminal_speaks(tmp_path):
    lines = ["Zoë,映画,3", "Zoë,b,5", "Åke,映画,2", "Åke,b,4", "Åke,ç,1"]
    (tmp_path / "r.csv").write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "pairrank", "recommend", "r.csv", "--min-support", "0", "-q"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert done.stdout.decode("utf-8").splitlines()[1].startswith("Zoë,1,ç,")


def test_no_input_is_written_over(file):
    before = file.read_bytes()
    assert "is an input too, and would be lost" in refused("recommend", file, "-o", file)
    assert file.read_bytes() == before


def test_a_tab_can_be_spelt_out(tmp_path):
    (tmp_path / "r.txt").write_text("1\ta::b\t3\n2\ta::b\t4\n1\tc\t5\n2\td\t2\n")
    options = ["--separator", r"\t", "--min-support", 1, "-q"]
    rows = rows_of(run("recommend", tmp_path / "r.txt", *options).stdout)
    assert [row["item"] for row in rows] == ["d", "c"]


def test_a_user_who_is_no_number_is_refused_where_all_are():
    said = refused("recommend", "-", "--users", "ann", stdin=b"1,1,3\n2,1,4\n")
    assert "no ratings of user ann; all users are numbers" in said


def test_a_user_who_rated_one_item_is_refused_by_name(tmp_path):
    (tmp_path / "r.csv").write_text("1,a,3\n2,a,4\n2,b,5\n")
    said = refused("recommend", tmp_path / "r.csv", "--users", 1, "--baseline", "none")
    assert "user 1: too few ratings" in said


def test_titles_stand_beside_the_items(tmp_path):
    (tmp_path / "r.csv").write_text("1,7,3\n1,8,5\n2,7,4\n2,8,1\n2,9,5\n3,9,2\n3,7,1\n")
    (tmp_path / "titles.csv").write_text('item,title\n9,"Ran, 1985"\n', encoding="utf-8")
    options = ["--titles", tmp_path / "titles.csv", "--min-support", 1, "-q"]
    rows = rows_of(run("recommend", tmp_path / "r.csv", "--users", "1,3", *options).stdout)
    assert [(row["item"], row["title"]) for row in rows] == [("9", "Ran, 1985"), ("8", "8")]
    (tmp_path / "titles.csv").write_text("9\n")
    assert "titles.csv, line 1: no title" in refused("recommend", tmp_path / "r.csv", *options)
    (tmp_path / "titles.csv").write_text("")
    assert "titles.csv: no titles" in refused("recommend", tmp_path / "r.csv", *options)
    (tmp_path / "titles.csv").write_bytes(b"8|Wait\x85\r\n9|Ran\r\n")
    rows = rows_of(run("recommend", tmp_path / "r.csv", "--users", "1", *options).stdout)
    assert [row["title"] for row in rows] == ["Ran"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--model", "ridge"], "'ridge' is not one of ranksvm, rankncg"),
        (["--model", "ranksvm", "--alpha", "1"], "Model ranksvm has no option --alpha; use -C."),
        (["--model", "hull", "--alpha", "1"], "Model hull has no option --alpha; use --nu."),
        (["--gamma", "1"], "--gamma needs --kernel rbf or poly."),
        (["--kernel", "precomputed"], "takes a matrix"),
        (["--top", "0"], "--top"),
        (["--references", "1"], "--references"),
        (["--jobs", "0"], "--jobs must be 1 or more"),
        (["--impute", "mean"], "--impute"),
        (["--users", "@-"], "standard input"),
    ],
)
def test_wrong_usage_is_told_before_any_file_is_read(options, complaint):
    assert complaint in misused("recommend", "-", *options)


def test_movielens_is_recommended_from_as_it_is(data_home):
    arguments = ["--users", "1,6", "--top", 2, "-q"]
    rows = rows_of(run("recommend", data_home / "ml-100k" / "u.data.gz", *arguments).stdout)
    assert [row["user"] for row in rows] == ["1", "1", "6", "6"]
