"""The page is made from records, and says what agrees, differs, and was not run."""

import re

import pytest

from reproduction import __main__ as command
from reproduction.agreement import agrees, without_reason
from reproduction.page import judge, write_page
from reproduction.papers import STUDIES, load_study
from reproduction.store import Places, Store
from reproduction.study import NotRun, Printed, Quantity, Readings
from reproduction_cells import cell, one_study

PLACES = Places(command.ROOT)


def record_of(number=(97.0, 98.0), *, status="done", of=None, **more):
    """Return a record of a cell, as if it had run."""
    return {
        "digest": (of or cell()).digest,
        "status": status,
        "values": {"number": list(number)} if status == "done" else {},
        "reason": "",
        "seconds": 1.0,
        "time": 60.0,
        "memory": 4.0,
        "timed": False,
        "others": None,
        "machine": "a machine",
        "versions": {"pairrank": "1"},
        **more,
    }


def test_only_times_are_marked_on_a_busy_machine():
    busy = record_of(timed=True, others=1.5)
    assert lines_of(one_study(cell()), busy) == ["| a | 97.500 ± 0.707 |"]
    timed = one_study(cell(), title="seconds of a fit")
    assert lines_of(timed, busy) == ["| a | 97.500 ± 0.707ᵇ |"]
    assert lines_of(timed, busy | {"others": 0.0}) == ["| a | 97.500 ± 0.707 |"]


def lines_of(study, *records):
    """Return the lines of the study's table."""
    page = write_page([(study, {each["digest"]: each for each in records})], set())
    return [line for line in page.splitlines() if line.startswith("| a ")]


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        (record_of(), "97.500 ± 0.707"),
        (record_of([3.0]), "3.000"),
        (record_of(status="time"), "★ 60 s"),
        (record_of(status="time", timed=True, others=2.0), "★ 60 sᵇ"),
        (record_of(status="memory"), "★ 4 GiB"),
        (record_of(status="failed"), "failed"),
        (record_of(status="absent"), "absent"),
        (None, "–"),
    ],
    ids=["spread", "one", "time", "busy-time", "memory", "failed", "absent", "not-run"],
)
def test_an_entry_shows_the_state_of_its_cell(record, shown):
    assert lines_of(one_study(cell()), *[record] * (record is not None)) == [f"| a | {shown} |"]


@pytest.mark.parametrize(
    ("printed", "options", "end"),
    [
        (Printed(97.4, 0.1), {"tolerance": 0.01}, " ✓<br>_97.400 ± 0.100_"),
        (Printed(97.2, 0.1), {"tolerance": 0.01}, " ✗ [1]<br>_97.200 ± 0.100_"),
        (Printed(97.5004, 0.0), {"tolerance": 0.01}, " ✓<br>_97.500 ± 0.000_"),
        (Printed(97.495), {"tolerance": 0.01}, " ✓<br>_97.495_"),
        (Printed(97.48), {"tolerance": 0.01}, " ✗ [1]<br>_97.480_"),
        (Printed(100.0), {"tolerance": 0.03, "relative": True}, " ✓<br>_100.000_"),
        (Printed(1.0), {}, "<br>_1.000_"),
        (Printed(None), {"tolerance": 0.01}, "<br>_★_"),
    ],
    ids=[
        "two-sd",
        "beyond-sd",
        "rounding",
        "tolerance",
        "beyond",
        "relative",
        "not-compared",
        "star",
    ],
)
def test_agreement_is_marked(printed, options, end):
    reasons = {("*", "*"): "because"}
    study = one_study(cell(), paper={("a", "x"): printed}, reasons=reasons, **options)
    assert lines_of(study, record_of()) == [f"| a | 97.500 ± 0.707{end} |"]
    assert ("✗" in end) == (
        "1. because" in write_page([(study, {cell().digest: record_of()})], set())
    )


def test_what_cannot_be_compared_has_a_note_and_no_mark():
    study = one_study(
        cell(),
        paper={("a", "x"): Printed(1.0)},
        tolerance=0.1,
        not_compared={("a", "*"): "generated"},
    )
    assert lines_of(study, record_of()) == ["| a | 97.500 ± 0.707 [1]<br>_1.000_ |"]


def test_differences_without_a_reason_are_found():
    study = one_study(cell(), paper={("a", "x"): Printed(1.0)}, tolerance=0.1)
    readings = Readings(study, {cell().digest: record_of()})
    assert list(without_reason(study, readings)) == ["small Table 1: a, x: a number"]


def test_text_and_nan_agree_with_nothing():
    quantity = Quantity("number", "", tolerance=1.0)
    assert agrees(record_of([None]), quantity, Printed(1.0)) is False
    assert agrees(record_of() | {"values": {"number": "text"}}, quantity, Printed(1.0)) is None
    assert agrees(record_of() | {"values": {}}, quantity, Printed(1.0)) is None


def test_claims_are_judged():
    study = one_study(cell())
    assert judge(study, Readings(study, {}))[0][1].status == "not run"
    assert judge(study, Readings(study, {cell().digest: record_of()}))[0][1].status == "holds"
    low = record_of([0.0])
    assert judge(study, Readings(study, {cell().digest: low}))[0][1].status == "does not hold"


def test_readings_refuse_what_was_not_run():
    study = one_study(cell())
    empty = Readings(study, {})
    with pytest.raises(NotRun):
        empty.mean("1", "a", "x", "number")
    with pytest.raises(NotRun):
        empty.done("1")
    with pytest.raises(NotRun):
        empty.pairs("1", "x", "x", "number")
    assert empty.status("1", "no", "cell") == "not run"


def test_several_columns_make_a_table_per_quantity():
    study = one_study(
        cell("a", "x"), cell("a", "y", config={"n": 1}), cell("b", "y", config={"n": 2})
    )
    page = write_page([(study, {})], set())
    assert "|  | x | y |" in page
    assert "| b |  | – |" in page


def test_the_committed_page_is_made_from_the_committed_results():
    studies = [load_study(name) for name in STUDIES]
    found = [(study, Store(PLACES, study).published()) for study in studies]
    if not any(records for _, records in found):
        pytest.skip("no results are here")
    pictures = {path.name for path in PLACES.pictures.glob("*.svg")}
    assert PLACES.page.read_text(encoding="utf-8") == write_page(found, pictures)


@pytest.mark.parametrize("name", STUDIES)
def test_every_committed_difference_has_a_reason(name):
    study = load_study(name)
    assert list(without_reason(study, Readings(study, Store(PLACES, study).published()))) == []


@pytest.mark.parametrize("name", STUDIES)
def test_committed_pictures_are_drawn_for_a_table(name):
    tables = {f"{name}-{table.name}.svg" for table in load_study(name).tables if table.draw}
    assert {path.name for path in PLACES.pictures.glob(f"{name}-*.svg")} <= tables


def test_the_command_writes_page_and_pictures(tmp_path, capsys):
    options = ["--paper", "raykar2007", "--table", "fig1d", "--out", str(tmp_path), "--hours", "0"]
    assert command.main(options) == 0
    shown = capsys.readouterr().out
    assert "15 cells to run" in shown
    assert "15 cells did not fit into the hours" in shown
    page = (tmp_path / "REPRODUCTION.md").read_text(encoding="utf-8")
    assert re.search(r"Figure 1d.*\n\nThe picture is not drawn: not run\.", page)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--paper", "nobody"], "no paper 'nobody'; there are raykar2007"),
        (["--table", "99"], "no table '99'; there are fig1d"),
    ],
)
def test_unknown_names_are_refused(options, message, tmp_path, capsys):
    assert command.main([*options, "--out", str(tmp_path)]) == 1
    assert message in capsys.readouterr().err


def test_pictures_are_drawn_from_records_and_always_the_same(tmp_path):
    from reproduction.pictures import draw_pictures

    study = load_study("raykar2007")
    table = next(table for table in study.tables if table.name == "fig1d")
    records = {
        each.digest: record_of(of=each) | {"values": dict(each.run(**each.config))}
        for each in table.cells[:3]
    }
    drawn = [draw_pictures(study, records, tmp_path / part) for part in ("one", "two")]
    assert drawn == [{"raykar2007-fig1d.svg"}] * 2
    texts = [(tmp_path / part / "raykar2007-fig1d.svg").read_bytes() for part in ("one", "two")]
    assert texts[0] == texts[1]


def test_a_run_of_one_paper_leaves_what_others_published(tmp_path, capsys):
    others = tmp_path / "reproduction" / "results" / "fung2006.json"
    others.parent.mkdir(parents=True)
    others.write_text("[]", encoding="utf-8")
    before = others.stat().st_mtime_ns
    assert command.main(["--paper", "raykar2007", "--out", str(tmp_path), "--hours", "0"]) == 0
    assert others.stat().st_mtime_ns == before
    assert (others.parent / "raykar2007.json").exists()
    assert not (others.parent / "airola2010.json").exists()
