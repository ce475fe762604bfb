"""The tables of a comparison, and paired tests over queries or folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from pairrank._protocols import FloatArray
from pairrank.comparison.cells import Cell
from pairrank.metrics.tables import compare_values

LEVEL = 0.95


class Difference(NamedTuple):
    """Two models compared by a metric.

    Attributes
    ----------
    metric, model, other : str
    n_units : int
        The queries, or folds, with a value of both models.
    difference : float
        The mean over these of the model's value less the other's.
    low, high : float
        The ends of the 95 % interval of the difference.
    p_value : float
        Two-sided; NaN if there are fewer than two units, or infinite values.
    adjusted_p_value : float
        Holm's, over all pairs of models that are compared by the metric.
    """

    metric: str
    model: str
    other: str
    n_units: int
    difference: float
    low: float
    high: float
    p_value: float
    adjusted_p_value: float


def differences_of(
    metric: str,
    values: dict[str, FloatArray],
    *,
    baseline: str | None,
    ratio: float | None,
    n_resamples: int,
    seed: int,
) -> list[Difference]:
    """Return the differences of all pairs of models, or of all models from a baseline.

    `values` are those of each model per unit, NaN where a unit does not count. With a `ratio` of
    test rows to training rows the units are folds, else they are queries.
    """
    pairs = list(combinations(values, 2))
    if baseline is not None:
        pairs = [(name, baseline) for name in values if name != baseline and baseline in values]
    found = []
    for name, other in pairs:
        tested = _tested(values[name], values[other], ratio, n_resamples, seed)
        found.append(Difference(metric, name, other, *tested, np.nan))
    adjusted = holm(np.array([each.p_value for each in found]))
    return [
        each._replace(adjusted_p_value=p)
        for each, p in zip(found, adjusted.tolist(), strict=True)
    ]  # fmt: skip


Tested = tuple[int, float, float, float, float]
"""The number of units, the mean difference, the ends of its interval, the p-value."""


def _tested(
    first: FloatArray, second: FloatArray, ratio: float | None, n_resamples: int, seed: int
) -> Tested:
    """Test two models over the units that count for both; infinite values are not tested."""
    counted = ~(np.isnan(first) | np.isnan(second))
    first, second = first[counted], second[counted]
    with np.errstate(invalid="ignore"):
        differences = first - second
    if differences.size < 2 or not np.isfinite(differences).all():
        return _untested(differences)
    if ratio is not None:
        return corrected_t_test(differences, ratio)
    found = compare_values(first, second, n_resamples, LEVEL, seed)
    return found.n_queries, found.difference, found.low, found.high, found.p_value


def corrected_t_test(differences: FloatArray, ratio: float) -> Tested:
    """Test the mean difference over folds, whose training rows overlap.

    The variance of the mean of J differences is (1/J + ratio) times their sample variance, where
    `ratio` is that of test rows to training rows; t has J - 1 degrees of freedom. Folds that do not
    count are NaN.

    References
    ----------
    Nadeau & Bengio 2003, "Inference for the generalization error"; for repeated folds Bouckaert &
    Frank 2004.

    Examples
    --------
    >>> import numpy as np
    >>> n, mean, low, high, p = corrected_t_test(np.array([0.1, 0.2, 0.3]), 0.5)
    >>> n, round(mean, 3), round(low, 3), round(high, 3), round(p, 3)
    (3, 0.2, -0.193, 0.593, 0.16)
    """
    counted = differences[~np.isnan(differences)]
    if counted.size < 2 or not np.isfinite(counted).all():
        return _untested(counted)
    exponent = int(np.frexp(np.abs(counted).max())[1])
    scaled = np.ldexp(counted, -exponent)  # exact, and its squares are in range
    n, mean = counted.size, float(scaled.mean())
    error = float(np.sqrt((1.0 / n + ratio) * scaled.var(ddof=1)))
    reach = float(student.ppf((1.0 + LEVEL) / 2.0, n - 1)) * error
    p_value = float(2.0 * student.sf(abs(mean) / error, n - 1)) if error else float(mean == 0.0)
    with np.errstate(over="ignore"):
        ends = np.ldexp([mean, mean - reach, mean + reach], exponent).tolist()
    return n, *ends, p_value


def _untested(counted: FloatArray) -> Tested:
    with np.errstate(invalid="ignore"):
        mean = float(counted.mean()) if counted.size else float("nan")
    return counted.size, mean, float("nan"), float("nan"), float("nan")


def holm(p_values: FloatArray) -> FloatArray:
    """Return p-values adjusted by Holm's method: the chance of any false claim stays below each.

    The k-th smallest of n is multiplied by n - k + 1, and is at least its predecessor. NaN stays.

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    adjusted = np.full(p_values.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    factors = np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p_values[order] * factors))
    return adjusted


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


def table_of_queries(cells: Sequence[Cell], metrics: Sequence[str]) -> Columns:
    """Return one row per finished model, repeat and query; `qid` holds codes."""
    sizes = [len(cell.queries) for cell in cells]
    table = {
        name: np.repeat(values, sizes)
        for name, values in columns_of(cells, ("model", "repeat", "fold")).items()
    }
    table["qid"] = np.array([code for cell in cells for code in cell.queries], dtype=int)
    for metric in metrics:
        table[metric] = np.concatenate([np.empty(0), *(cell.by_query[metric] for cell in cells)])
    return table


def units_of(table: Columns, metric: str, unit: NDArray[Any]) -> dict[str, FloatArray]:
    """Return each model's mean value of each unit; NaN where there is none.

    `unit` is the code of the unit of each row of the table, from 0.
    """
    values = {}
    for model in dict.fromkeys(table["model"].tolist()):
        counted = (table["model"] == model) & ~np.isnan(table[metric])
        sums, counts = (
            np.bincount(unit[counted], weight, unit.max() + 1)
            for weight in (table[metric][counted], None)
        )
        with np.errstate(invalid="ignore"):
            values[model] = sums / counts
    return values


def summary_of(models: Sequence[str], cells: Sequence[Cell], metrics: Sequence[str]) -> Columns:
    """Return one row per model: means and deviations over its folds, and its reasons."""
    own = [[cell for cell in cells if cell.model == name] for name in models]
    done = [[cell for cell in each if not cell.reason] for each in own]
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
    reasons = [list(dict.fromkeys(cell.reason for cell in each if cell.reason)) for each in own]
    return {**table, "reason": np.array([_joined(each) for each in reasons])}


def _joined(reasons: Sequence[str]) -> str:
    """Return the first of different reasons, and how many more there are."""
    more = len(reasons) - 1
    others = f" (and {more} other reason{'s' * (more > 1)})" if more > 0 else ""
    return f"{reasons[0]}{others}" if reasons else ""


def _text_of(params: Mapping[str, Any]) -> str:
    """Return parameters as text, "alpha=0.1, C=1"."""
    shown = {name: f"{v:g}" if isinstance(v, float) else str(v) for name, v in params.items()}
    return ", ".join(f"{name}={value}" for name, value in shown.items())
