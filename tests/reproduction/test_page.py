"""The page is made from records, and says what agrees, differs, and was not run."""

import pytest

from reproduction import __main__ as command
from reproduction.page import compared, write_page
from reproduction.papers import STUDIES, load_study
from reproduction.study import Printed
from reproduction_cells import cell, one_study

PICTURES = command.ROOT / "reproduction" / "pictures"


def record_of(number=(97.0, 98.0), *, status="done"):
    """Return a record of a cell, as if it had run."""
    values = {"number": list(number)} if status == "done" else {}
    of = {"machine": "a machine", "versions": {"pairrank": "1"}}
    return {"status": status, "values": values, "time": 60.0, "memory": 4.0, **of}


def study_with(record, **options):
    """Return a study of one cell with its record."""
    study = one_study(cell(), **options)
    study.records.update({} if record is None else {cell().key: record})
    return study


def lines_of(study):
    """Return the lines of the study's table."""
    return [line for line in write_page([study], set()).splitlines() if line.startswith("| a ")]


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        (record_of(), "97.500 ± 0.707"),
        (record_of([3.0]), "3.000"),
        (record_of(status="time"), "★ 60 s"),
        (record_of(status="memory"), "★ 4 GiB"),
        (record_of(status="absent"), "absent"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_an_entry_shows_the_state_of_its_cell(record, shown):
    assert lines_of(study_with(record)) == [f"| a | {shown} |"]


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
    ids=["two-sd", "beyond-sd", "rounding", "tolerance", "beyond", "relative", "none", "star"],
)
def test_agreement_is_marked(printed, options, end):
    reasons = {("*", "*"): "because"}
    study = study_with(record_of(), paper={("a", "x"): printed}, reasons=reasons, **options)
    assert lines_of(study) == [f"| a | 97.500 ± 0.707{end} |"]
    assert ("✗" in end) == ("1. because" in write_page([study], set()))


def test_what_cannot_be_compared_has_a_note_and_no_mark():
    options = {"tolerance": 0.1, "not_compared": {("a", "*"): "generated"}}
    study = study_with(record_of(), paper={("a", "x"): Printed(1.0)}, **options)
    assert lines_of(study) == ["| a | 97.500 ± 0.707 [1]<br>_1.000_ |"]


def test_the_committed_page_is_made_from_the_committed_results():
    studies = [load_study(name) for name in STUDIES]
    pictures = {path.name for path in PICTURES.glob("*.svg")}
    text = (command.ROOT / "REPRODUCTION.md").read_text(encoding="utf-8")
    assert text == write_page(studies, pictures)


@pytest.mark.parametrize("name", STUDIES)
def test_committed_differences_have_a_reason_and_pictures_a_table(name):
    study = load_study(name)
    for each in compared(study):
        assert each.agrees or each.reason
        assert "shape" not in each.place
        assert "generated" not in each.place
        assert "Rand" not in each.place or each.place.endswith((": N", ": d", ": S"))
    tables = {f"{name}-{table.name}.svg" for table in study.tables if table.curves}
    assert {path.name for path in PICTURES.glob(f"{name}-*.svg")} <= tables


def test_the_command_writes_page_and_pictures(tmp_path, capsys):
    options = ["--table", "fig1d", "--out", str(tmp_path), "--hours", "1e-9"]
    assert command.main(["--paper", "raykar2007", *options]) == 0
    shown = capsys.readouterr().out
    assert "15 cells to run" in shown
    assert "15 cells did not fit into the hours" in shown
    assert "Not run." in (tmp_path / "REPRODUCTION.md").read_text(encoding="utf-8")
