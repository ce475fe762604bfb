"""Weights of features with intervals, and their effect on scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.plotting.subject import Subject
from pairrank.plotting.weights import Z

MOST_WEIGHTS = 25
_ROWS_A_BLOCK = 1 << 15


class Weight(NamedTuple):
    """A feature's weight; `low` and `high` are a 95 % interval, if it has a standard error.

    `effect` is the weight times the standard deviation of the feature over the rows, and
    `effect_error` its standard error, NaN if it has none. `other` is the weight of another model.
    """

    name: str
    weight: float
    effect: float
    effect_error: float
    low: float | None
    high: float | None
    other: float | None


def largest_weights(subject: Subject, other: Subject | None = None) -> list[Weight]:
    """Return the weights of largest effect; O(n_rows n_features), or O(non-zeros).

    Raises a PairrankError if a feature is too large for its standard deviation.
    """
    weights = subject.ranker.linear_coef()
    deviations = _standard_deviations(subject.X)
    effects = weights * deviations
    if not np.isfinite(effects).all():
        at = int(np.argmin(np.isfinite(effects)))
        raise PairrankError(
            f"the standard deviation of feature {subject.names[at]} overflows: scale it down"
        )
    errors = getattr(subject.ranker, "standard_errors_", None)
    errors = np.full(weights.size, np.nan) if errors is None else errors
    errors = np.where(np.isfinite(errors), errors, np.nan)
    beside = None
    if other is not None and other.is_linear and other.names == subject.names:
        beside = other.ranker.linear_coef()
    found = []
    for at in np.argsort(-np.abs(effects), kind="stable")[:MOST_WEIGHTS].tolist():
        weight, reach = float(weights[at]), float(Z * errors[at])
        has_error = not np.isnan(reach)
        found.append(
            Weight(
                subject.names[at],
                weight,
                float(effects[at]),
                float(errors[at] * deviations[at]),
                weight - reach if has_error else None,
                weight + reach if has_error else None,
                None if beside is None else float(beside[at]),
            )
        )
    return found


def _standard_deviations(X: Any) -> FloatArray:
    """Return the standard deviation of each feature, from blocks of rows; inf if it overflows."""
    scaler = StandardScaler(with_mean=False)
    with np.errstate(over="ignore", invalid="ignore"):
        for block in gen_batches(X.shape[0], _ROWS_A_BLOCK):
            scaler.partial_fit(X[block])
    return np.sqrt(scaler.var_)
