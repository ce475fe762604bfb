"""Gradient and Hessian of a loss over all pairs, scaled for the leaves of boosted trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pairrank._protocols import Evaluated, FloatArray, PairLoss, Squares, Tubes
from pairrank.exceptions import PairrankError
from pairrank.losses import Square
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels

FACTOR = 2.0
"""Of the Hessian's diagonal, for losses of preferences. The Hessian is the Laplacian of a graph of
pairs, so twice its diagonal is an upper bound of it (Gershgorin)."""
FLOOR = 0.01
"""The least diagonal, as a part of that at equal scores."""


class Derivatives:
    r"""Gradient and Hessian of a loss over preferences or differences, one number each per row.

    The Hessian is a diagonal matrix h. With D_i the second derivative of the loss by the score of
    row i, n_i the weight of the pairs of row i, and k the curvature of a pair at margin 0:

    - h_i = 2 max(D_i, k n_i/100) for a loss of preferences with k = phi''(0) > 0;
    - h_i = 2 k n_i with :math:`k = \varphi'(0)^2/(2 \varphi(0))` for a loss without curvature at 0,
      such as the hinge: the parabola that touches phi at 0 and has its minimum at cost 0;
    - h_i = k n_i for squares and tubes. k is 2 where they are squared, else 1/(2 c), c the mean
      cost of a difference at equal scores.

    Both are multiplied by the same number, so that the sum of h at equal scores is `row_weight`,
    the total weight of the rows of queries with a pair: h is 1 per row in the mean.
    """

    def __init__(
        self, loss: PairLoss, preferences: Levels | Differences, row_weight: float, eps: float
    ) -> None:
        self._sum = bind(loss, preferences, eps=eps)
        of_rows = _pairs_of_rows(preferences)
        if isinstance(preferences, Levels):
            curvature, self._by_newton = _curvature_at_zero(loss)
            factor = FACTOR
        else:
            curvature, self._by_newton = _curvature_of_differences(loss, self._sum, preferences)
            factor = 1.0
        self._scale = row_weight / (factor * curvature * float(of_rows.sum()))
        self._factor = factor
        self._at_zero = curvature * of_rows

    def at(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gradient and Hessian at finite scores, (n_rows,) each.

        Costs a pair sum, and for smooth losses its diagonal: O(m) for sigmoids and the exponential,
        O(m) or O(m log m) for hinges, O(pairs) for a loss of unknown family.
        """
        found: Evaluated = self._sum.at(scores)
        diagonal = self._at_zero
        if self._by_newton:
            diagonal = np.maximum(found.curvature().diagonal(), FLOOR * diagonal)
        return self._scale * found.gradient, self._scale * self._factor * diagonal


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
    return replace(levels, pair_scale=scale), float(of_queries[pairs > 0].sum())


def _row_weight_of_queries(levels: Levels) -> FloatArray:
    """Return the total row weight of each query, (n_queries,)."""
    if levels.weight is None:
        return np.diff(levels.query_start).astype(np.float64)
    return np.add.reduceat(levels.weight, levels.query_start[:-1])


def _pairs_of_rows(preferences: Levels | Differences) -> FloatArray:
    """Return the weight of the pairs of each row, (n_rows,)."""
    if isinstance(preferences, Levels):
        wins, losses = preferences.wins_and_losses()
        return wins + losses
    squares = bind(Square(), preferences).at(np.zeros(preferences.n_rows))
    return 0.5 * np.asarray(squares.curvature().diagonal())


def _curvature_at_zero(loss: PairLoss) -> tuple[float, bool]:
    """Return the curvature of a pair at margin 0, and whether it is the second derivative."""
    cost, slope = (float(loss.phi(np.zeros(1), order=order)[0]) for order in (0, 1))
    if not (slope < 0.0 and 0.0 < cost < np.inf):
        raise PairrankError(
            f"boosting starts from equal scores, where {loss!r} has the cost {cost:g} and the slope "
            f"{slope:g}: take a loss that falls there, such as a hinge with a margin above 0"
        )
    second = float(loss.phi(np.zeros(1), order=2)[0]) if loss.smooth else 0.0
    return (second, True) if second > 0.0 else (slope * slope / (2.0 * cost), False)


def _curvature_of_differences(
    loss: PairLoss, total: Any, preferences: Differences
) -> tuple[float, bool]:
    """Return an upper bound of the curvature of a difference, and False: the bound is used."""
    if isinstance(loss.family, Squares) or (isinstance(loss.family, Tubes) and loss.smooth):
        return 2.0, False
    cost = total.at(np.zeros(preferences.n_rows)).value / preferences.total_weight
    if not cost > 0.0:
        raise PairrankError(
            f"all differences of labels are within epsilon, so {loss!r} costs nothing: lower "
            "epsilon"
        )
    return 1.0 / (2.0 * cost), False
