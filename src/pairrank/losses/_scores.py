"""What every pair sum does with scores: check their shape, and take many vectors one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError


def as_scores(scores: FloatArray, n_rows: int) -> FloatArray:
    """Return scores as contiguous float64, (n_rows,); an error where there is not one a row."""
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if scores.shape != (n_rows,):
        raise PairrankError(f"scores have shape {scores.shape}, but there are {n_rows} rows")
    return scores


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
