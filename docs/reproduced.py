"""Finished cells of the reproduction: the figures of "Which ranker?" and of its tables."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from docutils.nodes import make_id

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from reproduction.papers import RESULTS, STUDIES, load_study  # noqa: E402
from reproduction.study import NotRun, Study, Table  # noqa: E402

PAGE, VERDICTS = "measurements.html", "reproduction.html"


class Found:
    """Every study with its finished cells.

    Parameters
    ----------
    results : Path
        The folder with the results.
    """

    def __init__(self, results: Path = RESULTS) -> None:
        self.studies = {name: load_study(name, results) for name in STUDIES}

    def table(self, study: str, name: str) -> tuple[Table, Study]:
        """Return a table of a study, and the study."""
        return self.studies[study].table(name), self.studies[study]

    def text(self, study: str, table: str, row: str, column: str, value: str) -> str:
        """Return a value as its table shows it; NotRun if the cell is not done."""
        shown, of = self.table(study, table)
        if (row, column) not in shown.places:
            raise KeyError(f"{study}, {table} has no cell {row!r}, {column!r}")
        values = of.values(table, row, column, value)
        return next(each for each in shown.quantities if each.value == value).text(values)

    def verdict(self, study: str, text: str) -> tuple[str, str]:
        """Return the verdict on a claim and its figures; NotRun if cells are missing."""
        claims = {claim.text: claim for claim in self.studies[study].claims}
        verdict, figure = claims[text].judge(self.studies[study])
        if verdict == "not run":
            raise NotRun(text)
        return verdict, figure


def result_files() -> list[str]:
    """Return the files that `Found` reads."""
    return [str(RESULTS / f"{name}.json") for name in STUDIES]


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
