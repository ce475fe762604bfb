"""Cells run in processes that end at their limits."""

import sys

import pytest

from reproduction.limits import is_busy, run_cell
from reproduction_cells import absent, allocate, cell, crash, fail, sleep


def test_a_finished_cell_has_values_and_where_they_come_from():
    record = run_cell(cell(timed=True))
    assert record["status"] == "done"
    assert record["values"] == {
        "number": [97, 98.0], "word": "text", "nan": None, "third": 0.333333
    }  # fmt: skip
    assert record["config"] == {"n": 97}
    assert record["seed"] == 0
    assert record["versions"]["pairrank"]
    assert record["machine"]
    assert isinstance(is_busy(record), bool)


def test_a_cell_is_ended_at_its_time_limit():
    record = run_cell(cell(run=sleep, config={"seconds": 600.0}, seconds=1.0))
    assert record["status"] == "time"
    assert record["time"] == 1.0
    assert record["values"] == {}


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is Linux's")
def test_a_cell_is_ended_at_its_memory_limit():
    record = run_cell(cell(run=allocate, config={"gibibytes": 3.0}, memory=1.0))
    assert record["status"] == "memory"
    assert record["reason"] == "more than 1 GiB"


@pytest.mark.parametrize(
    ("run", "status", "reason"),
    [
        (fail, "failed", "RuntimeError: no luck"),
        (absent, "absent", "put it there"),
        (crash, "failed", "its process ended with code 3; its memory may have run out"),
    ],
    ids=["fail", "absent", "crash"],
)
def test_a_cell_without_values_says_why(run, status, reason):
    record = run_cell(cell(run=run))
    assert (record["status"], record["reason"]) == (status, reason)
