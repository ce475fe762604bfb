"""The table of means as text: cells, notes, and their Markdown, LaTeX and HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pairrank.comparison.significance import Difference
from pairrank.metrics._names import metric_named

if TYPE_CHECKING:
    from pairrank.comparison.results import ComparisonResults

_NONE = "–"
_LATEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
    **{letter: f"{{{letter}}}" for letter in "[*"},  # after \\ they would be its argument
    **{"±": r"$\pm$", "–": "--", "…": r"\ldots{}"},
}


class Table(NamedTuple):
    """Cells of text; `best` are the places (row, column) of the best values."""

    columns: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]]
    notes: list[str]


def table_of(results: ComparisonResults, *, short: bool = False) -> Table:
    """Return the table of means, best model first, and the notes that explain it.

    A short table has standard deviations of the first metric only, the seconds of fits only, and
    no strengths.
    """
    reference, metrics, summary = results.reference, results.metrics, results.summary
    order, spent = results.order(), _SPENT[1:2] if short else _SPENT
    columns = ["model", *(f"{name} ↓" if _lower_is_better(name) else name for name in metrics)]
    if reference is not None:
        columns.append("p" if short else f"p ({reference})")
    rows = []
    for at in order:
        row = [results.models[at]]
        for name in metrics:
            sd = math.nan if short and name != metrics[0] else summary[f"{name}_sd"][at]
            row.append(mean_text(summary[name][at], sd))
        if reference is not None:
            row.append(p_text(results.between(metrics[0], results.models[at], reference)))
        row += [seconds_text(summary[f"{name}_seconds"][at]) for name in spent]
        rows.append(row if short else [*row, str(summary["params"][at]) or _NONE])
    columns += [f"{name} s" for name in spent] + ([] if short else ["strength"])
    return Table(columns, rows, set(_best(results, order)), notes_of(results))


_SPENT = ("choice", "fit", "predict")


def _lower_is_better(name: str) -> bool:
    return not metric_named(name).greater_is_better


def _best(results: ComparisonResults, order: list[int]) -> Iterator[tuple[int, int]]:
    counts = results.summary["n_folds"]
    complete = counts == counts.max(initial=0)
    for column, name in enumerate(results.metrics, 1):
        values = np.where(complete, results.summary[name], np.nan)[order]
        if not np.isnan(values).all():
            best = np.nanmin(values) if _lower_is_better(name) else np.nanmax(values)
            yield from ((int(row), column) for row in np.flatnonzero(values == best))


def notes_of(results: ComparisonResults) -> list[str]:
    """Return what was done, how differences were tested, and what did not work."""
    return [*_procedure(results), *_test_note(results), *_faults(results), *_warnings(results)]


def _procedure(results: ComparisonResults) -> Iterator[str]:
    """Yield how values were found."""
    done, metric = results.settings, results.metrics[0]
    folds = f"{done['n_folds']} folds of {'queries' if done['n_queries'] > 1 else 'rows'}"
    if done["n_repeats"] > 1:
        folds += f", {done['n_repeats']} times"
    chosen = "strengths not chosen"
    if done["inner_cv"]:
        chosen = f"strengths chosen by {metric} in {done['inner_cv']} inner folds"
    scaled = "standardised" if done["standardize"] else "as given"
    yield f"Mean ± standard deviation over {folds}; {chosen}; features {scaled}; median seconds."
    if any(map(_lower_is_better, results.metrics)):
        yield "↓: lower is better."


def _faults(results: ComparisonResults) -> Iterator[str]:
    """Yield what is missing, and why."""
    if results.interrupted:
        yield "Interrupted: some folds are missing."
    most = results.summary["n_folds"].max(initial=0)
    for name, count, reason in zip(
        results.models, results.summary["n_folds"], results.summary["reason"], strict=True
    ):
        if reason:
            yield f"{name}: {reason}" + (f" ({count} of {most} folds finished)" if count else "")


def _test_note(results: ComparisonResults) -> Iterator[str]:
    found = results.differences
    tested = np.array([not math.isnan(p) for p in found["p_value"].tolist()], dtype=bool)
    tested &= found["metric"] == results.metrics[0]
    if results.reference is None or not tested.any():
        return
    n_units = int(found["n_units"][tested].max())
    if results.settings["units"] == "queries":
        test = f"paired randomisation test over {n_units:,} queries"
    else:
        test = f"corrected resampled t test over {n_units} folds (Nadeau & Bengio)"
    yield (
        f"p: {test} of {results.metrics[0]} against {results.reference}, adjusted by Holm's method "
        f"for {int(tested.sum())} comparison{'s' * int(tested.sum() > 1)}."
    )


def _warnings(results: ComparisonResults) -> Iterator[str]:
    """Yield the first warning of each model, with the number of folds that had warnings."""
    scores = results.scores
    for name in results.models:
        own = scores["warnings"][(scores["model"] == name) & (scores["warnings"] != "")]
        if own.size:
            folds = "1 fold" if own.size == 1 else f"{own.size} folds"
            yield f"{name}: warnings in {folds}, the first: {own[0]}"


def mean_text(mean: float, sd: float) -> str:
    """Return a mean with its standard deviation, if there is one."""
    if math.isnan(mean):
        return _NONE
    return f"{mean:.4g}" if math.isnan(sd) else f"{mean:.4g} ± {sd:.2g}"


def p_text(found: Difference | None) -> str:
    """Return the adjusted p-value of a difference."""
    return _NONE if found is None or math.isnan(found.p_value) else f"{found.adjusted_p_value:.2g}"


def seconds_text(seconds: float) -> str:
    """Return seconds as text of three digits."""
    return _NONE if math.isnan(seconds) else f"{seconds:.3g}"


def _line(text: str) -> str:
    """Return text in one line."""
    return " ".join(text.split())


def markdown(results: ComparisonResults) -> str:
    """Return the table in Markdown; the best values are bold."""
    table = table_of(results)

    def escaped(text: str) -> str:
        return re.sub(r"([\\`*_|<>\[\]&~$])", r"\\\1", _line(text))

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


def latex(results: ComparisonResults) -> str:
    """Return the table as a LaTeX tabular, which needs no package; the best values are bold."""
    table = table_of(results)

    def escaped(text: str) -> str:
        found = "".join(_LATEX.get(letter, letter) for letter in _line(text))
        return found.replace("↓", r"$\downarrow$")

    def line(cells: list[str]) -> str:
        return " & ".join(cells) + r" \\"

    rows = [
        [rf"\textbf{{{escaped(cell)}}}" if (at, column) in table.best else escaped(cell)
         for column, cell in enumerate(row)]
        for at, row in enumerate(table.rows)
    ]  # fmt: skip
    shape = "l" + "r" * (len(table.columns) - 2) + "l"
    lines = [rf"\begin{{tabular}}{{{shape}}}", r"\hline", line(list(map(escaped, table.columns)))]
    lines += [r"\hline", *map(line, rows), r"\hline", r"\end{tabular}"]
    return "\n".join([*lines, *(f"% {escaped(note)}" for note in table.notes), ""])


def html_table(results: ComparisonResults) -> str:
    """Return the table for notebooks, in the colours of the page around it."""
    table = table_of(results)
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
