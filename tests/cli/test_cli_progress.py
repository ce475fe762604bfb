"""What a terminal shows while rows are read and models fitted, and the seconds of a summary."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import time

import pytest

from cli_rows import make_rows
from cli_runs import run
from pairrank.cli import _progress
from pairrank.cli._progress import ReadingLine, Stopwatch, compiling_announced
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


def test_the_screen_of_this_file_shows_what_a_terminal_shows():
    assert screen_after("one\ntwo\n\r\x1b[1A\x1b[2Kthree") == ["one", "three"]


@pytest.mark.parametrize("name", NAMES)
def test_reading_is_shown_on_a_terminal_and_removed(folder, tmp_path, terminal, name):
    columns = [] if "txt" in name else ["--qid", "qid"]
    unlabelled = ["--label", "label"] if columns else []
    for command in (
        ["info", folder / name, *columns],
        ["predict", folder / "model", folder / name, *columns, *unlabelled],
        ["evaluate", folder / "model", folder / name, *columns],
        ["convert", folder / name, tmp_path / "to.txt", *columns],
    ):
        said = run(*command).stderr
        assert f"{folder}/{name}"[:40] in said
        assert "reading" in said or "parsing" in said
        assert screen_after(said) == []


def test_fitting_is_shown_on_a_terminal_and_removed(folder, tmp_path, terminal):
    said = run("train", folder / "rows.txt", "-o", tmp_path / "m").stderr
    assert "objective" in said
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
    assert [line for line in screen_after(said) if "compiling" not in line] == []


def test_the_line_of_reading_says_bytes_rows_and_seconds_left():
    line = ReadingLine("rows.txt", quiet=True)
    assert line.text(0.0) == "reading rows.txt  0 bytes"
    line(2_000_000, 8_000_000, 1234)
    assert line.text(3.0) == "reading rows.txt  2.0 MB of 8.0 MB  1,234 rows"
    line(4_000_000, 8_000_000, 2345)
    assert line.text(0.5) == "reading rows.txt  4.0 MB of 8.0 MB  2,345 rows"
    assert line.text(3.0) == "reading rows.txt  4.0 MB of 8.0 MB  2,345 rows  6 s left"
    line(8_000_000, 8_000_000, 0)
    assert line.text(3.0) == "parsing rows.txt  3 s"


def test_the_line_of_a_pipe_has_no_size():
    line = ReadingLine("standard input", quiet=True)
    for n_bytes in (2_000_000, 4_000_000):
        line(n_bytes, 0, 1234)
    assert line.text(3.0) == "reading standard input  4.0 MB  1,234 rows"


def test_the_clock_starts_after_the_first_block_of_each_pass(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    line = ReadingLine("rows.csv", quiet=True)
    for now[0], n_bytes, start in (
        *((105.0, 4_000_000, 105.0), (106.0, 6_000_000, 105.0), (107.0, 8_000_000, 107.0)),
        *((110.0, 1_000_000, 110.0), (112.0, 3_000_000, 110.0)),
    ):
        line(n_bytes, 8_000_000, 0)
        assert line.start == start
    assert line.text(2.0) == "parsing rows.csv  3.0 MB of 8.0 MB  5 s left"


def test_seconds_are_split_into_reading_fitting_and_compiling(folder, tmp_path):
    start = time.perf_counter()
    record = json.loads(run("train", folder / "rows.txt", "-o", tmp_path / "m", "--json").stdout)
    elapsed = time.perf_counter() - start
    names = [name for name in record if name.startswith("seconds")]
    assert names == ["seconds reading", "seconds fitting", "seconds compiling"]
    assert all(record[name] >= 0.0 for name in names)
    assert sum(record[name] for name in names) <= elapsed


def test_compiling_is_counted_apart_from_what_needs_it(monkeypatch):
    clock, compiled = [10.0], [1.0]
    monkeypatch.setattr(_progress.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr("pairrank.compiled._jit.compile_seconds", lambda: compiled[0])
    watch = Stopwatch()
    clock[0], compiled[0] = 15.0, 2.0
    watch.on("reading")
    clock[0], compiled[0] = 35.0, 10.0
    watch.on("fitting")
    assert watch.seconds == {
        "seconds reading": 4.0,
        "seconds fitting": 12.0,
        "seconds compiling": 9.0,
    }


def test_seconds_of_compiling_grow_when_a_loop_is_compiled():
    import numba

    from pairrank.compiled._jit import compile_seconds

    before = compile_seconds()
    numba.njit(lambda x: x + 1)(1)
    assert compile_seconds() > before


def test_compiling_is_announced_only_inside_the_context(terminal):
    said, logger = [], logging.getLogger("pairrank")
    with compiling_announced(said.append), compiling_announced(said.append):
        pass
    with compiling_announced(said.append):
        logger.info("compiling")
    logger.info("compiling again")
    assert said == ["compiling"]
