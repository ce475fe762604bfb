"""Quadratic: the squares of a linear model by its sums of products, as an objective."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairrank._protocols import FloatArray, LinearMap, Point


@dataclass(eq=False)
class Quadratic:
    r"""factor \|A w - b\|^2 from A'A, A'b and b'b; penalty/2 \|w\|^2 is left to the solver.

    An evaluation costs O(n_features^2) and no product with A. `inverse` preconditions.
    """

    gram: FloatArray
    moment: FloatArray
    square: float
    penalty: float
    factor: float = 1.0
    inverse: LinearMap | None = None
    precision: float = 1e-12

    def __post_init__(self) -> None:
        self.n_features = int(self.moment.size)

    def at(self, w: FloatArray, scores: FloatArray | None = None) -> Point:
        """Return value, gradient and Hessian at `w`."""
        with np.errstate(over="ignore", invalid="ignore"):
            product = self.gram @ w
            off = product - self.moment
            value = float(w @ (off - self.moment)) + self.square
            gradient = 2.0 * self.factor * off
        return Point(
            value=self.factor * max(value, 0.0) if np.isfinite(value) else value,
            gradient=gradient,
            scores=w,
            hessian=lambda: self,
            preconditioner=lambda: self.inverse,
            rounding=lambda: np.zeros(self.n_features),
            score_norm=0.0,
        )

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian, penalty included, times `v`."""
        return np.asarray(self.penalty * v + 2.0 * self.factor * (self.gram @ v))

    def sharpen(self) -> bool:
        """Return False: the value has no error beyond rounding."""
        return False

    def refine(self) -> bool:
        """Return False: the Hessian is exact."""
        return False
