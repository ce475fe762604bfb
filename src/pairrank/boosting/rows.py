"""Rows as LightGBM and XGBoost hold them, and the derivatives of their objectives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank._protocols import Evaluated, FloatArray, PairLoss, PairSum
from pairrank._validation import ALIGNED, check_labels, check_numbers, check_query_ids
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels

IntArray = NDArray[np.int64]

_IN_THE_DATA = {
    "qid": (
        "lightgbm.Dataset(group=...), LGBMRanker(objective=...).fit(group=...) with eval_group=, "
        "or xgboost.DMatrix(qid=...)"
    ),
    "sample_weight": "lightgbm.Dataset(weight=...), xgboost.DMatrix(weight=...) or fit(...)",
}


class BoostedRows(NamedTuple):
    """Rows as a library shows them, before they are checked."""

    labels: FloatArray
    weight: FloatArray | None = None
    """One weight per row; None: all weigh 1."""
    query_weight: FloatArray | None = None
    """One weight per query, as a DMatrix with queries has them."""
    group: IntArray | None = None
    """The sizes of the queries, whose rows are contiguous; None: no queries are known."""

    @classmethod
    def of_data(cls, data: Any) -> BoostedRows:
        """Return the rows of a lightgbm.Dataset or xgboost.DMatrix.

        A DMatrix with queries has weights of queries, any other data weights of rows.
        """
        group, weight = _given(data.get_group()), _given(data.get_weight())
        given = _given(data.get_label())
        if given is None:
            raise PairrankError("the data hold no labels: give them as label=")
        labels = check_labels(given, name="the label")
        if group is not None and hasattr(data, "num_row"):
            return cls(labels, query_weight=weight, group=group)
        return cls(labels, weight=weight, group=group)

    @classmethod
    def of_arrays(cls, y_true: ArrayLike, weight: Any, group: Any) -> BoostedRows:
        """Return the rows that a scikit-learn estimator passes."""
        return cls(check_labels(y_true, name="y_true"), _given(weight), group=_given(group))

    def same_as(self, other: BoostedRows) -> bool:
        """Whether all arrays are equal; O(n_rows)."""
        both: list[tuple[Any, Any]] = list(zip(self, other, strict=True))
        return all(
            (a is None) == (b is None) and (a is None or np.array_equal(a, b)) for a, b in both
        )

    def copied(self) -> BoostedRows:
        """Return the rows in arrays of their own."""
        copies: list[Any] = [None if each is None else np.array(each) for each in self]
        return BoostedRows(*copies)

    @property
    def qid(self) -> IntArray | None:
        """The number of each row's query, (n_rows,); None: no queries are known."""
        return None if self.group is None else self._by_row(np.arange(self.group.size))

    @property
    def query_weight_by_row(self) -> FloatArray | None:
        """The weight of each row's query, (n_rows,), or None."""
        if self.query_weight is None:
            return None
        return np.asarray(self._by_row(self.query_weight), dtype=np.float64)

    def _by_row(self, of_queries: Any) -> Any:
        """Return one value per query as one per row."""
        assert self.group is not None
        if self.group.ndim != 1 or self.group.dtype.kind not in "iu" or self.group.min() < 0:
            raise PairrankError("group must hold the number of rows of each query: whole numbers")
        if self.group.sum() != self.labels.size:
            raise PairrankError(
                f"the sizes of the groups add up to {self.group.sum()}, but there are "
                f"{self.labels.size} rows: give the number of rows of each query"
            )
        return np.repeat(of_queries, self.group)


class OwnArrays(NamedTuple):
    """Arrays with one entry per row that are given to an objective or metric, not to the data."""

    qid: Any = None
    sample_weight: Any = None
    winner_weight: Any = None
    loser_weight: Any = None

    @classmethod
    def of(cls, qid: Any, *weights: Any) -> OwnArrays:
        """Return the arrays, or raise a PairrankError where one holds no identifiers or numbers."""
        named = zip(cls._fields[1:], weights, strict=True)
        checked = (None if each is None else check_numbers(each, name) for name, each in named)
        return cls(check_query_ids(qid), *checked)

    def with_rows(self, rows: BoostedRows) -> dict[str, Any]:
        """Return checked qid and weights of the rows by name, from both sources.

        Weights of queries are left to the caller. Raises a PairrankError where an array has not one
        entry per row, or stands in both sources.
        """
        n_rows = rows.labels.size
        found = self._asdict()
        for name, value in found.items():
            if value is not None and len(value) != n_rows:
                raise _wrong_length(name, len(value), n_rows)
        for name, value in (("qid", rows.qid), ("sample_weight", rows.weight)):
            if value is None:
                continue
            if found[name] is not None:
                raise PairrankError(
                    f"{name} is given twice: with the data, and to the objective or metric; give "
                    "it once"
                )
            found[name] = value
        return {name: check(found[name], n_rows) for name, check in ALIGNED.items()}


def scores_of(predictions: Any, n_rows: int) -> FloatArray:
    """Return raw predictions as finite float64 scores, (n_rows,), or raise a PairrankError."""
    scores = np.asarray(predictions, dtype=np.float64)
    if scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores.shape != (n_rows,):
        raise PairrankError(
            f"the predictions have shape {scores.shape} for {n_rows} rows: pairs are compared by "
            "one score per row, so leave num_class and several targets out"
        )
    if not np.isfinite(scores).all():
        row = int(np.isfinite(scores).argmin())
        raise PairrankError(
            f"the prediction of row {row} is {scores[row]}: check init_score or base_margin, or "
            "lower the learning rate"
        )
    return scores


def is_data(value: Any) -> bool:
    """Whether a value is a lightgbm.Dataset or an xgboost.DMatrix."""
    return hasattr(value, "get_label") and hasattr(value, "get_weight")


def _given(values: Any) -> Any:
    """Return an array, or None where there is none; XGBoost says this by an empty array."""
    return None if values is None or not np.size(values) else np.asarray(values)


def _wrong_length(name: str, size: int, n_rows: int) -> PairrankError:
    known = _IN_THE_DATA.get(name)
    instead = (
        "make one for each set of rows"
        if known is None
        else f"give them with the data instead, which folds and evaluation sets can cut: {known}"
    )
    return PairrankError(
        f"{name} has {size} entries, but these data have {n_rows} rows. An array given to an "
        f"objective or metric belongs to one set of rows; {instead}"
    )


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
