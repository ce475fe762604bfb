"""The tables of a comparison, and paired tests over queries or folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from pairrank._protocols import Array, FloatArray
from pairrank.comparison.cells import SECONDS, Columns
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


Units = dict[str, dict[str, FloatArray]]
"""{metric: {model: its value of each unit, NaN where a unit does not count}}."""


def differences_of(
    units: Units, baseline: str | None, ratio: float | None, n_resamples: int, seed: int
) -> list[Difference]:
    """Return the differences of all pairs of models, or of all models from a baseline.

    With a `ratio` of test rows to training rows the units are folds, else they are queries.
    Infinite values are not tested.
    """
    found: list[Difference] = []
    for metric, values in units.items():
        pairs = list(combinations(values, 2))
        if baseline is not None:
            pairs = [(name, baseline) for name in values if name != baseline in values]
        tested = [
            _tested(values[name], values[other], ratio, n_resamples, seed) for name, other in pairs
        ]
        adjusted = holm(np.array([each[-1] for each in tested])).tolist()
        found += [
            Difference._make((metric, *pair, *each, p))
            for pair, each, p in zip(pairs, tested, adjusted, strict=True)
        ]
    return found


Tested = tuple[Any, ...]
"""The number of units, the mean difference, the ends of its interval, the p-value."""


def _tested(
    first: FloatArray, second: FloatArray, ratio: float | None, n_resamples: int, seed: int
) -> Tested:
    with np.errstate(invalid="ignore"):
        differences = (first - second)[~(np.isnan(first) | np.isnan(second))]
        mean = differences.mean() if differences.size else np.nan
    if differences.size < 2 or not np.isfinite(differences).all():
        return differences.size, mean, np.nan, np.nan, np.nan
    if ratio is not None:
        return corrected_t_test(differences, ratio)
    found = compare_values(first, second, n_resamples, LEVEL, seed)
    return found.n_queries, found.difference, found.low, found.high, found.p_value


def corrected_t_test(differences: FloatArray, ratio: float) -> Tested:
    """Test the mean difference over folds, whose training rows overlap.

    The variance of the mean of J differences is (1/J + ratio) times their sample variance, where
    `ratio` is that of test rows to training rows; t has J - 1 degrees of freedom.

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
    n, mean = differences.size, float(differences.mean())
    error = float(np.sqrt((1.0 / n + ratio) * differences.var(ddof=1)))
    half_width = float(student.ppf((1.0 + LEVEL) / 2.0, n - 1)) * error
    p_value = float(2.0 * student.sf(abs(mean) / error, n - 1)) if error else float(mean == 0.0)
    return n, mean, mean - half_width, mean + half_width, p_value


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


def columns_of(records: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None) -> Columns:
    """Return records as columns; without a record the names say which."""
    names = list(records[0]) if names is None else names
    return {name: np.array([each[name] for each in records]) for name in names}


def units_of(table: Columns, metric: str, unit: Array) -> dict[str, FloatArray]:
    """Return each model's mean value of each unit; NaN where there is none.

    `unit` is the code of the unit of each row of the table, from 0.
    """
    values = {}
    for model in dict.fromkeys(table["model"].tolist()):
        counted = (table["model"] == model) & ~np.isnan(table[metric])
        sums = np.bincount(unit[counted], table[metric][counted], unit.max() + 1)
        with np.errstate(invalid="ignore"):
            values[model] = sums / np.bincount(unit[counted], minlength=unit.max() + 1)
    return values


def summary_of(models: Sequence[str], scores: Columns, metrics: Sequence[str]) -> Columns:
    """Return one row per model: means and deviations over its folds, and its reasons."""
    rows = []
    for name in models:
        own = {column: values[scores["model"] == name] for column, values in scores.items()}
        done = {column: values[own["reason"] == ""] for column, values in own.items()}
        n_folds = done["model"].size
        row: dict[str, Any] = {"model": name, "n_folds": n_folds}
        for metric in metrics:
            values = done[metric][~np.isnan(done[metric])]
            with np.errstate(invalid="ignore", over="ignore"):
                row[metric] = values.mean() if values.size else np.nan
                row[f"{metric}_sd"] = values.std(ddof=1) if values.size > 1 else np.nan
        row |= {column: np.median(done[column]) if n_folds else np.nan for column in SECONDS}
        row["params"] = Counter(done["params"].tolist()).most_common(1)[0][0] if n_folds else ""
        reasons = dict.fromkeys(own["reason"][own["reason"] != ""].tolist())
        rows.append({**row, "reason": "; ".join(reasons)})
    return columns_of(rows)
