"""Sentences of "Which ranker?" with figures: from the reproduction's cells and RESULTS.md."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import results
from reproduced import VERDICTS, Found, claim_id, row_link

from reproduction.papers.beyond import conditions
from reproduction.study import NotRun, spread

Measure = Callable[[Found], str]
"""Returns a sentence of reStructuredText with its figures; it raises NotRun without them."""


def beside(study: str, table: str, row: str, value: str, what: str, *columns: str) -> Measure:
    """Show a value of some columns of a row; of the others than the first, those that are there."""

    def measure(found: Found) -> str:
        parts = [f"{columns[0]} {found.text(study, table, row, columns[0], value)}"]
        for column in columns[1:]:
            try:
                parts.append(f"{column} {found.text(study, table, row, column, value)}")
            except NotRun:
                continue
        if len(parts) < min(2, len(columns)):
            raise NotRun(row)
        return f"{row_link(study, table, row)}, {what}: {', '.join(parts)}."

    return measure


def several(study: str, table: str, row: str, column: str, *values: str) -> Measure:
    """Show some values of one cell."""

    def measure(found: Found) -> str:
        shown, _ = found.table(study, table)
        titles = {each.value: each.title for each in shown.quantities}
        parts = [
            f"{titles[value]} {found.text(study, table, row, column, value)}" for value in values
        ]
        return f"{row_link(study, table, row)}: {'; '.join(parts)}."

    return measure


def paired(row: str, first: str, second: str) -> Measure:
    """Show by how much one method is above another on the same draws of a condition."""

    def measure(found: Found) -> str:
        mean, error = conditions.gain(found.studies["beyond"], row, first, second)
        link = row_link("beyond", "conditions", row)
        return f"{link}: “{first}” less “{second}” {mean:+.4f} ± {error:.4f} (standard error)."

    return measure


def gain_of_pairs(*rows: str) -> Measure:
    """Show the best of all pairs less the best pointwise fit, with its interval, by row."""

    def measure(found: Found) -> str:
        study = found.studies["beyond"]
        parts = []
        for row in rows or study.table("pairs").rows:
            if study.status("pairs", row, "") == "done":
                difference = found.text("beyond", "pairs", row, "", "difference")
                low, high = (study.mean("pairs", row, "", end) for end in ("low", "high"))
                link = row_link("beyond", "pairs", row)
                parts.append(f"{link} {difference} ({low:+.4f} to {high:+.4f})")
        if not parts:
            raise NotRun("pairs")
        what = "All pairs less the best pointwise fit, with its 95 % interval"
        return f"{what}: {'; '.join(parts)}."

    return measure


def mean_gain(study: str, table: str, value: str, what: str, first: str, second: str) -> Measure:
    """Show the mean difference of two columns over rows, its deviation and its range."""

    def measure(found: Found) -> str:
        shown, of = found.table(study, table)
        for column in (first, second):
            if column not in shown.columns:
                raise KeyError(f"{study}, {table} has no column {column!r}")
        pairs = of.pairs(table, first, second, value)
        gains = {row: own - other for row, own, other in pairs}
        least, most = (pick(gains, key=gains.__getitem__) for pick in (min, max))
        mean = statistics.fmean(gains.values())
        deviation = f" ± {spread(list(gains.values())):.3f}" if len(gains) > 1 else ""
        ends = " to ".join(
            f"{gains[row]:+.3f} ({row_link(study, table, row)})" for row in (least, most)
        )
        return (
            f"“{first}” less “{second}”, {what}: mean {mean:+.3f}{deviation} over {len(gains)} "
            f"sets, from {ends}."
        )

    return measure


def claimed(study: str, text: str) -> Measure:
    """Show the verdict on a claim, with its figure."""

    def measure(found: Found) -> str:
        verdict, figure = found.verdict(study, text)
        link = f"`{text.rstrip('.')} <{VERDICTS}#{claim_id(study, text)}>`__"
        return f"{link}: {verdict}. {figure[:1].upper()}{figure[1:]}."

    return measure


def timed(
    page: str, template: str, where: tuple[str, str, int], *entries: tuple[str, str]
) -> Measure:
    """Show entries (beginning of a row, column) of a table of RESULTS.md in a sentence."""

    def measure(found: Found) -> str:
        table = results.table(*where)
        shown = []
        for start, column in entries:
            row = next(row for row in table.rows if " / ".join(row).startswith(start))
            shown.append(row[table.columns.index(column)])
        return f"{template.format(*shown)} (:doc:`{page}`)."

    return measure
