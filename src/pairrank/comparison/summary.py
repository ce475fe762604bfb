"""The tables of a comparison as columns of arrays: cells, queries, means, values to test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.comparison.cells import Cell, Fold

Columns = dict[str, NDArray[Any]]
SECONDS = ("choice_seconds", "fit_seconds", "predict_seconds")


def columns_of(records: Sequence[Any], names: Sequence[str]) -> Columns:
    """Return some fields of records as columns."""
    kind = None if records else str
    return {name: np.array([getattr(each, name) for each in records], kind) for name in names}


def table_of_cells(cells: Sequence[Cell], metrics: Sequence[str]) -> Columns:
    """Return one row per model and fold."""
    table = columns_of(cells, ("model", "repeat", "fold", "n_train", "n_test"))
    table["params"] = np.array([_text_of(cell.params) for cell in cells])
    table |= columns_of(cells, SECONDS)
    for metric in metrics:
        table[metric] = np.array([cell.values.get(metric, np.nan) for cell in cells])
    table["warnings"] = np.array(["; ".join(cell.warnings) for cell in cells])
    return {**table, "reason": np.array([cell.reason for cell in cells])}


def table_of_queries(cells: Sequence[Cell], metrics: Sequence[str], names: NDArray[Any]) -> Columns:
    """Return one row per model, repeat and query; `names` are the queries of the codes in cells."""
    sizes = [len(cell.queries) for cell in cells]
    table = {
        name: np.repeat(values, sizes)
        for name, values in columns_of(cells, ("model", "repeat", "fold")).items()
    }
    table["qid"] = names[np.array([code for cell in cells for code in cell.queries], dtype=int)]
    for metric in metrics:
        joined = [cell.by_query[metric] for cell in cells if not cell.reason]
        table[metric] = np.concatenate(joined) if joined else np.empty(0)
    return table


def summary_of(models: Sequence[str], cells: Sequence[Cell], metrics: Sequence[str]) -> Columns:
    """Return one row per model: means and deviations over its folds, and its reasons."""
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
    chosen = [Counter(_text_of(cell.params) for cell in each).most_common(1) for each in done]
    table["params"] = np.array([each[0][0] if each else "" for each in chosen])
    reasons = [[cell.reason for cell in own[name] if cell.reason] for name in models]
    table["reason"] = np.array([joined(list(dict.fromkeys(each))) for each in reasons])
    return table


def joined(reasons: Sequence[str]) -> str:
    """Return the first of different reasons, and how many more there are."""
    more = len(reasons) - 1
    others = f" (and {more} other reason{'s' * (more > 1)})" if more > 0 else ""
    return f"{reasons[0]}{others}" if reasons else ""


def _text_of(params: Mapping[str, Any]) -> str:
    """Return parameters as text, "alpha=0.1, C=1"."""
    shown = {name: f"{v:g}" if isinstance(v, float) else str(v) for name, v in params.items()}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def values_by_query(cells: Sequence[Cell], metric: str) -> dict[str, FloatArray]:
    """Return each model's values per query, means over repeats; NaN where a query does not count.

    Models without a finished cell are left out.
    """
    n_queries = 1 + max((code for cell in cells for code in cell.queries), default=-1)
    sums: dict[str, FloatArray] = {}
    for cell in cells:
        if not cell.reason:
            total = sums.setdefault(cell.model, np.zeros((2, n_queries)))
            values = cell.by_query[metric]
            counted = ~np.isnan(values)
            places = np.array(cell.queries)[counted]
            total[:, places] += [values[counted], np.ones(places.size)]
    return {
        name: np.divide(total, count, out=np.full(n_queries, np.nan), where=count > 0)
        for name, (total, count) in sums.items()
    }


def values_by_fold(
    folds: Sequence[Fold], cells: Sequence[Cell], metric: str
) -> dict[str, FloatArray]:
    """Return each model's values per fold; NaN where it has none."""
    places = {(fold.repeat, fold.fold): at for at, fold in enumerate(folds)}
    values: dict[str, FloatArray] = {}
    for cell in cells:
        if not cell.reason:
            own = values.setdefault(cell.model, np.full(len(places), np.nan))
            own[places[cell.repeat, cell.fold]] = cell.values[metric]
    return values
