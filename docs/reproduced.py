"""Finished cells of the reproduction: the figures of "Which ranker?" and of its tables."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from docutils.nodes import make_id

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from reproduction.page import as_text  # noqa: E402
from reproduction.papers import STUDIES, load_study  # noqa: E402
from reproduction.store import Places, Store  # noqa: E402
from reproduction.study import Readings, Study, Table, Verdict  # noqa: E402

PAGE, VERDICTS = "measurements.html", "reproduction.html"


class Found:
    """Every study with its finished cells.

    Parameters
    ----------
    places : Places
        Where the results are.
    """

    def __init__(self, places: Places) -> None:
        self.studies: dict[str, tuple[Study, Readings]] = {}
        for name in STUDIES:
            study = load_study(name)
            self.studies[name] = study, Readings(study, Store(places, study).published())

    def readings(self, study: str) -> Readings:
        """Return the readings of a study."""
        return self.studies[study][1]

    def table(self, study: str, name: str) -> tuple[Table, Readings]:
        """Return a table of a study, and the study's readings."""
        readings = self.readings(study)
        return readings.table(name), readings

    def text(self, study: str, table: str, row: str, column: str, value: str) -> str:
        """Return a value as its table shows it; NotRun if the cell is not done."""
        shown, readings = self.table(study, table)
        if (row, column) not in {(cell.row, cell.column) for cell in shown.cells}:
            raise KeyError(f"{study}, {table} has no cell {row!r}, {column!r}")
        values = readings.values(table, row, column, value)
        form = next(each.form for each in shown.quantities if each.value == value)
        return as_text(values, form)

    def verdict(self, study: str, text: str) -> Verdict:
        """Return the verdict on a claim; NotRun if cells are missing."""
        claims = {claim.text: claim for claim in self.studies[study][0].claims}
        return claims[text].check(self.readings(study))


def published() -> Found:
    """Return what the repository holds."""
    return Found(Places(ROOT))


def result_files() -> list[str]:
    """Return the files that `published` reads."""
    return [str(Places(ROOT).results / f"{name}.json") for name in STUDIES]


def row_id(study: str, table: str, row: str = "") -> str:
    """Return the identifier of a table, or of a row of it, on the page of measurements."""
    return make_id(f"{study}-{table}-{row}" if row else f"{study}-{table}")


def row_link(study: str, table: str, row: str) -> str:
    """Return a link to a row, as reStructuredText."""
    return f"`{escaped(row)} <{PAGE}#{row_id(study, table, row)}>`__"


def claim_id(study: str, text: str) -> str:
    """Return the identifier of a claim on the page of verdicts."""
    return make_id(f"{study} {text}")


_CODE = re.compile(r"`([^`]+)`|(?<!\S)(--\w+)")


def prose(markdown: str) -> str:
    """Return a paragraph of Markdown as reStructuredText; options of commands become code."""
    parts = _CODE.split(markdown)
    code = (
        f"``{first or second}``" for first, second in zip(parts[1::3], parts[2::3], strict=True)
    )
    shown = [escaped(part) for part in parts[::3]]
    return "".join(f"{text}{each}" for text, each in zip(shown, [*code, ""], strict=True))


def escaped(text: str) -> str:
    """Return a text so that reStructuredText shows it as it is; Markdown's code is plain."""
    plain = text.replace("`", "")
    for mark in "\\*_|":
        plain = plain.replace(mark, "\\" + mark)
    return plain
