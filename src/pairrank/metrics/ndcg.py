"""Normalised discounted cumulative gain, at one position and averaged over all."""

from __future__ import annotations

from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank._docstrings import entries
from pairrank._protocols import FloatArray
from pairrank._validation import check_choice, check_number
from pairrank.exceptions import PairrankError
from pairrank.metrics._inputs import (
    ByQuery,
    Judged,
    RowArguments,
    by_query,
    check_rows,
    mean_over_queries,
    metric,
)
from pairrank.preferences.roles import OF_GAINS

Discount = Literal["standard", "letor"]

_DESCRIBED = entries("""
y_true : array-like of shape (n_rows,)
    Labels, not negative; 0 is irrelevant. They need not be whole numbers.
sample_weight : array-like of shape (n_rows,), optional
    Weights, constant in each query: the query's weight in the mean.
discount : {"standard", "letor"}
    d(i) = 1/log2(i + 1), or 1/log2(max(2, i)) as in LETOR and MSLR.
empty : float or "skip"
    The value of a query without a positive label, or "skip" to leave it out.
""")
_DESCRIBED["Returns"] = """float or dict
    A number in [0, 1]; NaN, with a NoPairsWarning, where every query is left out."""
_DESCRIBED["Raises"] = """PairrankError
    If lengths differ, a value is not finite, a label is negative, weights vary within a query, or
    an option is out of range."""


class NDCGArguments(RowArguments, total=False):
    """The arguments of both metrics, beside the discount, whose default differs."""

    empty: float | Literal["skip"]
    per_query: bool


def _mean_of_queries(
    y_true: ArrayLike,
    scores: ArrayLike,
    k: int | None,
    every_k: bool,
    *,
    discount: Discount,
    empty: float | Literal["skip"] = 0.0,
    per_query: bool = False,
    **rows: Unpack[RowArguments],
) -> Any:
    """Return NDCG@k, or with `every_k` its mean over all k, averaged over the queries."""
    check_choice(discount, "discount", ("standard", "letor"))
    if empty != "skip":
        check_number(empty, "empty", inclusive=True)
    judged = check_rows(y_true, scores, rows, no_roles=OF_GAINS)
    _require_relevance(judged.labels)
    queries = by_query(judged)
    values = _ndcg_of_queries(judged, queries, k, discount, every_k)
    counted = np.ones(values.size, dtype=bool)
    if empty == "skip":
        counted = ~np.isnan(values)
    else:
        values[np.isnan(values)] = empty
    return mean_over_queries(
        queries.identifiers, values, counted, per_query=per_query,
        weights=_query_weights(judged, queries), nothing="no query has a row of positive label",
    )  # fmt: skip


@metric(_DESCRIBED, like=_mean_of_queries)
def ndcg_score(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = None,
    discount: Discount = "standard",
    **how: Unpack[NDCGArguments],
) -> Any:
    """Return NDCG@k averaged over the queries.

    A query's value is DCG@k of its rows in the order of the scores, divided by DCG@k of the best
    order. DCG@k is the sum over positions i <= k of (2^y - 1) d(i). Tied scores get the expected
    value over their orders. Gains are scaled by the query's largest gain, so that labels in the
    thousands do not overflow.

    Parameters
    ----------
    k : int, optional
        The number of positions that count; None, or more than a query has: all.

    Notes
    -----
    Costs O(m log m) for m rows.

    References
    ----------
    Lee & Lin 2014, Eq. 39; McSherry & Najork 2008 for tied scores.

    Examples
    --------
    >>> round(ndcg_score([3, 2, 0, 1], [0.9, 0.2, 0.8, 0.1]), 4)
    0.9508
    """
    if k is not None:
        check_number(k, "k", integer=True)
    return _mean_of_queries(y_true, scores, k, False, discount=discount, **how)


@metric(_DESCRIBED, like=_mean_of_queries)
def mean_ndcg(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    discount: Discount = "letor",
    **how: Unpack[NDCGArguments],
) -> Any:
    """Return the mean of NDCG@k over all k = 1..l_q, averaged over the queries.

    LETOR's and MSLR's measure: the sum over k of NDCG@k divided by l_q, the rows of the query.

    Notes
    -----
    Costs O(m log m) for m rows: running sums serve every k. Tied scores count as in `ndcg_score`.

    References
    ----------
    Lee & Lin 2014, Eq. 39 and the text below it.

    Examples
    --------
    >>> round(mean_ndcg([0, 1, 2, 0, 1], [3, 2, 1, 1, 2], qid=[1, 1, 1, 2, 2]), 4)
    0.6622
    """
    return _mean_of_queries(y_true, scores, None, True, discount=discount, **how)


def _ndcg_of_queries(
    judged: Judged, rows: ByQuery, k: int | None, discount: str, mean: bool
) -> FloatArray:
    """Return NDCG of each query, NaN where no label is positive."""
    from pairrank.compiled.gains import discounted_gains
    from pairrank.compiled.sorting import sorted_segments

    longest = int(np.diff(rows.starts).max(initial=0))
    gains = _scaled_gains(judged.labels[rows.order], rows.starts)
    ideal, _ = sorted_segments(gains, rows.starts)
    scores, places = sorted_segments(judged.scores[rows.order], rows.starts)
    gains = gains[places]
    cutoff = longest if k is None else min(int(k), longest)
    positions = np.arange(1.0, longest + 1.0)
    shifted = positions + 1.0 if discount == "standard" else np.maximum(2.0, positions)
    return discounted_gains(scores, gains, ideal, rows.starts, 1.0 / np.log2(shifted), cutoff, mean)


def _scaled_gains(labels: FloatArray, starts: NDArray[np.int64]) -> FloatArray:
    """Return (2^y - 1)/2^top with the query's largest label as top, so that nothing overflows."""
    if labels.size == 0:
        return np.zeros(0)
    top = np.repeat(np.maximum.reduceat(labels, starts[:-1]), np.diff(starts))
    with np.errstate(under="ignore"):
        small = np.expm1(np.minimum(labels, 1.0) * np.log(2.0)) * np.exp2(-top)
        large = np.exp2(labels - top) - np.exp2(-top)
    return np.where(labels < 1.0, small, large)


def _require_relevance(labels: NDArray[Any]) -> None:
    if (labels < 0).any():
        row = int((labels < 0).argmax())
        raise PairrankError(
            f"y_true is {labels[row]} in row {row}: the gain 2^y - 1 needs labels that are not "
            "negative; shift them, or use pairwise_accuracy"
        )


def _query_weights(judged: Judged, rows: ByQuery) -> FloatArray:
    """Return the weight of each query; all its rows must have the same."""
    if judged.weight is None:
        return np.ones(rows.starts.size - 1)
    weight = judged.weight[rows.order]
    if weight.size == 0:
        return np.ones(0)
    first = weight[rows.starts[:-1]]
    differs = weight != np.repeat(first, np.diff(rows.starts))
    if differs.any():
        row = int(rows.order[differs.argmax()])
        raise PairrankError(
            f"sample_weight is {judged.weight[row]} in row {row}, but other rows of its query "
            "have another: NDCG takes one weight per query"
        )
    return first
