"""What a terminal shows while rows are read and models fitted, and the seconds of a summary."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time

import pytest

from cli_rows import make_rows
from cli_runs import record_of, run
from pairrank.io import write_rows

NAMES = ["rows.txt", "rows.csv", "rows.parquet", "rows.txt.gz"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("progress")
    for name in NAMES:
        write_rows(home / name, make_rows(0))
    run("train", home / "rows.txt", "-o", home / "model", "-q")
    return home


@pytest.fixture
def terminal(monkeypatch):
    """Make rich take standard error for a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


def screen_after(text):
    """Return the lines that a terminal shows after a text with escape sequences."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[[?\d]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
        if part == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif part == "\x1b[1A":
            row -= 1
        elif part == "\x1b[2K":
            lines[row] = ""
        elif not part.startswith(("\x1b", "\r")):
            lines[row] += part
    return [line for line in lines if line]


@pytest.mark.parametrize("name", NAMES)
def test_reading_and_fitting_are_shown_on_a_terminal_and_removed(folder, tmp_path, terminal, name):
    columns = [] if "txt" in name else ["--qid", "qid"]
    unlabelled = ["--label", "label"] if columns else []
    for command in (
        ["info", folder / name, *columns],
        ["predict", folder / "model", folder / name, *columns, *unlabelled],
        ["evaluate", folder / "model", folder / name, *columns],
        ["convert", folder / name, tmp_path / "to.txt", *columns],
        ["train", folder / name, "-o", tmp_path / "m", *columns],
    ):
        said = run(*command).stderr
        assert f"{folder}/{name}"[:40] in said
        assert "reading" in said or "parsing" in said
        assert ("objective" in said) == (command[0] == "train")
        assert screen_after(said) == []


def test_nothing_is_shown_with_quiet_or_without_a_terminal(folder, tmp_path, monkeypatch):
    assert run("info", folder / "rows.txt").stderr == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run("train", folder / "rows.txt", "-o", tmp_path / "m", "-q").stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such terminals")
def test_a_real_terminal_shows_rows_from_a_pipe(folder):
    master, slave = os.openpty()
    content = (folder / "rows.txt").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "pairrank", "info", "-"],
        input=content, stdout=subprocess.PIPE, stderr=slave, timeout=120, check=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(slave)
    said = os.read(master, 1 << 16).decode()
    os.close(master)
    assert b"60" in done.stdout
    assert "reading standard input" in said
    assert "60 rows" in said
    assert screen_after(said) == []


def test_seconds_are_split_into_reading_and_fitting(folder, tmp_path):
    start = time.perf_counter()
    record = record_of("train", folder / "rows.txt", "-o", tmp_path / "m")
    elapsed = time.perf_counter() - start
    names = [name for name in record if name.startswith("seconds")]
    assert names == ["seconds reading", "seconds fitting"]
    assert all(record[name] >= 0.0 for name in names)
    assert sum(record[name] for name in names) <= elapsed
