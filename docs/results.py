"""Tables of benchmarks/RESULTS.md: the one source of every figure on the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "RESULTS.md"


class Table(NamedTuple):
    """A table: the titles of its columns, and its rows of texts."""

    columns: list[str]
    rows: list[list[str]]

    def column(self, name: str) -> list[str]:
        """Return the entries of a column."""
        return [row[self.columns.index(name)] for row in self.rows]


def tables(text: str) -> dict[tuple[str, str], list[Table]]:
    """Return the tables under each section and subsection; "" is above the first subsection."""
    found: dict[tuple[str, str], list[Table]] = {}
    section = subsection = ""
    lines: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            lines.append(line)
            continue
        if lines:
            titles, _, *rows = ([each.strip() for each in row[1:].split(" |")] for row in lines)
            table = Table(titles[:-1], [row[: len(titles) - 1] for row in rows])
            found.setdefault((section, subsection), []).append(table)
            lines = []
        if line.startswith("## "):
            section, subsection = line[3:], ""
        elif line.startswith("### "):
            subsection = line[4:]
    return found


def table(section: str, subsection: str = "", number: int = 0) -> Table:
    """Return a table of RESULTS.md; KeyError says which title is no longer there."""
    known = tables(RESULTS.read_text(encoding="utf-8"))
    titles = [
        pair for pair in known if pair[0].startswith(section) and pair[1].startswith(subsection)
    ]
    if not titles:
        raise KeyError(f"benchmarks/RESULTS.md has no table under {section!r}, {subsection!r}")
    return known[titles[0]][number]


def number(text: str) -> float:
    """Return the number that an entry begins with: 1,000, 0.55 (0.5 to 0.7), 29 ns, 1.2x."""
    return float(re.match(r"[-+\d.,e]+", text)[0].replace(",", "").rstrip("e"))
