"""pairrank ratings: the table, the files and the errors of the command line."""

from __future__ import annotations

import csv

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from cli_runs import misused, record_of, refused, run
from pairrank import BradleyTerry
from pairrank.io import read_votes

NAMES = np.array(["ann", "bob", "cid", "dan"])


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    """A file of votes of four players by ten voters."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 200)
    second = (first + rng.integers(1, 4, 200)) % 4
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["W", "L", "tie", "times", "voter", "home"])
        for k, (i, j) in enumerate(zip(NAMES[first], NAMES[second], strict=True)):
            cells = rng.random() < 0.2, rng.integers(1, 3), f"v{k % 10}", rng.normal()
            writer.writerow([i, j, int(cells[0]), *cells[1:]])
    return path


BASE = ("--winner", "W", "--loser", "L")
READ = {"winner": "W", "loser": "L"}


@pytest.mark.parametrize(
    ("options", "columns", "params"),
    [
        ((), {}, {}),
        (("--tie", "tie"), {"tie": "tie"}, {}),
        (
            ("--tie", "tie", "--ties", "rao-kupper", "--group", "voter", "--scale", "elo"),
            {"tie": "tie", "groups": "voter"},
            {"ties": "rao-kupper", "scale": "elo"},
        ),
        (
            ("--weight", "times", "--alpha", "0.5", "--anchor", "1500", "--scale", "100"),
            {"weight": "times"},
            {"alpha": 0.5, "anchor": 1500.0, "scale": 100.0},
        ),
        (("--anchor", "bob=0", "--level", "0.9"), {}, {"anchor": {"bob": 0.0}, "level": 0.9}),
        (("--covariate", "home"), {"covariates": ["home"]}, {}),
    ],
)
def test_the_file_holds_the_ranking(votes, tmp_path, options, columns, params):
    output = tmp_path / "ranking.csv"
    shown = run("ratings", votes, *BASE, *options, "-o", output).stdout
    wanted = BradleyTerry(**params).fit(**read_votes(votes, **READ, **columns)._asdict()).ranking_
    found = pl.read_csv(output)
    assert found.columns == list(wanted)
    for name in wanted:
        np.testing.assert_array_equal(found[name].to_numpy(), wanted[name])
    assert [shown.index(name) for name in wanted["item"]] == sorted(map(shown.index, NAMES))
    assert "rank_low" in shown
    if "covariates" in columns:
        assert "effect of home" in shown


def test_parquet_json_and_standard_output(votes, tmp_path):
    output = tmp_path / "ranking.parquet"
    quiet = run("ratings", votes, *BASE, "-o", output, "--quiet")
    assert quiet.stdout == ""
    table = pq.read_table(output).to_pydict()
    facts = record_of("ratings", votes, *BASE, "--covariance", "none")
    assert [row["item"] for row in facts["ranking"]] == table["item"]
    assert set(facts["ranking"][0]) == {"item", "score", "n"}
    assert facts["comparisons"] == 200
    lines = run("ratings", votes, *BASE, "-o", "-").stdout.splitlines()
    assert lines[0].replace('"', "").startswith("item,score,standard_error")
    assert len(lines) == 5
    piped = run("ratings", "-", *BASE, "-o", "-", stdin=votes.read_bytes())
    assert piped.stdout.splitlines() == lines


def test_a_long_ranking_is_cut(tmp_path):
    path = tmp_path / "chain.csv"
    chain = [f"p{k},p{(k + 1) % 40}" for k in range(40)]
    path.write_text("\n".join(["winner,loser", *chain]) + "\n", encoding="utf-8")
    shown = run("ratings", path).stdout
    assert "and 20 more items" in shown


def test_bad_files_are_refused(votes, tmp_path):
    assert "no column 'winner', 'loser'; the columns are 'W'" in refused("ratings", votes)
    path = tmp_path / "bad.csv"
    path.write_text("winner,loser\na,b\nc,c\n", encoding="utf-8")
    assert "bad.csv, line 3: 'c' is compared with itself" in refused("ratings", path)
    path.write_text("winner,loser\na,b\n", encoding="utf-8")
    message = refused("ratings", path)
    assert "bad.csv: the scores would be infinite" in message
    assert "{'a'}; {'b'}" in message
    assert "Set --alpha (such as --alpha 0.1)" in message
    assert "no such file" in refused("ratings", tmp_path / "none.csv").lower()
    assert "anchor names 'zoe'" in refused("ratings", votes, *BASE, "--anchor", "zoe=1")
    assert "is an input too" in refused("ratings", votes, *BASE, "-o", votes)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--anchor bob", "NUMBER or NAME=NUMBER"),
        ("--covariance clusters", "use --group"),
        ("--level 1.5", "--level must be"),
        ("--ties bt", "'bt' is not one of half"),
        ("--json -o -", "name a file with -o"),
    ],
)
def test_wrong_usage_is_refused(votes, options, said):
    assert said in misused("ratings", votes, *BASE, *options.split())
