"""AllPairsObjective: the loss of all pairs as an objective of LightGBM and XGBoost."""

from __future__ import annotations

from collections import deque
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank._protocols import MarginCost, Squares, Tubes
from pairrank._validation import check_choice
from pairrank.boosting.rows import BoostedRows, Derivatives, OwnArrays, is_data, reduced, scores_of
from pairrank.exceptions import PairrankError
from pairrank.losses import as_loss
from pairrank.pair_sums import check_eps
from pairrank.preferences import Differences, Levels, OrderGraph, as_graph, refuse_roles

Float32Array = NDArray[np.float32]


_MOST_BOUND = 8
"""So many data sets may take turns, as folds do, without being bound again."""


class _Bound(NamedTuple):
    """Rows and the derivatives over their pairs."""

    rows: BoostedRows
    derivatives: Derivatives


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
    qid : array-like of shape (n_rows,), optional
        Query identifiers of the training rows, in any order.
    sample_weight, winner_weight, loser_weight : array-like of shape (n_rows,), optional
        Weights of the training rows, for data that cannot hold them, as in `RankSVM.fit`.
        `sample_weight` is needed where a DMatrix has queries, whose weights are one per query.
    eps : float, default 1e-6
        The error allowed in sums of logistic and probit losses, as in `RankNCG`.

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

    def __init__(
        self,
        loss: str | MarginCost = "logistic",
        *,
        graph: Literal["full", "chain"] | OrderGraph = "full",
        reduction: Literal["auto", "rows", "query"] = "auto",
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        winner_weight: ArrayLike | None = None,
        loser_weight: ArrayLike | None = None,
        eps: float = 1e-6,
    ) -> None:
        check_choice(reduction, "reduction", ("auto", "rows", "query"))
        check_eps(eps)
        self.loss, self.graph, self.reduction = as_loss(loss), as_graph(graph), reduction
        self.eps = eps
        self.own = OwnArrays.of(qid, sample_weight, winner_weight, loser_weight)
        if self._is_of_differences:
            refuse_roles(winner_weight, loser_weight)
            if self.graph != "full" or reduction != "auto":
                raise PairrankError(
                    f"{self.loss!r} compares every pair of a query, so it takes no graph and no "
                    "reduction: leave them out, or take a loss of preferences"
                )
        self._bound: deque[_Bound] = deque(maxlen=_MOST_BOUND)

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
        if is_data(y_pred):
            predictions, rows = y_true, BoostedRows.of_data(y_pred)
        else:
            predictions, rows = y_pred, BoostedRows.of_arrays(y_true, sample_weight, group)
        scores = scores_of(predictions, rows.labels.size)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._derivatives(rows).at(scores)
            single = tuple(each.astype(np.float32).reshape(np.shape(predictions)) for each in found)
        if not all(np.isfinite(each).all() for each in single):
            raise PairrankError(
                f"the gradient of {self.loss!r} overflows at these scores, which range from "
                f"{scores.min():g} to {scores.max():g}: lower the learning rate, or take a loss "
                "that grows more slowly, such as 'logistic'"
            )
        gradient, hessian = single
        return gradient, hessian

    def __repr__(self) -> str:
        given = [name for name, value in self.own._asdict().items() if value is not None]
        arrays = "".join(f", {name}=..." for name in given)
        kind = "" if self.reduction == "auto" else f", reduction={self.reduction!r}"
        graph = "" if self.graph == "full" else f", graph={self.graph!r}"
        return f"AllPairsObjective({self.loss!r}{graph}{kind}{arrays})"

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters: what is bound to data is computed anew where it is needed."""
        return {**self.__dict__, "_bound": deque(maxlen=_MOST_BOUND)}

    @property
    def _is_of_differences(self) -> bool:
        return isinstance(self.loss.family, Squares | Tubes)

    def _derivatives(self, rows: BoostedRows) -> Derivatives:
        """Return the derivatives over the pairs of these rows, bound once unless they changed."""
        for known in self._bound:
            if known.rows.same_as(rows):
                return known.derivatives
        self._bound.appendleft(_Bound(rows.copied(), self._bind(rows)))
        return self._bound[0].derivatives

    def _bind(self, rows: BoostedRows) -> Derivatives:
        given = self.own.with_rows(rows)
        qid, by_query = given.pop("qid"), rows.query_weight_by_row
        if not self._is_of_differences:
            levels = Levels.build(rows.labels, qid, graph=self.graph, **given)
            levels.require_pairs()
            return Derivatives(self.loss, *reduced(levels, self.reduction, by_query), self.eps)
        weight = given["sample_weight"]
        if by_query is not None:
            weight = by_query if weight is None else by_query * weight
        differences = Differences.build(rows.labels, qid, sample_weight=weight)
        differences.require_pairs([rows.labels])
        return Derivatives(self.loss, differences, float(differences.query_weight.sum()), self.eps)
