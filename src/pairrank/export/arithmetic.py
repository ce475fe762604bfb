"""Scores as a search engine or another program computes them, to the bit."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank.exceptions import PairrankError

_ROWS = 4096
"""Dense rows are converted in blocks of so many."""


class Arithmetic(NamedTuple):
    """The types in which a score is computed.

    The products of weights and features are added one by one, in the order of the features; each
    product and each sum is rounded.

    Attributes
    ----------
    features : type
        Of the features.
    sums : type
        Of the weights, the products and the sums.
    adds_offset : bool
        Whether the offset is added at the end.
    """

    features: type
    sums: type
    adds_offset: bool = False

    @property
    def precision(self) -> str:
        """The type in words."""
        return "float32" if np.float32 in (self.features, self.sums) else "float64"

    def scores(self, X: Any, weights: NDArray[np.float64], offset: float) -> NDArray[np.float64]:
        """Return the score of each row of a dense or CSR matrix; O(entries).

        Raises a PairrankError if a feature or a score is too large for its type.
        """
        result = np.zeros(X.shape[0], dtype=self.sums)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            weights = weights.astype(self.sums)
            if sparse.issparse(X):
                self._add_sparse(X.tocsc(), weights, result)
            else:
                for start in range(0, len(result), _ROWS):
                    block = slice(start, start + _ROWS)
                    self._add_dense(X[block], weights, result[block])
            if self.adds_offset:
                result += self.sums(offset)
        if not np.isfinite(result).all():
            row = int(np.argmin(np.isfinite(result)))
            raise PairrankError(
                f"the score of row {row} overflows {self.precision}, in which it is computed: "
                "scale the features down and fit again"
            )
        return result.astype(np.float64)

    def _add_dense(self, X: NDArray[Any], weights: NDArray[Any], result: NDArray[Any]) -> None:
        columns: NDArray[Any] = np.ascontiguousarray(X.T, dtype=self.features)
        for column, weight in zip(columns, weights, strict=True):
            result += column.astype(self.sums, copy=False) * weight

    def _add_sparse(self, X: Any, weights: NDArray[Any], result: NDArray[Any]) -> None:
        X.sum_duplicates()
        values = X.data.astype(self.features).astype(self.sums)
        for feature, weight in enumerate(weights):
            entries = slice(X.indptr[feature], X.indptr[feature + 1])
            result[X.indices[entries]] += values[entries] * weight


SINGLE = Arithmetic(np.float32, np.float32)
"""Search engines: all in float32."""
MIXED = Arithmetic(np.float32, np.float64)
"""RankLib: features in float32, all else in float64."""
DOUBLE = Arithmetic(np.float64, np.float64, adds_offset=True)
"""Databases and programs."""
