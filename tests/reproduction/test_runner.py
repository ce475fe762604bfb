"""Cells run in processes that end at their limits; runs resume and keep to their hours."""

import sys
from dataclasses import replace

import pytest

from reproduction.runner import missing, run, run_cell
from reproduction.study import read_records
from reproduction_cells import absent, allocate, cell, crash, fail, one_study, sleep


def rows_of(works):
    """Return the rows of the cells to run."""
    return [each.cell.row for each in works]


def run_missing(study, folder, **options):
    """Run what is missing; return its rows and how many were left."""
    works = missing([study])
    return rows_of(works), run(works, folder, **options)


def test_a_second_run_computes_nothing_and_another_configuration_is_another_cell(tmp_path, capsys):
    study = one_study(cell("a"), cell("b", timed=True))
    assert run_missing(study, tmp_path) == (["a", "b"], 0)
    assert "small Table 1: a, x: done, " in capsys.readouterr().out
    again = replace(study, records=read_records(tmp_path / "small.json"))
    assert missing([again]) == []
    changed = one_study(cell("a", config={"n": 5}), cell("b"))
    changed.records.update(again.records)
    assert rows_of(missing([changed])) == ["a"]


def test_failures_and_absences_are_tried_again_but_limits_only_if_they_grow(tmp_path):
    def study(seconds, records):
        slow = cell("s", run=sleep, config={"seconds": 60.0}, seconds=seconds)
        found = one_study(cell("f", run=fail), cell("z", run=absent), slow)
        found.records.update(records)
        return found

    first = study(2.0, {})
    assert sorted(run_missing(first, tmp_path)[0]) == ["f", "s", "z"]
    reasons = {each["status"]: each["reason"] for each in first.records.values()}
    assert reasons["absent"] == "put it there"
    assert reasons["time"] == "more than 2 s"
    assert sorted(rows_of(missing([study(2.0, first.records)]))) == ["f", "z"]
    assert sorted(rows_of(missing([study(2.5, first.records)]))) == ["f", "s", "z"]


def test_cells_that_do_not_fit_into_the_hours_are_left(tmp_path):
    study = one_study(cell("a", seconds=30.0), cell("b", seconds=4000.0))
    assert run_missing(study, tmp_path, hours=1.0) == (["a", "b"], 1)
    assert run_missing(study, tmp_path, hours=2.0) == (["b"], 0)


def test_full_and_timed_cells_run_if_they_are_chosen():
    study = one_study(cell("a", full=True), cell("b", timed=True), cell("c"))
    assert rows_of(missing([study])) == ["b", "c"]
    assert rows_of(missing([study], full=True)) == ["a", "b", "c"]
    assert rows_of(missing([study], timed=False)) == ["c"]
    assert missing([study], ["2"]) == []


def test_a_finished_cell_has_values_and_where_they_come_from():
    record = run_cell(cell(seconds=50.0, memory=2.0))
    assert record["status"] == "done"
    assert record["values"] == {
        "number": [97, 98.0], "word": "text", "nan": None, "third": 0.333333
    }  # fmt: skip
    assert (record["function"], record["config"]) == ("reproduction_cells:count", {"n": 97})
    assert (record["time"], record["memory"]) == (50.0, 2.0)
    assert record["versions"]["pairrank"]
    assert record["machine"]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is Linux's")
def test_a_cell_is_ended_at_its_memory_limit():
    record = run_cell(cell(run=allocate, config={"gibibytes": 3.0}, memory=1.0))
    assert (record["status"], record["reason"]) == ("memory", "more than 1 GiB")


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (fail, "RuntimeError: no luck"),
        (crash, "its process ended with code 3; its memory may have run out"),
    ],
)
def test_a_cell_without_values_says_why(function, reason):
    record = run_cell(cell(run=function))
    assert (record["status"], record["reason"]) == ("failed", reason)
