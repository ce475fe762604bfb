"""Gradient and Hessian of a loss over all pairs, scaled for the leaves of boosted trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pairrank._protocols import Evaluated, FloatArray, PairLoss, PairSum
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels

FLOOR = 0.01
"""The least diagonal, as a part of that at equal scores."""


class Derivatives:
    r"""Gradient and Hessian of a loss over preferences or differences, one number each per row.

    The Hessian is a diagonal matrix h. With D_i the second derivative of the loss by the score of
    row i, n_i the weight of the pairs of row i, and k the curvature of a pair at margin 0:

    - h_i = max(D_i, k n_i/100) for a loss of preferences with k = phi''(0) > 0;
    - h_i = k n_i with :math:`k = \varphi'(0)^2/(2 \varphi(0))` for a loss of preferences without
      curvature at 0, such as the hinge: the parabola with this curvature that touches phi at 0 has
      its minimum at cost 0 and, for a hinge, is nowhere below it;
    - h_i = k n_i for squares and tubes: k = 2 if they are squared, else k = 1/(2 c) with the mean
      cost c of a difference at equal scores.

    So the diagonal's factor is 1, as in a log loss of rows: the first steps are as long. The full
    Hessian is at most twice its diagonal, because it is the Laplacian of the graph of pairs: a step
    with a learning rate up to 1 does not raise the quadratic model.

    Gradient and Hessian are multiplied by the same number, so that the sum of h at equal scores is
    `row_weight`, the total weight of the rows of queries with a pair: h is 1 per row in the mean.
    """

    def __init__(
        self, loss: PairLoss, preferences: Levels | Differences, row_weight: float, eps: float
    ) -> None:
        self._sum = bind(loss, preferences, eps=eps)
        if isinstance(preferences, Levels):
            curvature, self._by_newton = _curvature_at_zero(loss)
        else:
            curvature, self._by_newton = _bound_of_differences(loss, self._sum, preferences), False
        wins, losses = preferences.wins_and_losses()
        self._at_zero = curvature * (wins + losses)
        self._scale = row_weight / float(self._at_zero.sum())

    def at(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradient and Hessian at finite scores, (n_rows,) each.

        Costs a pair sum, and for smooth losses its diagonal: O(m) for sigmoids and the exponential,
        O(m) or O(m log m) for hinges, O(pairs) for a loss of unknown family.
        """
        found: Evaluated = self._sum.at(scores)
        diagonal = self._at_zero
        if self._by_newton:
            diagonal = np.maximum(found.curvature().diagonal(), FLOOR * diagonal)
        return self._scale * found.gradient, self._scale * diagonal


def reduced(
    levels: Levels, reduction: str, query_weight: FloatArray | None
) -> tuple[Levels, float]:
    """Return preferences with the pair scale of a reduction, and the row weight that they share.

    `reduction` is that of `AllPairsObjective`; `query_weight` (n_rows,) holds the weight of each
    row's query. The row weight is that of the queries with a pair.
    """
    of_queries, pairs = _row_weight_of_queries(levels), levels.query_pair_weight
    if reduction == "auto":
        scale = np.divide(of_queries, pairs, out=np.zeros(pairs.size), where=pairs > 0)
    else:
        scale = np.broadcast_to(levels.reduced(reduction).pair_scale, pairs.shape)
    if query_weight is not None:
        factor = query_weight[levels.row_of[levels.query_start[:-1]]]
        scale, of_queries = scale * factor, of_queries * factor
    row_weight = float(of_queries[pairs > 0].sum())
    if not row_weight > 0.0:
        raise NoPairsError(
            "every query with a pair has weight 0: give some query with rows of different labels a "
            "weight above 0"
        )
    return replace(levels, pair_scale=scale), row_weight


def _row_weight_of_queries(levels: Levels) -> FloatArray:
    """Return the total row weight of each query, (n_queries,)."""
    if levels.weight is None:
        return np.diff(levels.query_start).astype(np.float64)
    return np.add.reduceat(levels.weight, levels.query_start[:-1])


def _curvature_at_zero(loss: PairLoss) -> tuple[float, bool]:
    """Return the curvature of a pair at margin 0, and whether it is the second derivative."""
    cost, slope = (float(loss.phi(np.zeros(1), order=order)[0]) for order in (0, 1))
    if not (slope < 0.0 and 0.0 < cost < np.inf):
        raise PairrankError(
            f"boosting starts from equal scores, where {loss!r} has the cost {cost:g} and the "
            f"slope {slope:g}: take a loss that falls there, such as a hinge with a margin above 0"
        )
    second = float(loss.phi(np.zeros(1), order=2)[0]) if loss.smooth else 0.0
    return (second, True) if second > 0.0 else (slope * slope / (2.0 * cost), False)


def _bound_of_differences(loss: PairLoss, total: PairSum, differences: Differences) -> float:
    """Return an upper bound of the curvature of a difference, or a usual one if it has a kink."""
    if loss.smooth:
        return 2.0
    cost = total.at(np.zeros(differences.n_rows)).value / differences.total_weight
    if not cost > 0.0:
        raise PairrankError(
            f"all differences of labels are within epsilon, so {loss!r} costs nothing: lower "
            "epsilon"
        )
    return 1.0 / (2.0 * cost)
