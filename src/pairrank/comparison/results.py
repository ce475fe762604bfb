"""ComparisonResults: the tables of a comparison, its best model, and the files that show it."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.comparison.tables import SECONDS, Columns, Difference
from pairrank.exceptions import PairrankError
from pairrank.io._streams import atomic_write
from pairrank.io.tables import write_columns
from pairrank.metrics._names import metric_named
from pairrank.report.page import environment

TableName = Literal["scores", "queries", "summary", "differences"]
TABLES = ("scores", "queries", "summary", "differences")
"""The attributes of results that hold columns of arrays."""

_TEXT_FILES, _TABLE_FILES = (".html", ".md", ".json"), (".csv", ".parquet")


NONE = "–"


class Table(NamedTuple):
    """Cells of text; `best` are the places (row, column) of the best values."""

    columns: list[str]
    rows: list[list[str]]
    best: set[tuple[int, int]]
    notes: list[str]


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResults:
    """Models side by side; it is printed, and shown in notebooks, as the table of their means.

    Attributes
    ----------
    models : list of str
    metrics : list of str
        Strengths were chosen by the first, and models are sorted by it.
    scores : dict of str to ndarray
        One row per model and fold: model, repeat, fold, n_train, n_test, params, choice_seconds,
        fit_seconds, predict_seconds, each metric, warnings, reason.
    queries : dict of str to ndarray
        One row per model, repeat and query: model, repeat, fold, qid, each metric. NaN where a
        query does not count. The one query of rows without qid is called None.
    summary : dict of str to ndarray
        One row per model: model, n_folds (finished ones), the mean over them of each metric and its
        standard deviation (metric_sd), the medians of the three seconds, params (the most frequent
        choice) and reason.
    differences : dict of str to ndarray
        One row per metric and pair of models: metric, model, other, n_units, difference, low, high,
        p_value, adjusted_p_value.
    units : dict of str to dict of str to ndarray
        {metric: {model: values}}, what the tests compare: per query the mean over repeats, or the
        value of each fold. NaN where there is none.
    settings : dict
        What the comparison was made of: the numbers of rows, features, queries, pairs, folds,
        repeats and inner folds; standardize, seed, baseline; `tried`, the values of each model's
        strength; and `units`, what the tests were over: "queries" or "folds".
    interrupted : bool
        Whether Ctrl-C ended it before all folds were finished.
    """

    models: list[str]
    metrics: list[str]
    scores: Columns
    queries: Columns
    summary: Columns
    differences: Columns
    units: dict[str, dict[str, FloatArray]]
    settings: dict[str, Any]
    interrupted: bool

    @property
    def best_(self) -> str | None:
        """The model with the best mean of the first metric; None if no model has one.

        Models that finished fewer folds than others are left out.
        """
        order = self.order()
        values = self._values(self.metrics[0])
        return None if not order or np.isnan(values[order[0]]) else self.models[order[0]]

    @property
    def reference(self) -> str | None:
        """The model that tables compare the others with: the baseline, or else the best."""
        return self.settings["baseline"] or self.best_

    def order(self) -> list[int]:
        """Return the places of the models, best first; those that cannot be best come last."""
        key = self._values(self.metrics[0])
        return sorted(
            range(len(self.models)), key=lambda at: (np.isnan(key[at]), -np.nan_to_num(key[at]))
        )

    def _values(self, metric: str) -> FloatArray:
        """Return a metric of each model, larger is better; NaN if the model cannot be the best."""
        counts, values = self.summary["n_folds"], self.summary[metric]
        signed = values if metric_named(metric).greater_is_better else -values
        return np.where(counts == counts.max(initial=0), signed, np.nan)

    def between(self, metric: str, model: str, other: str) -> Difference | None:
        """Return the difference of two models by a metric, model less other; None if not tested."""
        for found in self._tests(metric):
            if (found.model, found.other) == (model, other):
                return found
            if (found.model, found.other) == (other, model):
                low, high = -found.high, -found.low
                turned: dict[str, Any] = {"model": model, "other": other, "low": low, "high": high}
                return found._replace(difference=-found.difference, **turned)
        return None

    def _tests(self, metric: str) -> list[Difference]:
        columns = [self.differences[name].tolist() for name in Difference._fields]
        every = [Difference(*row) for row in zip(*columns, strict=True)]
        return [each for each in every if each.metric == metric]

    def to_pandas(self, table: TableName = "scores") -> Any:
        """Return a table as a pandas DataFrame.

        Parameters
        ----------
        table : "scores", "queries", "summary" or "differences"

        Returns
        -------
        DataFrame
        """
        import pandas

        return pandas.DataFrame(self._table(table))

    def save(self, path: str | os.PathLike[str], table: TableName = "scores") -> None:
        """Write the results to a file, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            ``.html`` is a page that loads nothing (it needs jinja2), ``.md`` is the table of means,
            ``.json`` is everything, ``.csv`` and ``.parquet`` are one table.
        table : "scores", "queries", "summary" or "differences"
            The table of ``.csv`` and ``.parquet``.
        """
        suffix, columns = suffix_of(path), self._table(table)
        if suffix in _TABLE_FILES:
            write_columns(path, columns)
            return
        if suffix == ".html":
            title = f"Comparison of {len(self.models)} models"
            text = template_of_page().render(title=title, page=self._page())
        elif suffix == ".json":
            text = json.dumps(self.record(), allow_nan=False, default=str, indent=1) + "\n"
        else:
            text = repr(self)
        with atomic_write(path, "w") as file:
            file.write(text)

    def _table(self, name: str) -> Columns:
        if name not in TABLES:
            raise PairrankError(f"there is no table {name!r}; use one of {', '.join(TABLES)}")
        found: Columns = getattr(self, name)
        return found

    def record(self) -> dict[str, Any]:
        """Return everything as lists, numbers and text; NaN and infinity become None."""
        return {
            "models": self.models,
            "metrics": self.metrics,
            "best": self.best_,
            "interrupted": self.interrupted,
            "settings": self.settings,
            **{
                table: {name: _listed(values) for name, values in self._table(table).items()}
                for table in TABLES
            },
        }

    def means(self, *, short: bool = False) -> Table:
        """Return the table of means, best model first, with the notes that explain it.

        A short table has standard deviations of the first metric only, the seconds of fits only,
        and no strengths.
        """
        reference, order, main = self.reference, self.order(), self.metrics[0]
        spent = SECONDS[1:2] if short else SECONDS
        rows = []
        for at in order:
            row = [self.models[at]]
            for name in self.metrics:
                sd = self.summary[f"{name}_sd"][at]
                row.append(_mean(self.summary[name][at], sd, name == main or not short))
            if reference is not None:
                row.append(_p(self.between(main, self.models[at], reference)))
            row += [_shown(self.summary[name][at], ".3g") for name in spent]
            rows.append(row if short else [*row, str(self.summary["params"][at]) or NONE])
        columns = ["model", *(f"{name}{_arrow(name)}" for name in self.metrics)]
        if reference is not None:
            columns.append("p" if short else f"p ({reference})")
        columns += [name.replace("_seconds", " s") for name in spent]
        columns += [] if short else ["strength"]
        return Table(columns, rows, self._best(), self._notes())

    def _best(self) -> set[tuple[int, int]]:
        """Return the places of the best values in the table of means."""
        found = set()
        for column, name in enumerate(self.metrics, 1):
            values = self._values(name)[self.order()]
            if not np.isnan(values).all():
                at = np.flatnonzero(values == np.nanmax(values)).tolist()
                found |= {(row, column) for row in at}
        return found

    def _notes(self) -> list[str]:
        """Return what was done, how differences were tested, and what did not work."""
        notes = [self._procedure(), *["↓: lower is better."] * any(map(_arrow, self.metrics))]
        notes += self._test_note()
        if self.interrupted:
            notes.append("Interrupted: some folds are missing.")
        counts, most = self.summary["n_folds"].tolist(), self.summary["n_folds"].max(initial=0)
        for name, count, reason in zip(self.models, counts, self.summary["reason"], strict=True):
            if reason:
                done = f" ({count} of {most} folds finished)" if count else ""
                notes.append(f"{name}: {reason}{done}")
        for name in self.models:
            own = self.scores["warnings"][self.scores["model"] == name]
            own = own[own != ""]
            if own.size:
                folds = "1 fold" if own.size == 1 else f"{own.size} folds"
                notes.append(f"{name}: warnings in {folds}, the first: {own[0]}")
        return notes

    def _procedure(self) -> str:
        done = self.settings
        folds = f"{done['n_folds']} folds of {'queries' if done['n_queries'] > 1 else 'rows'}"
        times = f", {done['n_repeats']} times" if done["n_repeats"] > 1 else ""
        chosen = "strengths not chosen"
        if done["inner_cv"]:
            chosen = f"strengths chosen by {self.metrics[0]} in {done['inner_cv']} inner folds"
        scaled = "standardised" if done["standardize"] else "as given"
        return (
            f"Mean ± standard deviation over {folds}{times}; {chosen}; features {scaled}; "
            "median seconds."
        )

    def _test_note(self) -> list[str]:
        tested = [each for each in self._tests(self.metrics[0]) if not math.isnan(each.p_value)]
        if self.reference is None or not tested:
            return []
        n_units = max(each.n_units for each in tested)
        test = f"corrected resampled t test over {n_units} folds (Nadeau & Bengio)"
        if self.settings["units"] == "queries":
            test = f"paired randomisation test over {n_units:,} queries"
        return [
            f"p: {test} of {self.metrics[0]} against {self.reference}, adjusted by Holm's method "
            f"for {len(tested)} comparison{'s' * (len(tested) > 1)}."
        ]

    def _page(self) -> dict[str, Any]:
        """Return what the template of the page shows."""
        done, cells = self.settings, self.scores
        counted = ("n_rows", "n_features", "n_queries", "n_pairs")
        facts = [(name[2:].capitalize(), done[name]) for name in counted]
        facts += [("Models", len(self.models)), ("Folds", done["n_folds"] * done["n_repeats"])]
        names = ["model", "repeat", "fold", "params", "fit_seconds", *self.metrics]
        against = {name: self._against(name) for name in self.metrics}
        return {
            "facts": [*facts, ("Seed", done["seed"])],
            "table": self.means(),
            "metrics": self.metrics,
            "reference": self.reference,
            "units": done["units"],
            "against": {name: tests for name, tests in against.items() if tests},
            "all_pairs": {
                name: [(each, ()) for each in self._tests(name)] for name in self.metrics
            },
            "tried": [(name, text) for name, text in done["tried"].items() if text],
            "cells": list(zip(*(cells[name].tolist() for name in names), strict=True)),
        }

    def _against(self, metric: str) -> list[tuple[Difference, list[int]]]:
        """Return the tests of the reference against each other model.

        Beside each are the numbers of units in which it is larger, equal and smaller.
        """
        first, values = self.reference, self.units[metric]
        found = []
        for other in (self.models[at] for at in self.order()):
            tested = None if first in (None, other) else self.between(metric, str(first), other)
            if tested is not None:
                one, two = values[tested.model], values[tested.other]
                counts = [int(np.sum(sign)) for sign in (one > two, one == two, one < two)]
                found.append((tested, counts))
        return found

    def __repr__(self) -> str:
        return markdown(self.means())

    def _repr_html_(self) -> str:
        return html_table(self.means())


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the end of a file's name; raise a PairrankError if it is not known."""
    suffix, known = Path(path).suffix.lower(), (*_TEXT_FILES, *_TABLE_FILES)
    if suffix not in known:
        raise PairrankError(
            f"{os.fspath(path)}: a comparison is written to a file that ends in {', '.join(known)}"
        )
    return suffix


def _listed(values: Any) -> list[Any]:
    return [
        None if isinstance(each, float) and not math.isfinite(each) else each
        for each in values.tolist()
    ]


def _arrow(metric: str) -> str:
    """Return the mark of a metric of which lower is better."""
    return "" if metric_named(metric).greater_is_better else " ↓"


def _shown(number: float, form: str) -> str:
    return NONE if math.isnan(number) else f"{number:{form}}"


def _mean(mean: float, sd: float, has_sd: bool) -> str:
    """Return a mean with its standard deviation, if there is one."""
    deviation = f" ± {sd:.2g}" if has_sd and not math.isnan(sd) else ""
    return NONE if math.isnan(mean) else f"{mean:.4g}{deviation}"


def _p(found: Difference | None) -> str:
    """Return the adjusted p-value of a difference."""
    return NONE if found is None else _shown(found.adjusted_p_value, ".2g")


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
