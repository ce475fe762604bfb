"""REPRODUCTION.md, written from finished cells."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from reproduction.agreement import agrees, compared
from reproduction.limits import is_busy
from reproduction.study import (
    Cell,
    NotRun,
    Printed,
    Quantity,
    Readings,
    Record,
    Study,
    Table,
    Verdict,
    at_place,
    columns_of,
    numbers,
    rows_of,
    spread,
)

HEAD = """# Reproduction

The tables, figures and claims of the papers that pairrank builds on, beside what this library
gives. `make reproduce` writes this file from finished computations; nothing in it is typed by hand.

How to read a table: the upper line of an entry is ours, the mean ± the standard deviation over
folds or repeats; the lower line, in italics, is what the paper prints.

| mark | meaning |
| --- | --- |
| ✓ | agrees: within two of the paper's standard deviations, or within the stated tolerance |
| ✗ | differs; below the table is why, as far as this is known |
| ★ | passed its limit of time or memory (in italics: the paper's star) |
| ᵇ | timed while other processes used the machine |
| absent | the data set, or an optional library, is not on this machine |
| – | not run |

Figures without ✓ or ✗ are not compared: times depend on the machine, and where data or protocol
are not the paper's, agreement would mean nothing. The notes say so.
"""


def write_page(studies: Sequence[tuple[Study, Mapping[str, Record]]], pictures: set[str]) -> str:
    """Return the page; `pictures` are the names of those that were drawn."""
    parts = [HEAD, _machines(studies), _claims_in_short(studies), _differences(studies)]
    for study, records in studies:
        parts += _study(study, Readings(study, records), pictures)
    return "\n".join(parts).rstrip() + "\n"


def judge(study: Study, readings: Readings) -> list[tuple[str, Verdict, str]]:
    """Return each claim of a study with its verdict and its note."""
    judged = []
    for claim in study.claims:
        try:
            found = claim.check(readings)
        except NotRun:
            found = Verdict("not run", "")
        if claim.threshold and found.figure:
            found = found._replace(figure=_sentences(found.figure, claim.threshold))
        judged.append((claim.text, found, claim.note))
    return judged


def as_text(value: Any, form: str) -> str:
    """Return a value as text: a number, mean ± standard deviation of a list, or text as it is."""
    if isinstance(value, str):
        return value
    found = numbers(value)
    mean = f"{statistics.fmean(found):{form}}"
    return mean if len(found) == 1 else f"{mean} ± {spread(found):{form}}"


def _machines(studies: Sequence[tuple[Study, Mapping[str, Record]]]) -> str:
    records = [record for _, each in studies for record in each.values()]
    seen = sorted(
        {
            f"{record['machine']}; "
            + ", ".join(f"{name} {version}" for name, version in record["versions"].items())
            for record in records
        }
    )
    return "\n".join(["Computed on:", "", *(f"- {each}" for each in seen), ""]) if seen else ""


def _claims_in_short(studies: Sequence[tuple[Study, Mapping[str, Record]]]) -> str:
    lines = ["## Claims", "", "| paper | claim | verdict | figures |", "| --- | --- | --- | --- |"]
    for study, records in studies:
        for text, found, note in judge(study, Readings(study, records)):
            figure = found.figure
            if note and found.status == "does not hold":
                figure = _sentences(figure, note)
            lines.append(f"| {study.title} | {text} | **{found.status}** | {figure} |")
    return "\n".join([*lines, ""])


def _differences(studies: Sequence[tuple[Study, Mapping[str, Record]]]) -> str:
    """Return how many figures agree, and how many differ for each reason."""
    n_agreed, counts = 0, Counter[tuple[str, str]]()
    for study, records in studies:
        for each in compared(study, Readings(study, records)):
            n_agreed += each.agrees
            if each.reason is not None:
                counts[study.title, each.reason] += 1
    lines = [
        "## Differences",
        "",
        f"{n_agreed + counts.total()} figures are compared with the papers': {n_agreed} agree, "
        f"{counts.total()} differ. Reasons were tested when they were written: the searches and "
        "their figures are in the history of this file.",
        "",
        "| paper | reason | differences |",
        "| --- | --- | --- |",
        *(f"| {title} | {text} | {count} |" for (title, text), count in counts.items()),
    ]
    return "\n".join([*lines, ""])


def _sentences(figure: str, note: str) -> str:
    """Return figures and a note behind them, with a full stop between."""
    return f"{figure.rstrip('.')}. {note}" if figure else note


def _study(study: Study, readings: Readings, pictures: set[str]) -> list[str]:
    parts = [f"## {study.title}", "", study.citation, ""]
    if study.note:
        parts += [study.note.strip(), ""]
    for table in study.tables:
        parts += _table(study, table, readings, pictures)
    return parts


def _table(study: Study, table: Table, readings: Readings, pictures: set[str]) -> list[str]:
    parts = [f"### {study.title}, {table.label}: {table.title}", ""]
    if table.note:
        parts += [table.note.strip(), ""]
    picture = f"{study.name}-{table.name}.svg"
    if table.draw is not None:
        shown = f"![{table.title}](reproduction/pictures/{picture})"
        parts += [shown if picture in pictures else "The picture is not drawn: not run.", ""]
    if not table.quantities:
        parts += [f"Cells: {_count(table, readings)}.", ""]
    for each in grids(table, readings):
        if each.title:
            parts += [f"**{each.title}**", ""]
        first, *rest = ("| " + " | ".join(row) + " |" for row in each.rows)
        parts += [first, "| --- " * len(each.rows[0]) + "|", *rest, "", *each.notes, ""]
    return parts


class Grid(NamedTuple):
    """What is shown of a table, or of one of its quantities, as texts.

    Attributes
    ----------
    title : str
        The quantity's; empty if quantities are the columns.
    rows : list of list of str
        The headings first; each row begins with its name.
    notes : list of str
        Numbered.
    """

    title: str
    rows: list[list[str]]
    notes: list[str]


def grids(table: Table, readings: Readings) -> list[Grid]:
    """Return the grids of a table: one per quantity, or one if it has one column of cells."""
    columns = columns_of(table)
    if len(columns) == 1 and table.quantities:
        places = [(quantity, columns[0], quantity.title) for quantity in table.quantities]
        return [_grid("", table, places, readings)]
    return [
        _grid(quantity.title, table, [(quantity, each, each) for each in columns], readings)
        for quantity in table.quantities
    ]


def _grid(
    title: str, table: Table, places: Sequence[tuple[Quantity, str, str]], readings: Readings
) -> Grid:
    notes: list[str] = []
    cells = {(cell.row, cell.column): cell for cell in table.cells}
    rows = [[table.row_title, *(heading for _, _, heading in places)]]
    for row in rows_of(table):
        entries = [
            _entry(cells.get((row, column)), quantity, (table, row, column), readings, notes)
            for quantity, column, _ in places
        ]
        rows.append([row, *entries])
    return Grid(title, rows, [f"{number}. {note}" for number, note in enumerate(notes, start=1)])


def _entry(
    cell: Cell | None,
    quantity: Quantity,
    place: tuple[Table, str, str],
    readings: Readings,
    notes: list[str],
) -> str:
    table, row, column = place
    printed = quantity.paper.get((row, column))
    if cell is None:
        return "" if printed is None else f"<br>_{_printed(printed, quantity.form)}_"
    record = readings.record(table.name, row, column)
    ours = _ours(record, quantity)
    marks = ""
    note = at_place(quantity.not_compared, row, column)
    if note is None and printed is not None and record is not None:
        agreed = agrees(record, quantity, printed)
        marks = {True: " ✓", False: " ✗", None: ""}[agreed]
        note = at_place(quantity.reasons, row, column) if agreed is False else None
    if note is not None and record is not None:
        if note not in notes:
            notes.append(note)
        marks += f" [{notes.index(note) + 1}]"
    shown = "" if printed is None else f"<br>_{_printed(printed, quantity.form)}_"
    return ours + marks + shown


def _ours(record: Record | None, quantity: Quantity) -> str:
    if record is None:
        return "–"
    status, busy = record["status"], "ᵇ" if is_busy(record) else ""
    if status == "done":
        if quantity.value not in record["values"]:
            return ""
        shown = as_text(record["values"][quantity.value], quantity.form)
        return shown + busy if quantity.is_time else shown
    if status == "time":
        return f"★ {record['time']:g} s{busy}"
    if status == "memory":
        return f"★ {record['memory']:g} GiB"
    return "absent" if status == "absent" else "failed"


def _printed(printed: Printed, form: str) -> str:
    if printed.mean is None:
        return "★"
    shown = f"{printed.mean:{form}}"
    return shown if printed.spread is None else f"{shown} ± {printed.spread:{form}}"


def _count(table: Table, readings: Readings) -> str:
    states = [readings.status(table.name, cell.row, cell.column) for cell in table.cells]
    counts = {state: states.count(state) for state in dict.fromkeys(states)}
    return ", ".join(f"{count} {state}" for state, count in counts.items())
