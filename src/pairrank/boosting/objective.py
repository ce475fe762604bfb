"""AllPairsObjective: the loss of all pairs as an objective of LightGBM and XGBoost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Unpack

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank._protocols import FloatArray, MarginCost, PairLoss, PairSum, Squares, Tubes
from pairrank._validation import check_choice
from pairrank.boosting.rows import BoostedRows, boosted_rows, is_data, own_arrays
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.losses import as_loss
from pairrank.metrics._inputs import RowArguments, rows_given, takes_rows
from pairrank.pair_sums import bind, check_eps
from pairrank.preferences import Differences, Levels, OrderGraph, as_graph, refuse_roles
from pairrank.preferences.roles import ROLES

Float32Array = NDArray[np.float32]

FLOOR = 0.01
"""The least diagonal, as a part of that at equal scores."""
_MOST_BOUND = 8
"""So many data sets may take turns, as folds do, without being bound again."""


class AllPairsObjective:
    r"""A loss summed over all pairs, as an objective of LightGBM and XGBoost.

    One object serves ``lightgbm.train({"objective": objective, ...})``,
    ``LGBMRanker(objective=objective)``, ``LGBMRegressor(objective=objective)``,
    ``xgboost.train(..., obj=objective)`` and ``XGBRegressor(objective=objective)``. There is no
    limit on the rows of a query, and labels are any numbers: higher is better.

    Queries come from the data: ``Dataset(group=...)``, ``LGBMRanker.fit(group=...)``,
    ``DMatrix(qid=...)``. Estimators without queries take them from `qid`. Without both, all rows
    are one query.

    Parameters
    ----------
    loss : str or object, default "logistic"
        The loss of a pair: a name in `pairrank.losses.LOSSES`, or a loss as `PairwiseRanker` takes
        it. ``Square()`` and ``Tube()`` of `pairrank.losses` compare differences of scores with
        those of labels.
    graph : "full", "chain" or OrderGraph, default "full"
        Which labels are preferred to which. Both libraries keep labels in float32.
    reduction : "auto", "rows" or "query", default "auto"
        "auto": a query counts by its rows, so that the Hessian is 1 per row in each query. "rows":
        every pair counts alike. "query": every query counts alike.
    eps : float, default 1e-6
        The error allowed in sums of logistic and probit losses, as in `RankNCG`.
    qid : array-like of shape (n_rows,), optional
        Query identifiers of the training rows, in any order.
    sample_weight, winner_weight, loser_weight : array-like of shape (n_rows,), optional
        Weights of the training rows, for data that cannot hold them, as in `RankSVM.fit`.
        `sample_weight` is needed where a DMatrix has queries, whose weights are one per query.

    Raises
    ------
    PairrankError
        If a parameter is invalid. In training: if there is no pair, if an array has not one entry
        per row, or if predictions are not finite.

    Notes
    -----
    A round costs a pair sum and the diagonal of its Hessian; `Derivatives` has the cost and the
    formula. The diagonal's factor is 1, its floor a hundredth of its value at equal scores; losses
    without curvature there, such as the hinge, have a constant Hessian.

    At equal scores the Hessian is 1 per row in the mean, so ``min_child_weight``,
    ``min_sum_hessian_in_leaf`` and ``reg_lambda`` are in units of rows. A pair weighs the product
    of its rows' weights, and row weight 2 equals the row twice. If a DMatrix has queries, XGBoost
    takes one weight per query: weight 2 equals the query twice.

    Folds of ``lightgbm.cv``, ``xgboost.cv`` and searches train on some of the rows, so the queries
    must come from the data, not from `qid`. ``lightgbm.cv`` splits queries unless ``folds=`` keeps
    them whole, as ``GroupKFold()`` does.

    Examples
    --------
    >>> from pairrank.boosting import AllPairsObjective
    >>> gradient, hessian = AllPairsObjective()([0, 1, 1], [0.0, 0.0, 0.0])
    >>> gradient.tolist(), hessian.tolist()
    ([3.0, -1.5, -1.5], [1.5, 0.75, 0.75])
    """

    @takes_rows("")
    def __init__(
        self,
        loss: str | MarginCost = "logistic",
        *,
        graph: Literal["full", "chain"] | OrderGraph = "full",
        reduction: Literal["auto", "rows", "query"] = "auto",
        eps: float = 1e-6,
        **rows: Unpack[RowArguments],
    ) -> None:
        check_choice(reduction, "reduction", ("auto", "rows", "query"))
        check_eps(eps)
        self.loss, self.graph, self.reduction = as_loss(loss), as_graph(graph), reduction
        self.eps = eps
        self.own = own_arrays(**rows_given(rows, "")[0])
        if self._is_of_differences:
            winner_weight, loser_weight = map(self.own.get, ROLES)
            refuse_roles(winner_weight, loser_weight)
            if self.graph != "full" or reduction != "auto":
                raise PairrankError(
                    f"{self.loss!r} compares every pair of a query, so it takes no graph and no "
                    "reduction: leave them out, or take a loss of preferences"
                )
        self._bound: dict[str, Derivatives] = {}

    def __call__(
        self,
        y_true: Any,
        y_pred: Any,
        sample_weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
    ) -> tuple[Float32Array, Float32Array]:
        """Return gradient and Hessian by the scores, as float32 in the shape of the scores.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
            Labels; where the second argument is a Dataset or DMatrix, the scores.
        y_pred : array-like of shape (n_rows,) or (n_rows, 1), or Dataset or DMatrix
            Scores; or the data of the native training functions.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.
        group : array-like of shape (n_queries,), optional
            The number of rows of each query.

        Returns
        -------
        gradient, hessian : ndarray
        """
        rows = boosted_rows(self.own, y_true, y_pred, sample_weight, group)
        scores, shape = rows.scores, np.shape(y_true if is_data(y_pred) else y_pred)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._derivatives(rows).at(scores)
            single = tuple(each.astype(np.float32).reshape(shape) for each in found)
        if not all(np.isfinite(each).all() for each in single):
            raise PairrankError(
                f"the gradient of {self.loss!r} overflows at these scores, which range from "
                f"{scores.min():g} to {scores.max():g}: lower the learning rate, or take a loss "
                "that grows more slowly, such as 'logistic'"
            )
        gradient, hessian = single
        return gradient, hessian

    def __repr__(self) -> str:
        return f"AllPairsObjective({self.loss!r}{''.join(f', {name}=...' for name in self.own)})"

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters: what is bound to data is computed anew where it is needed."""
        return {**self.__dict__, "_bound": {}}

    @property
    def _is_of_differences(self) -> bool:
        return isinstance(self.loss.family, Squares | Tubes)

    def _derivatives(self, rows: BoostedRows) -> Derivatives:
        """Return the derivatives over the pairs of these rows, bound once unless they changed."""
        key = joblib.hash((rows.labels, rows.given, rows.query_weight))
        if key not in self._bound:
            if len(self._bound) == _MOST_BOUND:
                del self._bound[next(iter(self._bound))]
            self._bound[key] = self._bind(rows)
        return self._bound[key]

    def _bind(self, rows: BoostedRows) -> Derivatives:
        given, by_query = dict(rows.given), rows.query_weight
        qid = given.pop("qid", None)
        if not self._is_of_differences:
            levels = Levels.build(rows.labels, qid, graph=self.graph, **given)
            levels.require_pairs()
            return Derivatives(self.loss, *_reduced(levels, self.reduction, by_query), self.eps)
        weight = given.get("sample_weight")
        if by_query is not None:
            weight = by_query if weight is None else by_query * weight
        differences = Differences.build(rows.labels, qid, sample_weight=weight)
        differences.require_pairs([rows.labels])
        return Derivatives(self.loss, differences, float(differences.query_weight.sum()), self.eps)


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

    The full Hessian is at most twice its diagonal, because it is the Laplacian of the graph of
    pairs: a step with a learning rate up to 1 does not raise the quadratic model. Gradient and
    Hessian are multiplied by the same number, so that the sum of h at equal scores is
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
        """Return gradient and Hessian at finite scores, (n_rows,) each."""
        found = self._sum.at(scores)
        diagonal = self._at_zero
        if self._by_newton:
            diagonal = np.maximum(found.curvature().diagonal(), FLOOR * diagonal)
        return self._scale * found.gradient, self._scale * diagonal


def _reduced(
    levels: Levels, reduction: str, query_weight: FloatArray | None
) -> tuple[Levels, float]:
    """Return preferences with the pair scale of a reduction, and the row weight of their queries.

    `query_weight` (n_rows,) holds the weight of each row's query.
    """
    weight = np.ones(levels.row_of.size) if levels.weight is None else levels.weight
    of_queries = np.add.reduceat(weight, levels.query_start[:-1])
    pairs = levels.query_pair_weight
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
