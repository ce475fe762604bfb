"""What a terminal shows while rows are read and models fitted, and the seconds of a summary."""

from __future__ import annotations

import logging

import pytest

from pairrank.cli import _progress
from pairrank.cli._progress import ReadingLine, Stopwatch, compiling_announced


@pytest.fixture
def terminal(monkeypatch):
    """Make rich take standard error for a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


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
