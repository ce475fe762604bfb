"""Hessians of an objective: exact products, and approximate inverses for preconditioning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from pairrank._protocols import Curvature, FloatArray, LinearMap
from pairrank.design import Design
from pairrank.objective.kernel_design import KernelDesign

ENOUGH_ENTRIES = 1 << 18
"""The number of entries of X that suffices to estimate the size of its features."""
_CONSTANT = 1e-12
"""A feature whose spread is below this part of the largest spread is constant."""
_EVEN = 10.0
"""A diagonal is even where its 90th percentile is at most this many times its 10th."""


class HessianModel(Protocol):
    """An approximate Hessian, cheaper than that of every pair, or its inverse."""

    def hessian(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return a Hessian at `w`, penalty included; None: use that of every pair."""
        ...

    def inverse(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        """Return an approximate inverse for preconditioning, or None."""
        ...

    def refine(self) -> bool:
        """Use a better approximation of the exact Hessian; False if that is impossible."""
        ...


class ExactHessian:
    """penalty I + factor X' H X for the curvature H of a pair sum."""

    def __init__(
        self, design: Design | KernelDesign, curvature: Curvature, factor: float, penalty: float
    ) -> None:
        self.design, self.curvature, self.factor, self.penalty = design, curvature, factor, penalty

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`: two products with X and one with the curvature."""
        product = self.design.transposed(self.curvature.matvec(self.design.scores(v)))
        return self.penalty * v + self.factor * product


class GivenInverse:
    """A known exact or approximate inverse of a Hessian, given by its products."""

    def __init__(self, solve: Callable[[FloatArray], FloatArray]) -> None:
        self.matvec = solve


class InverseDiagonal:
    """The inverse of penalty + factor * spread per feature, raised for constant features."""

    def __init__(self, spread: FloatArray, factor: float, penalty: float) -> None:
        lifted = np.maximum(spread, _CONSTANT * spread.max(initial=0.0))
        self._diagonal = penalty + factor * lifted

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return v divided by the diagonal."""
        return v / self._diagonal


def spread_of_features(design: Design, degree: FloatArray) -> FloatArray:
    """Return each feature's sum of squares about its mean, rows weighted by `degree`."""
    total = degree.sum()
    if not total > 0:
        return np.zeros(design.n_features)
    with np.errstate(over="ignore", invalid="ignore"):
        return design.squares_transposed(degree) - design.transposed(degree) ** 2 / total


def is_even(spread: FloatArray) -> bool:
    """Whether all features but constant ones have about one size, or a size is not finite."""
    if not 0.0 < spread.max(initial=0.0) < np.inf:
        return True
    low, high = np.percentile(spread[spread >= _CONSTANT * spread.max()], (10, 90))
    return bool(high <= _EVEN * low)
