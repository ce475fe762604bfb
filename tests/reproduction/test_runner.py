"""Runs resume, keep to their hours and their choice of cells."""

import io
import json
from dataclasses import replace

import pytest

from pairrank.exceptions import FileFormatError
from reproduction import limits
from reproduction.runner import Choice, Runner, missing
from reproduction.store import Places, Store
from reproduction_cells import absent, cell, fail, one_study, sleep


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path)


def run(study, places, choice=None, **options):
    """Run what is missing; return the rows that were run, those that were left, the output."""
    out = io.StringIO()
    works = missing([study], places, choice or Choice())
    left = Runner(out=out, **options).run(works)
    return [work.cell.row for work in works], [work.cell.row for work in left], out.getvalue()


def test_a_second_run_computes_nothing(places):
    study = one_study(cell("a"), cell("b", timed=True))
    first, left, text = run(study, places)
    assert (first, left) == (["a", "b"], [])
    assert "small Table 1: a, x: a number 97.500 ± 0.707; " in text
    assert text.count("/2 ") == 2
    assert run(study, places)[0] == []
    assert sorted(record["values"]["number"] for record in Store(places, study).finished().values())


def test_another_configuration_or_seed_is_another_cell(places):
    run(one_study(cell("a")), places)
    changed = one_study(cell("a", config={"n": 5}), cell("b", config={"n": 97}, seed=1))
    assert run(changed, places)[0] == ["a", "b"]


def test_cells_of_two_tables_are_computed_once(places):
    study = one_study(cell("a"), cell("b", config={"n": 97}))
    assert run(study, places)[0] == ["a"]


def test_papers_take_turns_in_proportion_to_their_cells(places):
    large = one_study(*(cell(row) for row in "abcd"))
    small = replace(one_study(cell("x"), cell("y")), name="other")
    works = missing([large, small], places, Choice())
    assert [work.cell.row for work in works] == ["a", "x", "b", "c", "y", "d"]


def test_failures_and_absences_are_tried_again_but_limits_only_if_they_grow(places):
    def study(seconds):
        slow = cell("s", run=sleep, config={"seconds": 60.0}, seconds=seconds)
        return one_study(cell("f", run=fail), cell("z", run=absent), slow)

    assert sorted(run(study(1.0), places)[0]) == ["f", "s", "z"]
    assert sorted(run(study(1.0), places)[0]) == ["f", "z"]
    assert sorted(run(study(1.5), places)[0]) == ["f", "s", "z"]


def test_cells_that_do_not_fit_into_the_hours_are_left(places):
    study = one_study(cell("a", seconds=30.0), cell("b", seconds=4000.0))
    assert run(study, places, hours=1.0)[1] == ["b"]
    assert run(study, places, hours=2.0)[0] == ["b"]


def test_full_and_timed_cells_run_if_they_are_chosen(places):
    study = one_study(cell("a", full=True), cell("b", timed=True), cell("c"))

    def chosen(**options):
        return [work.cell.row for work in missing([study], places, Choice(**options))]

    assert chosen() == ["b", "c"]
    assert chosen(full=True) == ["a", "b", "c"]
    assert chosen(timed=False) == ["c"]
    assert chosen(tables=("2",)) == []


def test_disturbed_times_are_taken_again_on_request(places, monkeypatch):
    study = one_study(cell("a", timed=True))
    run(study, places)
    assert missing([study], places, Choice(again_busy=True)) == [] or limits.BUSY > 0
    monkeypatch.setattr(limits, "BUSY", -1.0)
    assert [work.cell.row for work in missing([study], places, Choice(again_busy=True))] == ["a"]
    assert missing([study], places, Choice()) == []


def test_published_results_are_taken_over(places, tmp_path):
    study = one_study(cell("a"))
    run(study, places)
    Store(places, study).publish()
    for path in places.cells.rglob("*.json"):
        path.unlink()
    store = Store(places, study)
    assert store.finished() == {}
    assert len(store.published()) == 1
    store.take_published()
    assert run(study, places)[0] == []


def test_a_damaged_cell_is_named(places):
    study = one_study(cell("a"))
    run(study, places)
    (path,) = places.cells.rglob("*.json")
    path.write_text("{")
    with pytest.raises(FileFormatError, match=r"\.json: not a finished cell .*; remove it"):
        Store(places, study).finished()


def test_a_record_says_all_that_it_depends_on(places):
    study = one_study(cell("a", seed=4, seconds=50.0, memory=2.0))
    run(study, places)
    (path,) = places.cells.rglob("*.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["function"] == "reproduction_cells:count"
    assert (record["seed"], record["time"], record["memory"], record["threads"]) == (4, 50, 2, 1)
    assert {"machine", "versions", "when", "seconds"} <= set(record)
