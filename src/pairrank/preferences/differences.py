"""Differences: all ordered pairs of each query, with the wanted differences of scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences._codes import no_pairs, query_codes

_FAR = 1e4
"""A mean is subtracted twice where its square is this many times the mean square of the result.

Rows count by their weights, so that rows of weight 0 have no influence."""


@dataclass(frozen=True, eq=False)
class Differences:
    r"""Every ordered pair of rows of one query, ties and both directions included.

    Build it with `Differences.build`. A pair (i, j) of query q weighs w_i w_j/(2 n_q), where n_q is
    the query's weight. For any residuals r (Airola et al. 2010, the identity after Eq. 3, whose
    square is missing in print; here with weighted means)

    .. math:: \sum_q \frac1{2 n_q} \sum_{i, j \in q} w_i w_j (r_i - r_j)^2
        = \sum_q \sum_{i \in q} w_i (r_i - \bar r_q)^2

    so no pair is ever listed.

    Attributes
    ----------
    target : float64 array of shape (n_rows,)
        The labels minus the label of their query's first row of positive weight. Only differences
        count, so a large common offset, or equal labels, cause no rounding errors.
    query_of : int32 array of shape (n_rows,)
        Each row's query.
    weight : float64 array of shape (n_rows,)
        Row weights; rows of weight 0 have no pair.
    query_weight : float64 array of shape (n_queries,)
        n_q, the total weight of each query's rows.

    Examples
    --------
    >>> differences = Differences.build(np.array([1.0, 3.0, 5.0]), np.array([7, 7, 8]))
    >>> differences.n_pairs, differences.centred(differences.target)
    (5, array([-1.,  1.,  0.]))
    """

    target: FloatArray
    query_of: NDArray[np.int32]
    weight: FloatArray
    query_weight: FloatArray

    @classmethod
    def build(
        cls,
        target: FloatArray,
        qid: NDArray[Any] | None = None,
        *,
        sample_weight: FloatArray | None = None,
    ) -> Differences:
        """Number the queries and sum their weights; O(n_rows) where equal qids are contiguous.

        `target` (n_rows,) holds finite numbers, `qid` any hashable identifiers in any order (None:
        one query), `sample_weight` non-negative row weights. A PairrankError is raised for
        text.
        """
        if target.dtype.kind not in "biuf":
            raise PairrankError(
                "y holds text, but differences of labels need numbers: give each label its value"
            )
        query_of = np.zeros(target.size, np.int32) if qid is None else query_codes(qid)[1]
        weight = np.ones(target.size) if sample_weight is None else sample_weight
        query_weight = np.bincount(query_of, weight).astype(np.float64)
        return cls(np.empty(0), query_of, weight, query_weight).with_target(target)

    @property
    def n_rows(self) -> int:
        """The number of rows, including those of weight 0."""
        return int(self.target.size)

    @property
    def n_pairs(self) -> int:
        """The number of ordered pairs among the rows of positive weight, m_q^2 per query."""
        return int((np.bincount(self.query_of[self.weight > 0]) ** 2).sum())

    @property
    def total_weight(self) -> float:
        """The weight of all pairs, n_q/2 per query."""
        return 0.5 * float(self.query_weight.sum())

    def wins_and_losses(self) -> tuple[FloatArray, FloatArray]:
        """Return the weight of the pairs in which each row is first, and is second, (n_rows,)."""
        weight = 0.5 * self.weight
        return weight, weight

    def with_target(self, target: FloatArray) -> Differences:
        """Return the same pairs with other labels, (n_rows,); O(n_rows)."""
        labels = np.asarray(target, dtype=np.float64)
        rows = np.flatnonzero(self.weight > 0)[::-1]
        first = np.zeros(self.query_weight.size, dtype=np.intp)
        first[self.query_of[rows]] = rows
        return replace(self, target=labels - labels[first][self.query_of])

    def require_pairs(self, targets: list[Any]) -> None:
        """Raise a NoPairsError unless the labels of some target, (n_rows,), differ in a query."""
        kept = self.weight > 0
        if any(self.with_target(target).target[kept].any() for target in targets):
            return
        n_queries = int(np.count_nonzero(self.query_weight))
        raise no_pairs(targets[0][kept].size, n_queries, np.unique(targets[0][kept]))

    def centred(self, values: FloatArray) -> FloatArray:
        """Return values minus the weighted mean of their query, as a new array; O(n_rows).

        Where means are far larger than the result, their rounding is subtracted as well; otherwise
        the offset of the features would multiply it.
        """
        from pairrank.compiled.layout import centre_by_query

        result, means = np.empty(values.size), np.empty(self.query_weight.size)
        rest = (self.query_of, self.weight, self.query_weight, means, result)
        taken_off, left = centre_by_query(values, *rest)
        if taken_off > _FAR * left:
            centre_by_query(result, *rest)
        return result

    def share(self) -> FloatArray:
        """Return each row's share of its query's weight, w_i/n_q; 0 in a query without weight."""
        by_row = self.query_weight[self.query_of]
        return np.divide(self.weight, by_row, out=np.zeros(self.n_rows), where=by_row > 0)
