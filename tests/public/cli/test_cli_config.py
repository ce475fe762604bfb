"""train --config and --write-config: options in a TOML file."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import misused, refused, run
from pairrank import load_model
from pairrank.io import write_rows, write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("config")
    for seed, name in enumerate(["train", "valid"]):
        write_svmlight(home / f"{name}.txt", make_rows(seed))
        write_rows(home / f"{name}.csv", make_rows(seed))
    return home


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """Work in a folder of its own, with the rows beside it."""
    for name in ("train.txt", "valid.txt", "train.csv"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_repeated_from_its_file_gives_the_same_model(here):
    options = ["--model", "rankncg", "--alpha", "0.03", "--kernel", "rbf", "--components", "5"]
    options += ["--drop", "f3", "--qid", "qid", "--tol", "1e-7"]
    run("train", "train.csv", "-o", "m", "-q", *options, "--write-config", "train.toml")
    content = tomllib.loads((here / "train.toml").read_text("utf-8"))
    assert content == {
        "model": "rankncg", "seed": 0, "data": "train.csv", "qid": "qid", "drop": ["f3"],
        "kernel": "rbf", "components": 5, "alpha": 0.03, "tol": 1e-7, "output": "m", "quiet": True,
    }  # fmt: skip
    first = load_model(here / "m")
    (here / "m").unlink()
    again = ["--config", "train.toml", "--write-config", "again.toml"]
    assert run("train", *again).stderr == ""
    np.testing.assert_array_equal(load_model(here / "m").coef_, first.coef_)
    assert (here / "again.toml").read_bytes() == (here / "train.toml").read_bytes()


def test_the_noted_choice_of_a_search_is_an_option_of_the_model(here):
    search = ["--model", "rankboost", "--search", "--valid", "valid.txt", "--metric", "wmw"]
    run("train", "train.txt", "-o", "m", "-q", *search, "--write-config", "train.toml")
    note = (here / "train.toml").read_text("utf-8").splitlines()[1]
    choice = note.rpartition("chosen ")[2].replace("_", "-").replace(" ", "")
    (flag, value), chosen = choice.split("="), load_model(here / "m").n_estimators
    assert (flag, value) == ("n-estimators", str(chosen))
    run("train", "train.txt", "-o", "again", "-q", "--model", "rankboost", f"--{flag}", value)


def test_a_search_is_repeated_and_its_choice_noted(here):
    search = ["--search", "--valid", "valid.txt", "--metric", "mean_ndcg"]
    run("train", "train.txt", "-o", "m", "-q", *search, "--write-config", "train.toml")
    text = (here / "train.toml").read_text("utf-8")
    first = load_model(here / "m")
    assert f"# --search has chosen C = {first.C!r}\n" in text
    assert "C" not in tomllib.loads(text)
    run("train", "--config", "train.toml", "--output", "again")
    again = load_model(here / "again")
    assert again.C == first.C
    np.testing.assert_array_equal(again.coef_, first.coef_)


def test_the_command_line_wins(here):
    (here / "c.toml").write_text(
        'data = "nowhere.txt"\noutput = "m"\nC = 5\nloss = "hinge"\ndrop = ["f0", "f1"]\njson=true'
    )
    given_here = ["train.csv", "-C", "0.25", "--drop", "f2", "--qid", "qid"]
    record = json.loads(run("train", "--config", "c.toml", *given_here).stdout)
    assert (record["C"], record["features"]) == (0.25, 3)
    assert load_model(here / "m").loss == "hinge"


def test_the_command_line_switches_off_a_flag_of_the_file(here):
    (here / "c.toml").write_text('data="train.txt"\noutput="m"\nsearch=true\njson=true\nquiet=true')
    assert "--search needs validation rows" in misused("train", "--config", "c.toml")
    given_here = ["--no-search", "--no-json", "--write-config", "w.toml"]
    assert not run("train", "--config", "c.toml", *given_here).stdout
    written = tomllib.loads((here / "w.toml").read_text())
    assert [written[flag] for flag in ("search", "json", "quiet")] == [False, False, True]
    again = json.loads(run("train", "--config", "w.toml", "--no-json", "--json").stdout)
    assert again["model"] == "RankSVM"
    assert "No such option: --no-loss" in misused("train", "train.txt", "-o", "m", "--no-loss")


def test_the_model_of_the_file_has_its_own_options(here):
    (here / "c.toml").write_text('model = "svrank"\nepsilon = 0.5\ndata = "train.txt"\noutput="m"')
    record = json.loads(run("train", "--config=c.toml", "--json").stdout)
    assert (record["model"], record["epsilon"]) == ("SVRank", 0.5)
    assert "--epsilon" in run("train", "--config", "c.toml", "--help").stdout
    said = misused("train", "--config", "c.toml", "--model", "ranksvm")
    assert "Model ranksvm has no option --epsilon; it is an option of svrank." in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("dada = 1", "c.toml: there is no option 'dada' (did you mean data?)."),
        ("max_iter = 3", "there is no option 'max_iter' (did you mean max-iter?)."),
        ('config = "c.toml"', "there is no option 'config'"),
        ('write-config = "c.toml"', "there is no option 'write-config'"),
        ("[train]\nC = 1", "there is no option 'train'"),
        ("C = true", "C must be text or a number (got True)."),
        ("C = [1]", "C must be text or a number (got [1])."),
        ("qid = 2020-01-01", "qid must be text or a number"),
        ("search = 1", "search must be true or false (got 1)."),
        ("drop = [true]", "drop must be a list of texts (got [True])."),
        ("alpha = 1", "Model ranksvm has no option --alpha; use -C."),
        ("nu = 1", "Model ranksvm has no option --nu; use -C."),
        ("epsilon = 1", "Model ranksvm has no option --epsilon; it is an option of svrank."),
        ('model = "nosuch"', "'nosuch' is not one of ranksvm, rankncg"),
        ('model = ["hull"]', "is not one of ranksvm, rankncg"),
        ('C = "much"', "'much' is not a number."),
        ("C = -1", "-C must be greater than 0 (got -1.0)."),
        ("max-iter = 7.5", "'7.5' is not a whole number"),
        ('loss = "hing"', "'hing' is not one of"),
        ('metric = "accuracy"', "no metric 'accuracy' (did you mean pairwise_accuracy?)"),
        ("search = true", "--search needs validation rows"),
    ],
)
def test_options_of_a_file_are_checked_like_those_of_the_command_line(here, content, said):
    (here / "c.toml").write_text(content)
    arguments = ["train", "train.txt", "-o", "m", "--config", "c.toml"]
    assert said.replace(" ", "") in misused(*arguments).replace(" ", "")
    assert not (here / "m").exists()


def test_what_the_file_lacks_must_be_given(here):
    (here / "c.toml").write_text('output = "m"')
    assert "Missing argument 'DATA'" in misused("train", "--config", "c.toml")


def test_a_file_that_cannot_be_read_is_bad_input(here):
    train = ["train", "train.txt", "-o", "m", "--config"]
    assert "cannot read nowhere.toml" in refused(*train, "nowhere.toml")
    (here / "c.toml").write_text("C = \n")
    assert "c.toml: is not valid TOML (Invalid value (at line 1" in refused(*train, "c.toml")
    (here / "c.toml").write_bytes(b'qid = "\xe9"')
    assert "c.toml: is not UTF-8 text" in refused(*train, "c.toml")
    (here / "c.toml").write_bytes(b'\xef\xbb\xbfquiet = true\r\noutput = "m"\r\n')
    run("train", "train.txt", "--config", "c.toml")


def test_one_standard_input_is_not_two(here):
    code = run("train", "-", "-o", "m", "--config", "-", stdin=b"C = 1\n", code=2)
    assert "standard input (-) holds one input" in code.stderr
    run("train", "train.txt", "-o", "m", "-q", "--config", "-", stdin=b"C = 1\n")


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("-", 2, "--write-config writes a file: name it."),
        ("./m", 2, "name the same file; name two."),
        ("train.txt", 1, "train.txt: is an input too"),
        ("c.toml", 1, "c.toml: is an input too"),
        ("nowhere/c.toml", 1, "its folder does not exist"),
    ],
)
def test_a_place_that_cannot_hold_the_file_is_refused_before_any_work(here, path, code, said):
    (here / "c.toml").write_text("C = 1\n")
    before = {each.name: each.read_bytes() for each in here.iterdir()}
    train = ["train", "train.txt", "-o", "m", "--config", "c.toml"]
    result = run(*train, "--write-config", path, code=code)
    assert said in " ".join(result.stderr.replace("│", " ").split())
    assert {each.name: each.read_bytes() for each in here.iterdir()} == before


def test_names_that_toml_cannot_hold_are_refused_before_any_work(here):
    train = ["train", "train.txt", "-o", "m", "--write-config", "c.toml", "--qid", "\udce9"]
    assert "is not valid Unicode, which TOML cannot hold" in refused(*train)
    assert not (here / "m").exists()


def test_a_run_that_fails_writes_no_file(here):
    (here / "bad.txt").write_text("x 1:2\n")
    refused("train", "bad.txt", "-o", "m", "--write-config", "c.toml")
    assert not (here / "c.toml").exists()
