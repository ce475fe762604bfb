"""ComparisonResults: the tables of a comparison, its best model, and the files that show it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.comparison.tables import Columns, Difference
from pairrank.exceptions import PairrankError
from pairrank.io._streams import AnyPath, atomic_write
from pairrank.io.tables import write_columns
from pairrank.metrics._names import metric_named
from pairrank.report.page import NONE, number_text, template_named

TableName = Literal["scores", "queries", "summary", "differences"]
TABLES = get_args(TableName)

_PAGE = "comparison.html"
_TEXT_FILES, _TABLE_FILES = (".html", ".md", ".json"), (".csv", ".parquet")


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
        return None if np.isnan(values[order[0]]) else self.models[order[0]]

    @property
    def reference(self) -> str | None:
        """The model that tables compare the others with: the baseline, or else the best."""
        return self.settings["baseline"] or self.best_

    def order(self) -> list[int]:
        """Return the places of the models, best first; those that cannot be best come last."""
        places: list[int] = np.argsort(-self._values(self.metrics[0]), kind="stable").tolist()
        return places

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
                ends = -found.difference, -found.high, -found.low
                return Difference(metric, model, other, found.n_units, *ends, *found[-2:])
        return None

    def _tests(self, metric: str) -> list[Difference]:
        columns = [self.differences[name].tolist() for name in Difference._fields]
        every = [Difference(*row) for row in zip(*columns, strict=True)]
        return [each for each in every if each.metric == metric]

    def save(self, path: AnyPath, table: TableName = "scores") -> None:
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
            text = template_named(_PAGE).render(title=title, page=self._page())
        elif suffix == ".json":
            text = json.dumps(self.record(), indent=1) + "\n"
        else:
            text = repr(self)
        with atomic_write(path) as file:
            file.write(text.encode())

    def _table(self, name: str) -> Columns:
        if name not in TABLES:
            raise PairrankError(f"there is no table {name!r}; use one of {', '.join(TABLES)}")
        found: Columns = getattr(self, name)
        return found

    def record(self) -> dict[str, Any]:
        """Return everything as lists, numbers and text; NaN and infinity become None."""
        found = {
            "models": self.models,
            "metrics": self.metrics,
            "best": self.best_,
            "interrupted": self.interrupted,
            "settings": self.settings,
            **{
                table: {name: values.tolist() for name, values in self._table(table).items()}
                for table in TABLES
            },
        }
        plain: dict[str, Any] = json.loads(
            json.dumps(found, default=str), parse_constant=lambda _: None
        )
        return plain

    def means(self) -> Table:
        """Return the table of means, best model first, with the notes that explain it.

        Of the first metric it has the standard deviations too; `summary` has those of all.
        """
        reference, main = self.reference, self.metrics[0]
        signed = {name: self._values(name) for name in self.metrics}
        top = {name: np.fmax.reduce(values, initial=-np.inf) for name, values in signed.items()}
        rows, best = [], set()
        for place, at in enumerate(self.order()):
            own = {name: values[at] for name, values in self.summary.items()}
            row = [self.models[at]]
            for name in self.metrics:
                if signed[name][at] == top[name]:
                    best.add((place, len(row)))
                sd = own[f"{name}_sd"] if name == main else np.nan
                row.append(number_text(own[name]) + ("" if np.isnan(sd) else f" ± {sd:.2g}"))
            if reference is not None:
                tested = self.between(main, self.models[at], reference)
                row.append(number_text(tested and tested.adjusted_p_value))
            rows.append([*row, number_text(own["fit_seconds"]), own["params"] or NONE])
        columns = ["model", *(f"{name}{_arrow(name)}" for name in self.metrics)]
        columns += [] if reference is None else ["p"]
        return Table([*columns, "fit s", "strength"], rows, best, self._notes())

    def _notes(self) -> list[str]:
        """Return what was done, how differences were tested, and what did not work."""
        notes = [self._procedure(), *["↓: lower is better."] * any(map(_arrow, self.metrics))]
        notes += self._test_note()
        if self.interrupted:
            notes.append("Interrupted: some folds are missing.")
        for name, count, reason in zip(
            self.models, self.summary["n_folds"], self.summary["reason"], strict=True
        ):
            if reason:
                notes.append(f"{name}: {reason}" + f" ({count} folds finished)" * bool(count))
            said = self.scores["warnings"][self.scores["model"] == name]
            said = said[said != ""]
            if said.size:
                notes.append(f"{name}: warnings in {said.size} folds, the first: {said[0]}")
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
        tested = [each for each in self._tests(self.metrics[0]) if not np.isnan(each.p_value)]
        if self.reference is None or not tested:
            return []
        test = "corrected resampled t test (Nadeau & Bengio)"
        if self.settings["units"] == "queries":
            test = "paired randomisation test"
        return [
            f"p: {test} of {self.metrics[0]} against {self.reference} over "
            f"{max(each.n_units for each in tested):,} {self.settings['units']}, adjusted by "
            f"Holm's method for {len(tested)} comparison{'s' * (len(tested) > 1)}."
        ]

    def _page(self) -> dict[str, Any]:
        """Return what the template of the page shows."""
        done, cells = self.settings, self.scores
        facts = {name[2:].capitalize(): done[name] for name in done if name.startswith("n_")}
        names = ["model", "repeat", "fold", "params", "fit_seconds", *self.metrics]
        return {
            "facts": [("Models", len(self.models)), *facts.items(), ("Seed", done["seed"])],
            "table": self.means(),
            "metrics": self.metrics,
            "units": done["units"],
            "tests": {name: self._counted(name) for name in self.metrics if self._tests(name)},
            "tried": [(name, text) for name, text in done["tried"].items() if text],
            "cells": list(zip(*(cells[name].tolist() for name in names), strict=True)),
        }

    def _counted(self, metric: str) -> list[tuple[Difference, list[int]]]:
        """Return the tests, and in how many units the first model is larger, equal and smaller."""
        found = []
        for each in self._tests(metric):
            one, two = self.units[metric][each.model], self.units[metric][each.other]
            counts = [int(np.sum(sign)) for sign in (one > two, one == two, one < two)]
            found.append((each, counts))
        return found

    def __repr__(self) -> str:
        return markdown(self.means())

    _repr_markdown_ = __repr__


def suffix_of(path: AnyPath) -> str:
    """Return the end of a file's name; raise an error if such a file cannot be written."""
    suffix, known = Path(path).suffix.lower(), (*_TEXT_FILES, *_TABLE_FILES)
    if suffix not in known:
        raise PairrankError(
            f"{os.fspath(path)}: a comparison is written to a file that ends in {', '.join(known)}"
        )
    if suffix == ".html":
        template_named(_PAGE)
    return suffix


def _arrow(metric: str) -> str:
    """Return the mark of a metric of which lower is better."""
    return "" if metric_named(metric).greater_is_better else " ↓"


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
