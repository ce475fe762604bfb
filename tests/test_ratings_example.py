"""examples/ratings.py and its votes: the example runs, and the command line agrees with it."""

from __future__ import annotations

import runpy
from pathlib import Path

from cli_runs import run

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def test_the_example_runs(capsys):
    runpy.run_path(str(EXAMPLES / "ratings.py"))["main"]()
    printed = capsys.readouterr().out
    assert "Aurora" in printed.splitlines()[1]
    assert "served first" in printed


def test_the_command_line_rates_the_same_votes(tmp_path):
    options = ["--tie", "tie", "--ties", "davidson", "--group", "taster", "--scale", "elo"]
    votes, output = EXAMPLES / "votes.csv", tmp_path / "ranking.csv"
    run("ratings", votes, *options, "--covariate", "served_first", "-o", output)
    first = output.read_text(encoding="utf-8").splitlines()[1].split(",")
    assert first[0] == '"Aurora"'
    example = runpy.run_path(str(EXAMPLES / "ratings.py"))
    assert example["VOTES"] == votes
