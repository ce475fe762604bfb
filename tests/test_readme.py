"""README's examples do what they say: every Python block and every command runs."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import sklearn

from cli_runs import run

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


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


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the files of examples/data, which README's commands read."""
    data = ROOT / "examples" / "data"
    if not data.exists():
        pytest.skip("the examples are not part of an installed package")
    shutil.copytree(data, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def n_preferences(data: Any) -> int:
    """Return how many pairs of rows of one query have different labels."""
    higher = data.y[:, None] > data.y
    return int((higher & (data.qid[:, None] == data.qid)).sum())


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.split("\n")[1])
def test_each_python_example_runs_alone(block, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with sklearn.config_context():
        exec(compile(block, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert printed or "fast_erfc_sum" in block
    if block == blocks("python")[0]:
        n_pairs, accuracy = printed.split()
        assert int(n_pairs) == n_preferences(names["data"])
        assert 0.5 < float(accuracy) <= 1


def test_commands_run(folder):
    listed = commands()
    assert len(listed) >= 20
    for words in listed:
        run(*words, stdin=Path("test.txt").read_bytes() if "-" in words else None)
    for output in ("model", "scores.txt", "best.csv", "train.parquet", "ranking.csv", "run.txt"):
        assert (folder / output).stat().st_size
