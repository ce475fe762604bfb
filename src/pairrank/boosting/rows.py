"""Rows as LightGBM and XGBoost hold them, with arrays given to an objective or a metric."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import FloatArray
from pairrank._validation import check_aligned, check_labels, check_numbers, check_query_ids
from pairrank.exceptions import PairrankError
from pairrank.preferences._codes import query_codes


class BoostedRows(NamedTuple):
    """Checked rows and scores; arrays have one entry per row."""

    labels: FloatArray
    scores: FloatArray
    given: dict[str, Any]
    """`qid` and the weights of rows by name, where there are any."""
    query_weight: FloatArray | None
    """The weight of each row's query, as a DMatrix with queries has them."""


def own_arrays(qid: Any = None, **weights: Any) -> dict[str, Any]:
    """Return the arrays that are given, or raise a PairrankError where one is not an array of them.

    Queries become numbers.
    """
    found = {name: check_numbers(each, name) for name, each in weights.items() if each is not None}
    queries = check_query_ids(qid)
    return found if queries is None else {"qid": query_codes(queries)[1], **found}


def is_data(value: Any) -> bool:
    """Whether a value is a lightgbm.Dataset or an xgboost.DMatrix."""
    return hasattr(value, "get_label") and hasattr(value, "get_weight")


def is_matrix(data: Any) -> bool:
    """Whether data are a DMatrix."""
    return hasattr(data, "num_row")


def boosted_rows(
    own: dict[str, Any], y_true: Any, y_pred: Any, weight: Any, group: Any
) -> BoostedRows:
    """Return the rows of what a library passes, with `own` arrays of an objective or metric.

    The native training functions pass scores and data, estimators labels, scores and arrays. A
    DMatrix with queries has weights of queries, any other data weights of rows. Raises a
    PairrankError where an array is wrong, has not one entry per row, or stands in both sources.
    """
    name, query_weight = "y_true", None
    if is_data(y_pred):
        data, y_pred, name = y_pred, y_true, "the label"
        y_true, weight, group = _given(data.get_label()), data.get_weight(), data.get_group()
        if y_true is None:
            raise PairrankError("the data hold no labels: give them as label=")
        if is_matrix(data) and _given(group) is not None:
            query_weight, weight = _given(weight), None
    labels = check_labels(y_true, name=name)
    n_rows, weight, group = labels.size, _given(weight), _given(group)
    if group is not None and (
        group.ndim != 1 or group.dtype.kind not in "iu" or group.min() < 0 or group.sum() != n_rows
    ):
        raise PairrankError(
            "group must hold the number of rows of each query, whole numbers that add up to "
            f"{n_rows} rows"
        )
    if query_weight is not None:
        query_weight = np.repeat(query_weight, group).astype(np.float64)
    in_data = {"sample_weight": weight} if weight is not None else {}
    if group is not None:
        in_data["qid"] = np.repeat(np.arange(group.size), group)
    for name, value in own.items():
        if len(value) != n_rows:
            raise PairrankError(
                f"{name} has {len(value)} entries, but these data have {n_rows} rows. Arrays given "
                "to an objective or metric belong to one set of rows: make one for each set, or "
                "give queries and weights with the data, which folds and evaluation sets can cut: "
                "lightgbm.Dataset(group=, weight=), xgboost.DMatrix(qid=, weight=), or fit"
            )
        if name in in_data:
            raise PairrankError(
                f"{name} is given twice: with the data, and to the objective or metric; give it "
                "once"
            )
    given = check_aligned(own | in_data, n_rows)
    return BoostedRows(labels, _scores_of(y_pred, n_rows), given, query_weight)


def _given(values: Any) -> Any:
    """Return an array, or None where there is none; XGBoost says this by an empty array."""
    return None if values is None or not np.size(values) else np.asarray(values)


def _scores_of(predictions: Any, n_rows: int) -> FloatArray:
    """Return raw predictions as finite float64 scores, (n_rows,)."""
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
