"""What a terminal shows while rows are read and models fitted, and the seconds of a summary."""

from __future__ import annotations

import time

import pytest

from pairrank.cli import _progress
from pairrank.cli._progress import Progress, Stopwatch, compiling_announced


@pytest.fixture
def terminal(monkeypatch):
    """Make rich take standard error for a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


@pytest.fixture
def clock(monkeypatch):
    """Let a test say what time it is."""
    now = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    return now


def test_the_line_of_reading_says_bytes_rows_and_seconds(clock):
    line = Progress("reading rows.txt", quiet=True)
    assert line.text == "reading rows.txt  0 s"
    clock[0] = 3.0
    line.read(2_000_000, 8_000_000, 1234)
    assert line.text == "reading rows.txt  2.0 MB of 8.0 MB  1,234 rows  3 s"
    line.read(4_000_000, 0, 0)
    assert line.text == "reading rows.txt  4.0 MB  3 s"


def test_seconds_are_counted_by_what_they_were_spent_on(monkeypatch):
    clock = [10.0]
    monkeypatch.setattr(_progress.time, "perf_counter", lambda: clock[0])
    watch = Stopwatch()
    clock[0] = 15.0
    watch.on("reading")
    clock[0] = 35.0
    watch.on("fitting")
    assert watch.seconds == {"seconds reading": 5.0, "seconds fitting": 20.0}


def test_functions_that_a_process_compiles_are_counted():
    from pairrank.compiled._jit import compiled, n_compiled

    before = n_compiled()
    assert compiled(count_up)(1) == 2
    assert n_compiled() - before in (0, 1)  # 0 where an earlier run has left it in the cache


def count_up(n):
    return n + 1


def test_compiling_is_announced_once_inside_the_context_only(terminal, monkeypatch):
    counted, said = [0], []
    monkeypatch.setattr(_progress, "_n_compiled", lambda: counted[0])
    monkeypatch.setattr(_progress, "_PER_SECOND", 1000)
    with compiling_announced(said.append):
        counted[0] = 3
        while not said:
            time.sleep(0.001)
        counted[0] = 5
        time.sleep(0.01)
    counted[0] = 7
    time.sleep(0.01)
    assert [line[:9] for line in said] == ["compiling"]


def test_nothing_is_announced_where_nothing_is_compiled(terminal):
    said = []
    with compiling_announced(said.append):
        pass
    assert said == []
