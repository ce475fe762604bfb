"""REPRODUCTION.md, written from finished cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from reproduction.study import Printed, Quantity, Record, Study, Table, at_place

HEAD = """# Reproduction

The tables, figures and claims of the papers that pairrank builds on, beside what this library
gives. `make reproduce` computes what is missing and writes this file; nothing in it is typed by
hand. `ARGS=--again` computes all of it again, `ARGS=--full` also what takes hours, and
`ARGS='--paper NAME --table N --show'` prints every value of every cell, by fold or repeat.

How to read a table: the upper line of an entry is ours, the mean ± the standard deviation over
folds or repeats; the lower line, in italics, is what the paper prints. ✓ agrees: within two of the
paper's standard deviations, or within the stated tolerance; ✗ differs, for the reason in brackets;
★ beyond its limit of time or memory (in italics: the paper's star); – is not run, and rows of which
no cell has run are left out. Figures without ✓ or ✗ are not compared: times depend on the machine,
and where data or protocol are not the paper's, agreement would mean nothing; the notes say so.
Times were taken one by one, but other programs may have used the machine: they are upper limits.
"""


def write_page(studies: Sequence[Study], pictures: Collection[str]) -> str:
    """Return the page; `pictures` are the names of those that are drawn."""
    parts = [HEAD, *_machines(studies), *_claims(studies), *_agreement(studies)]
    for study in studies:
        parts += _study(study, pictures)
    return "\n".join(parts).rstrip() + "\n"


class Compared(NamedTuple):
    """A figure that is compared with the paper's: its place, and whether it agrees, or why not."""

    place: str
    agrees: bool
    reason: str | None


def compared(study: Study) -> Iterator[Compared]:
    """Yield what is compared with the paper's figures."""
    for table in study.tables:
        for quantity in table.quantities:
            for row, column in quantity.paper:
                agrees, note = _judged(study, table, quantity, row, column)
                if agrees is not None:
                    place = f"{study.name} {table.label}: {row}, {column}: {quantity.title}"
                    yield Compared(place, agrees, note)


class Grid(NamedTuple):
    """What is shown of a table: rows of texts, the headings first, and the notes by number."""

    rows: list[list[str]]
    notes: dict[int, str]


def grid(study: Study, table: Table) -> Grid:
    """Return the rows of a table of which a cell has run."""
    numbered = notes_of(study)
    by_quantity = len(table.columns) == 1
    sets = [(each,) for each in table.quantities] if by_quantity else [table.quantities]
    columns = [(column, shown) for column in table.columns for shown in sets]
    titles = [shown[0].title if by_quantity else column for column, shown in columns]
    rows, used = [[table.row_title, *titles]], set()
    for row in table.rows:
        if any(study.status(table.name, row, column) != "not run" for column in table.columns):
            line = [row]
            for column, shown in columns:
                ours, papers, notes = _entry(study, table, row, column, shown)
                marks = "".join(f" [{numbered.index(note) + 1}]" for note in notes)
                line.append(f"{ours}{marks}{papers}")
                used |= set(notes)
            rows.append(line)
    return Grid(rows, {at: note for at, note in enumerate(numbered, 1) if note in used})


def entries_of(table: Table) -> str:
    """Return what an entry of a table of several columns has, as a sentence; else an empty text."""
    if len(table.columns) == 1:
        return ""
    return f"Entries: {'; '.join(each.title for each in table.quantities)}."


def notes_of(study: Study) -> list[str]:
    """Return the reasons and notes of a study's figures, in the order of its tables."""
    found = [
        note
        for table in study.tables
        for row in table.rows
        for column in table.columns
        for note in _entry(study, table, row, column, table.quantities)[2]
    ]
    return list(dict.fromkeys(found))


def _machines(studies: Sequence[Study]) -> list[str]:
    seen = {
        ", ".join([record["machine"], *(" ".join(each) for each in record["versions"].items())])
        for study in studies
        for record in study.records.values()
    }
    return [f"Computed on: {'; '.join(sorted(seen))}.", ""] if seen else []


def _claims(studies: Sequence[Study]) -> list[str]:
    lines = ["## Claims", "", "| paper | claim | verdict | figures |", "| --- | --- | --- | --- |"]
    for study in studies:
        for claim in study.claims:
            verdict, figure = claim.judge(study)
            lines.append(f"| {study.title} | {claim.text} | **{verdict}** | {figure} |")
    return [*lines, ""]


def _agreement(studies: Sequence[Study]) -> list[str]:
    counts = Counter(each.agrees for study in studies for each in compared(study))
    return [
        f"{counts.total()} figures are compared with the papers': {counts[True]} agree, "
        f"{counts[False]} differ. Reasons were tested when they were written: the searches and "
        "their figures are in the history of this file.",
        "",
    ]


def _study(study: Study, pictures: Collection[str]) -> list[str]:
    parts = [f"## {study.title}", "", f"{study.citation} {study.note}".strip(), ""]
    for table in study.tables:
        parts += _table(study, table, pictures)
    notes = [f"{number}. {note}" for number, note in enumerate(notes_of(study), 1)]
    return [*parts, "Notes:", "", *notes, ""] if notes else parts


def _table(study: Study, table: Table, pictures: Collection[str]) -> list[str]:
    parts = [f"### {study.title}, {table.label}: {table.title}", ""]
    note = f"{entries_of(table)} {table.note}".strip()
    parts += [note, ""] if note else []
    picture = f"{study.name}-{table.name}.svg"
    if picture in pictures:
        parts += [f"![{table.title}](reproduction/pictures/{picture})", ""]
    titles, *rows = grid(study, table).rows
    if not rows:
        return [*parts, "Not run.", ""]
    lines = [f"| {' | '.join(row)} |" for row in (titles, ["---"] * len(titles), *rows)]
    return [*parts, *lines, ""]


def _entry(
    study: Study, table: Table, row: str, column: str, quantities: Sequence[Quantity]
) -> tuple[str, str, list[str]]:
    """Return ours, the paper's below it, and the notes."""
    record = study.record(table.name, row, column)
    ours, papers, notes = [], [], []
    for quantity in quantities:
        printed = quantity.paper.get((row, column))
        agrees, note = _judged(study, table, quantity, row, column)
        ours.append(_ours(record, quantity) + {True: " ✓", False: " ✗", None: ""}[agrees])
        papers.append("" if printed is None else _printed(printed, quantity.form))
        notes += [note] if note else []
    if record is None or record["status"] != "done":
        ours = ours[:1]
    shown = _joined(ours) if (row, column) in table.places else ""
    paper = _joined(papers)
    return shown, f"<br>_{paper}_" if paper else "", list(dict.fromkeys(notes))


def _joined(texts: Sequence[str]) -> str:
    """Return texts in a row; those that are missing before the last are dashes."""
    last = max((at for at, text in enumerate(texts, 1) if text), default=0)
    return "; ".join(text or "-" for text in texts[:last])


def _judged(
    study: Study, table: Table, quantity: Quantity, row: str, column: str
) -> tuple[bool | None, str | None]:
    """Return whether an entry agrees with the paper's, and why not, or why it is not compared."""
    record, printed = study.record(table.name, row, column), quantity.paper.get((row, column))
    if record is None:
        return None, None
    note = at_place(quantity.not_compared, row, column)
    if note is not None or printed is None or record["status"] != "done":
        return None, note
    agrees = quantity.agrees(record, printed)
    return agrees, at_place(quantity.reasons, row, column) if agrees is False else None


def _ours(record: Record | None, quantity: Quantity) -> str:
    if record is None:
        return "–"
    status = str(record["status"])
    if status == "done":
        found = record["values"].get(quantity.value)
        return quantity.text(found) if quantity.value in record["values"] else ""
    limits = {"time": "★ {time:g} s", "memory": "★ {memory:g} GiB"}
    return limits.get(status, status).format(**record)


def _printed(printed: Printed, form: str) -> str:
    if printed.mean is None:
        return "★"
    shown = f"{printed.mean:{form}}"
    return shown if printed.spread is None else f"{shown} ± {printed.spread:{form}}"
