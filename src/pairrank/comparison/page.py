"""A comparison as text: its table of means in Markdown and HTML, and its page."""

from __future__ import annotations

import re
from html import escape
from typing import Any, NamedTuple

from pairrank.report.page import environment

NONE = "–"


class Table(NamedTuple):
    """Cells of text; `best` are the places (row, column) of the best values."""

    columns: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]]
    notes: list[str]


def template_of_page() -> Any:
    """Return the template of the page; an error says if jinja2 is missing."""
    return environment("pairrank.comparison", "pairrank.report").get_template("comparison.html")


def markdown(table: Table) -> str:
    """Return the table in Markdown; the best values are bold."""

    def escaped(text: str) -> str:
        return re.sub(r"([\\`*_|<>\[\]&~$])", r"\\\1", " ".join(text.split()))

    def line(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    rows = [
        [f"**{escaped(cell)}**" if (at, column) in table.best else escaped(cell)
         for column, cell in enumerate(row)]
        for at, row in enumerate(table.rows)
    ]  # fmt: skip
    rule = ["---", *["---:"] * (len(table.columns) - 2), "---"]
    notes = [f"- {escaped(note)}" for note in table.notes]
    head = [line(list(map(escaped, table.columns))), line(rule)]
    return "\n".join([*head, *map(line, rows), "", *notes, ""])


def html_table(table: Table) -> str:
    """Return the table for notebooks, in the colours of the page around it."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    rows = []
    for at, (name, *cells) in enumerate(table.rows):
        shown = [
            f"<td><b>{escape(cell)}</b></td>" if (at, column) in table.best
            else f"<td>{escape(cell)}</td>"
            for column, cell in enumerate(cells, 1)
        ]  # fmt: skip
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{"".join(shown)}</tr>')
    notes = "".join(f"<p>{escape(note)}</p>" for note in table.notes)
    return (
        f'<div class="pairrank-comparison" style="overflow-x: auto"><table><thead><tr>{head}</tr>'
        f"</thead><tbody>{''.join(rows)}</tbody></table>{notes}</div>"
    )
