"""RankingMetric: a metric of pairrank as an evaluation metric of LightGBM and XGBoost."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pairrank.boosting.rows import boosted_rows, is_data, is_matrix, own_arrays
from pairrank.exceptions import NoPairsError
from pairrank.metrics._names import metric_named

_MAXIMISED = ("auc", "pre", "map", "ndcg")
"""How names begin that XGBoost's early stopping maximises; it minimises all others."""
_ABSENT: Any = object()


class RankingMetric:
    """A metric of pairrank as an evaluation metric of LightGBM and XGBoost.

    One object serves ``lightgbm.train(feval=metric)``, ``LGBMRanker.fit(eval_metric=metric)``,
    ``xgboost.train(custom_metric=metric)`` and ``XGBRegressor(eval_metric=metric)``. Queries come
    from the data of each evaluation set, as for `AllPairsObjective`, else from `qid`.

    XGBoost's early stopping maximises metrics whose names begin with auc, map, ndcg or pre, and
    minimises all others. So it gets other metrics where greater is better negated, under the name
    ``neg_<name>``. In XGBoost's names "," stands for ":".

    Parameters
    ----------
    name : str
        A name of `pairrank.metrics.evaluate`, such as "ndcg@10", "pairwise_accuracy" or "auc".
    qid, sample_weight, winner_weight, loser_weight : array-like of shape (n_rows,), optional
        Query identifiers and weights of the evaluated rows, for data that cannot hold them. They
        serve one evaluation set.
    **options : Any
        Further options of the metric, such as ``graph=OrderGraph(...)``.

    Raises
    ------
    PairrankError
        If there is no such metric or option. In training: if an array has not one entry per row, or
        the metric has no value on an evaluation set.

    Notes
    -----
    Metrics of pairs weigh a pair by the product of its rows' weights, as in training. Metrics of
    ranked lists ignore weights of rows. If a DMatrix has queries, its weights of queries count in
    both. ``XGBRanker`` calls a metric query by query, so it must have a value on each.

    Examples
    --------
    >>> from pairrank.boosting import RankingMetric
    >>> metric = RankingMetric("pairwise_accuracy")
    >>> metric([0, 1, 1], [0.5, 0.2, 0.9])  # as XGBRegressor calls it
    -0.5
    >>> metric([0, 1, 1], [0.5, 0.2, 0.9], None, None)  # as LGBMRanker calls it
    ('pairwise_accuracy', 0.5, True)
    """

    def __init__(
        self,
        name: str,
        *,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        winner_weight: ArrayLike | None = None,
        loser_weight: ArrayLike | None = None,
        **options: Any,
    ) -> None:
        self.name, self.metric = str(name), metric_named(name)
        for option, value in options.items():
            self.metric = self.metric.with_option(name, option, value, option)
        self.own = own_arrays(
            qid=qid,
            sample_weight=sample_weight,
            winner_weight=winner_weight,
            loser_weight=loser_weight,
        )
        inverted = self.metric.greater_is_better and not self.name.startswith(_MAXIMISED)
        self.sign = -1.0 if inverted else 1.0
        self.__name__ = ("neg_" if inverted else "") + self.name.replace(":", ",")

    def __call__(
        self,
        y_true: Any,
        y_pred: Any,
        sample_weight: ArrayLike | None = None,
        group: ArrayLike | None = _ABSENT,
    ) -> Any:
        """Return the metric in the form that the calling library expects.

        Parameters
        ----------
        y_true : array-like of shape (n_rows,)
            Labels; where the second argument is a Dataset or DMatrix, the scores.
        y_pred : array-like of shape (n_rows,), or Dataset or DMatrix
            Scores; or the data of the native training functions.
        sample_weight : array-like of shape (n_rows,), optional
            Row weights.
        group : array-like of shape (n_queries,), optional
            The number of rows of each query, or None, as LightGBM's estimators pass it.

        Returns
        -------
        tuple or float
            (name, value, greater_is_better) for LightGBM, whose estimators pass four arguments;
            (name, value) for `xgboost.train`; the value for XGBoost's estimators.
        """
        value = self._value(y_true, y_pred, sample_weight, None if group is _ABSENT else group)
        if is_data(y_pred) and is_matrix(y_pred):
            return self.__name__, self.sign * value
        if group is _ABSENT and not is_data(y_pred):
            return self.sign * value
        return self.name, value, self.metric.greater_is_better

    def __repr__(self) -> str:
        return f"RankingMetric({self.name!r}{''.join(f', {name}=...' for name in self.own)})"

    def _value(self, y_true: Any, y_pred: Any, sample_weight: Any, group: Any) -> float:
        rows, metric = boosted_rows(self.own, y_true, y_pred, sample_weight, group), self.metric
        taken = metric.rows_of(rows.given)
        if rows.query_weight is not None and metric.judges in ("lists", "gains"):
            taken["sample_weight"] = rows.query_weight
        elif rows.query_weight is not None:  # a pair weighs the product of its rows' weights
            each, weight = np.sqrt(rows.query_weight), rows.given.get("sample_weight")
            taken["sample_weight"] = each if weight is None else each * weight
        value = float(metric.function(rows.labels, rows.scores, **taken, **metric.options))
        if np.isnan(value):
            raise NoPairsError(
                f"the metric {self.name!r} has no value on an evaluation set of {rows.scores.size} "
                "rows: add queries with rows of different labels, or choose another metric"
            )
        return value
