"""ComparisonResults: the tables of a comparison, its best model, and the files that show it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.comparison.cells import Cell
from pairrank.comparison.files import TABLES, write_results
from pairrank.comparison.significance import Difference, differences_of
from pairrank.comparison.tables import html_table, markdown
from pairrank.comparison.task import Task, test_ratio
from pairrank.exceptions import PairrankError
from pairrank.metrics._names import metric_named

Columns = dict[str, NDArray[Any]]
TableName = Literal["scores", "queries", "summary", "differences"]
SECONDS = ("choice_seconds", "fit_seconds", "predict_seconds")


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
        repeats and inner folds; standardize, seed, baseline, time_limit; `tried`, the values of
        each model's strength; and `units`, what the tests were over: "queries" or "folds".
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
        return None if not order or np.isnan(self._key()[order[0]]) else self.models[order[0]]

    @property
    def reference(self) -> str | None:
        """The model that tables compare the others with: the baseline, or else the best."""
        return self.settings["baseline"] or self.best_

    def order(self) -> list[int]:
        """Return the places of the models, best first; those that cannot be best come last."""
        key = self._key()
        return sorted(
            range(len(self.models)), key=lambda at: (np.isnan(key[at]), -np.nan_to_num(key[at]))
        )

    def _key(self) -> FloatArray:
        """Return the first metric of each model, larger is better; NaN if it cannot be the best."""
        name, counts = self.metrics[0], self.summary["n_folds"]
        values = self.summary[name] if metric_named(name).greater_is_better else -self.summary[name]
        return np.where(counts == counts.max(initial=0), values, np.nan)

    def between(self, metric: str, model: str, other: str) -> Difference | None:
        """Return the difference of two models by a metric, model less other; None if not tested."""
        table = self.differences
        for first, second, sign in ((model, other, 1.0), (other, model, -1.0)):
            at = np.flatnonzero(
                (table["metric"] == metric) & (table["model"] == first) & (table["other"] == second)
            )
            if at.size:
                found = Difference(*(table[name][at[0]].item() for name in Difference._fields))
                return found if sign > 0 else _turned(found)
        return None

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
            ``.html`` is a page with pictures that loads nothing (it needs jinja2), ``.md`` and
            ``.tex`` are the table of means, ``.json`` is everything, ``.csv`` and ``.parquet`` are
            one table.
        table : "scores", "queries", "summary" or "differences"
            The table of ``.csv`` and ``.parquet``.
        """
        write_results(self, path, self._table(table))

    def _table(self, name: str) -> Columns:
        if name not in TABLES:
            raise PairrankError(f"there is no table {name!r}; use one of {', '.join(TABLES)}")
        found: Columns = getattr(self, name)
        return found

    def __repr__(self) -> str:
        return markdown(self)

    def _repr_html_(self) -> str:
        return html_table(self)


def results_of(
    task: Task,
    models: Sequence[str],
    cells: Sequence[Cell],
    settings: Mapping[str, Any],
    *,
    n_resamples: int,
    interrupted: bool,
) -> ComparisonResults:
    """Return the tables of finished cells."""
    by_queries = settings["units"] == "queries"
    ratio = None if by_queries else test_ratio(task.folds)
    found: list[Difference] = []
    units = {
        metric: _by_query(cells, metric) if by_queries else _by_fold(task, cells, metric)
        for metric in task.metrics
    }
    for metric in task.metrics:
        found += differences_of(
            metric,
            units[metric],
            baseline=settings["baseline"],
            ratio=ratio,
            n_resamples=n_resamples,
            seed=task.seed,
        )
    return ComparisonResults(
        models=list(models),
        metrics=list(task.metrics),
        scores=_scores(cells, task.metrics),
        queries=_queries(task, cells),
        summary=_summary(models, cells, task.metrics),
        differences=_columns(found, Difference._fields),
        units=units,
        settings=dict(settings),
        interrupted=interrupted,
    )


def _columns(records: Sequence[Any], names: Sequence[str]) -> Columns:
    kind = None if records else str
    return {name: np.array([getattr(each, name) for each in records], kind) for name in names}


def text_of(params: Mapping[str, Any]) -> str:
    """Return parameters as text, "alpha=0.1, C=1"."""
    shown = {name: f"{v:g}" if isinstance(v, float) else str(v) for name, v in params.items()}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _scores(cells: Sequence[Cell], metrics: Sequence[str]) -> Columns:
    table = _columns(cells, ("model", "repeat", "fold", "n_train", "n_test"))
    table["params"] = np.array([text_of(cell.params) for cell in cells])
    table |= _columns(cells, SECONDS)
    for metric in metrics:
        table[metric] = np.array([cell.values.get(metric, np.nan) for cell in cells])
    table["warnings"] = np.array(["; ".join(cell.warnings) for cell in cells])
    return {**table, "reason": np.array([cell.reason for cell in cells])}


def _queries(task: Task, cells: Sequence[Cell]) -> Columns:
    sizes = [len(cell.queries) for cell in cells]
    codes = [code for cell in cells for code in cell.queries]
    table = {
        name: np.repeat(values, sizes)
        for name, values in _columns(cells, ("model", "repeat", "fold")).items()
    }
    table["qid"] = task.query_names[np.array(codes, dtype=int)]
    for metric in task.metrics:
        joined = [value for cell in cells for value in cell.by_query.get(metric, [])]
        table[metric] = np.array(joined, dtype=np.float64)
    return table


def _summary(models: Sequence[str], cells: Sequence[Cell], metrics: Sequence[str]) -> Columns:
    own = {name: [cell for cell in cells if cell.model == name] for name in models}
    done = [[cell for cell in own[name] if not cell.reason] for name in models]
    table: Columns = {"model": np.array(models), "n_folds": np.array([len(each) for each in done])}
    for metric in metrics:
        values = [np.array([cell.values[metric] for cell in each]) for each in done]
        values = [each[~np.isnan(each)] for each in values]
        table[metric] = np.array([each.mean() if each.size else np.nan for each in values])
        with np.errstate(invalid="ignore", over="ignore"):
            table[f"{metric}_sd"] = np.array(
                [each.std(ddof=1) if each.size > 1 else np.nan for each in values]
            )
    for name in SECONDS:
        seconds = [[getattr(cell, name) for cell in each] for each in done]
        table[name] = np.array([np.median(each) if each else np.nan for each in seconds])
    table["params"] = np.array([_most_frequent(each) for each in done])
    reasons = [[cell.reason for cell in own[name] if cell.reason] for name in models]
    table["reason"] = np.array([_joined(list(dict.fromkeys(each))) for each in reasons])
    return table


def _joined(reasons: Sequence[str]) -> str:
    """Return the first of different reasons, and how many more there are."""
    more = (
        f" (and {len(reasons) - 1} other reason{'s' * (len(reasons) > 2)})"
        if len(reasons) > 1
        else ""
    )
    return f"{reasons[0]}{more}" if reasons else ""


def _most_frequent(cells: Sequence[Cell]) -> str:
    counted = Counter(text_of(cell.params) for cell in cells).most_common(1)
    return counted[0][0] if counted else ""


def _by_query(cells: Sequence[Cell], metric: str) -> dict[str, FloatArray]:
    """Return each model's values per query, means over repeats; NaN where a query does not count.

    Models without a finished cell are left out.
    """
    n_queries = 1 + max((code for cell in cells for code in cell.queries), default=-1)
    sums: dict[str, FloatArray] = {}
    for cell in cells:
        if not cell.reason:
            total = sums.setdefault(cell.model, np.zeros((2, n_queries)))
            values = np.array(cell.by_query[metric])
            counted = ~np.isnan(values)
            places = np.array(cell.queries)[counted]
            total[:, places] += [values[counted], np.ones(places.size)]
    return {
        name: np.divide(total, count, out=np.full(n_queries, np.nan), where=count > 0)
        for name, (total, count) in sums.items()
    }


def _by_fold(task: Task, cells: Sequence[Cell], metric: str) -> dict[str, FloatArray]:
    """Return each model's values per fold; NaN where it has none."""
    places = {(fold.repeat, fold.fold): at for at, fold in enumerate(task.folds)}
    values: dict[str, FloatArray] = {}
    for cell in cells:
        if not cell.reason:
            own = values.setdefault(cell.model, np.full(len(places), np.nan))
            own[places[cell.repeat, cell.fold]] = cell.values[metric]
    return values


def _turned(found: Difference) -> Difference:
    """Return a difference with the models exchanged."""
    return found._replace(
        model=found.other,
        other=found.model,
        difference=-found.difference,
        low=-found.high,
        high=-found.low,
    )
