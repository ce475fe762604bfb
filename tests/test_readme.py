"""README's examples do what they say: every Python block and every command runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn

from cli_rows import make_rows
from cli_runs import run
from pairrank.io import write_svmlight

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
    return [text for its_language, text in found if its_language == language]


def commands() -> list[list[str]]:
    """Return the words of every command, without what is piped into it or out of it."""
    lines = [line for block in blocks("") for line in block.splitlines() if "pairrank " in line]
    return [
        shlex.split(line[line.index("pairrank ") :].split(" | ")[0])[1:]
        for line in lines
        if "pip install" not in line
    ]


def write_csv(name: str, header: str, rows: Any) -> None:
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the files that README's commands read."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(("train.txt", "vali.txt", "test.txt")):
        write_svmlight(name, make_rows(seed))
    rows, rng = make_rows(3), np.random.default_rng(0)
    cells = list(zip(rows.y, rows.qid, rng.integers(1, 5, rows.y.size), *rows.X.T, strict=True))
    write_csv("clicks.csv", "grade,query,views,a,b,c,d", cells)
    write_csv("items.csv", "label,a,b", [row[2:5] for row in cells])
    write_csv("votes.csv", "i,j", [(0, 1), (1, 2), (3, 2)])
    censored = [(rng.integers(1, 900), rng.integers(0, 2), *row[3:6]) for row in cells]
    write_csv("patients.csv", "days,died,a,b,c", censored)
    names = ["ann", "bob", *(f"user{n}" for n in range(10))]
    pairs = [(name, f"item{n}") for name in names for n in range(20) if rng.random() < 0.7]
    write_csv("ratings.csv", "user,item,rating", [(*pair, rng.integers(1, 6)) for pair in pairs])
    write_csv("films.csv", "item,title", [(f"item{n}", f"Film {n}") for n in range(20)])
    return tmp_path


def n_preferences(data: Any) -> int:
    """Return how many pairs of rows of one query have different labels."""
    higher = data.y[:, None] > data.y
    return int((higher & (data.qid[:, None] == data.qid)).sum())


def test_python_examples_run(capsys):
    names: dict[str, Any] = {}
    with sklearn.config_context():
        for block in blocks("python"):
            exec(compile(block, "README.md", "exec"), names)
    printed = capsys.readouterr().out.split()
    assert int(printed[0]) == n_preferences(names["data"])
    assert 0.5 < float(printed[1]) <= 1
    assert set(names["search"].best_params_) == {"ranksvm__C"}


def test_commands_run(folder):
    listed = commands()
    assert len(listed) >= 12
    for words in listed:
        run(*words, stdin=Path("test.txt").read_bytes() if "-" in words else None)
    for output in ("model", "scores.txt", "best.csv", "train.parquet"):
        assert (folder / output).stat().st_size
