"""What all pair sums share: the check of scores, `at`, and products with many vectors."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod

import numpy as np

from pairrank._protocols import Evaluated, FloatArray, MultipleCurvature
from pairrank.exceptions import PairrankError


def as_scores(scores: FloatArray, n_rows: int) -> FloatArray:
    """Return scores as contiguous float64, (n_rows,); an error where there is not one a row."""
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if scores.shape != (n_rows,):
        raise PairrankError(f"scores have shape {scores.shape}, but there are {n_rows} rows")
    return scores


class BoundSum(ABC):
    """A pair sum made of a value with its gradient, and a curvature; exact unless it says more."""

    error = 0.0

    @abstractmethod
    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all pairs and its gradient, (n_rows,)."""

    @abstractmethod
    def curvature(self, scores: FloatArray) -> MultipleCurvature:
        """Return the (generalised) Hessian at these scores."""

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores."""
        value, gradient = self.value_and_gradient(scores)
        return Evaluated(value, gradient, self.error, functools.partial(self.curvature, scores))

    def sharpen(self) -> bool:
        """Return False: the sum is exact."""
        return False


class OneByOne(ABC):
    """A Hessian that many vectors are multiplied by one by one."""

    @abstractmethod
    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""

    def matmat(self, vectors: FloatArray) -> FloatArray:
        """Return the Hessian times each row of `vectors`, both (n_vectors, n_rows) in C order."""
        result = np.empty_like(vectors, dtype=np.float64)
        for at, vector in enumerate(vectors):
            result[at] = self.matvec(vector)
        return result
