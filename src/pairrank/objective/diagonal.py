"""The Hessian's diagonal, roughly: what features of different sizes are preconditioned with."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.design import Design

_CONSTANT = 1e-12
"""A feature that spreads by less than this part of the widest is rounding, hence constant."""
_EVEN = 10.0
"""A diagonal whose 90th percentile is at most so many times its 10th does not precondition."""


class InverseDiagonal:
    """The inverse of a diagonal matrix."""

    def __init__(self, diagonal: FloatArray) -> None:
        self._diagonal = diagonal

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return v divided by the diagonal."""
        return v / self._diagonal


def spread_of_features(design: Design, degree: FloatArray) -> FloatArray:
    """Return each feature's sum of squares about its mean, rows weighing `degree`."""
    total = degree.sum()
    if not total > 0:
        return np.zeros(design.n_features)
    with np.errstate(over="ignore", invalid="ignore"):
        return design.squares_transposed(degree) - design.transposed(degree) ** 2 / total


def is_even(spread: FloatArray) -> bool:
    """Whether features are of one size, constant ones aside, or none has a size that is a number.

    Then a diagonal would save nothing.
    """
    if not 0.0 < spread.max(initial=0.0) < np.inf:
        return True
    low, high = np.percentile(spread[spread >= _CONSTANT * spread.max()], (10, 90))
    return bool(high <= _EVEN * low)


def inverse_diagonal(spread: FloatArray, penalty: float) -> InverseDiagonal:
    """Return the inverse of the penalty and the features' spreads; constant ones get a little."""
    return InverseDiagonal(penalty + np.maximum(spread, _CONSTANT * spread.max(initial=0.0)))
