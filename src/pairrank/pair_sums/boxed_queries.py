"""Sigmoidal pair sums of large queries by box sums: every pair, in time linear in the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.pair_sums import box_plan
from pairrank.pair_sums.box_rule import check_eps
from pairrank.pair_sums.boxed_query import BoxedQuery
from pairrank.preferences import Levels


class BoxedQueries:
    """The pairs of some queries of `Levels` under a sigmoidal loss, by box sums.

    A row's gradient is a sum of S over the rows of other levels, less the weight of the lower ones:
    every large level has moments of its own, and those of the others are added up for it. Small
    levels in a row share a segment: there the sum runs over all rows, and a level's own pairs are
    taken away one by one; the value comes from phi(d) = e(d) - d/2 with e even, so that the pairs
    within levels can be taken away from those of all.

    Parameters
    ----------
    levels : Levels
    queries : int64 array
        The queries that are summed here.
    kind : int
        `LOGISTIC` or `PROBIT` of `pairrank.pair_sums.profiles`.
    eps : float
        Every row's gradient is within eps times the weight of its pairs, the value within eps times
        that of all pairs; the bound is `pairrank.pair_sums.box_rule.error_bound`. Rounding adds
        about 1e-14 of those weights, and 1e-14 of the value. Scores may be up to 1e305.

    Notes
    -----
    Costs O(rows) and, for each large level, a product of boxes that depends on the spread of the
    scores alone. Where scores lie so far apart that boxes outnumber rows, fewer levels have boxes
    of their own; at last, or where even parts would cancel, the levels are halved again and again
    instead: O(rows log levels). Memory: 4 bytes a row, and 24 more in queries with small levels;
    a curvature 20 bytes a row.
    """

    def __init__(self, levels: Levels, queries: NDArray[np.int64], kind: int, eps: float) -> None:
        self.levels, self.kind, self.eps = levels, kind, check_eps(eps)
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self.parts = [
            BoxedQuery(levels, query, kind, self.eps, float(scale[query]), box_plan.LARGE_LEVEL)
            for query in queries.tolist()
        ]

    def value_and_gradient(self, scores: FloatArray, gradient: FloatArray) -> float:
        """Add the gradient by the scores, (n_rows,), to `gradient`; return the value."""
        return sum(part.value_and_gradient(scores, gradient) for part in self.parts)

    def curvature(self, scores: FloatArray) -> BoxedCurvature:
        """Return the Hessian at these scores, kept as they are."""
        return BoxedCurvature(self, scores.copy())

    def influence(self, scores: FloatArray, vector: FloatArray, result: FloatArray) -> None:
        """Add, a row, the sum over the pairs (a over b) that it is in of phi'(d) (v_a - v_b)."""
        for part in self.parts:
            part.influence(scores, vector, result)


class BoxedCurvature:
    """The Hessian of `BoxedQueries` at fixed scores."""

    def __init__(self, owner: BoxedQueries, scores: FloatArray) -> None:
        self._bends = [part.bends(scores) for part in owner.parts]

    def product(self, v: FloatArray, result: FloatArray) -> None:
        """Add the Hessian times v, (n_rows,), to `result`."""
        for bends in self._bends:
            bends.product(v, result)

    def diagonal(self, result: FloatArray) -> None:
        """Add the Hessian's diagonal, (n_rows,), to `result`."""
        for bends in self._bends:
            bends.diagonal(result)
