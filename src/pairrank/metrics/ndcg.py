"""Normalised discounted cumulative gain, at one position and averaged over all."""

from __future__ import annotations

from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from pairrank._docstrings import entries
from pairrank._protocols import FloatArray
from pairrank._validation import check_choice
from pairrank.metrics._inputs import metric
from pairrank.metrics._queries import OF_QUERIES, Lists, QueryArguments, mean_of_lists

Discount = Literal["standard", "letor"]
Gain = Literal["exponential", "linear"]

NO_NEGATIVE = (
    "gains need labels that are not negative; shift them, or use a metric of relevant rows or of "
    "pairs, such as mean_average_precision or pairwise_accuracy"
)

_DESCRIBED = entries("""
y_true : array-like of shape (n_rows,)
    Labels, not negative; 0 is irrelevant. They need not be whole numbers.
discount : {"standard", "letor"}
    d(i) = 1/log2(i + 1), or 1/log2(max(2, i)) as in LETOR and MSLR.
gain : {"exponential", "linear"}
    2^y - 1, or the label y itself as in trec_eval and scikit-learn.
""")


def _mean_of_ndcg(
    y_true: ArrayLike,
    scores: ArrayLike,
    k: int | None,
    every_k: bool,
    discount: Discount,
    gain: Gain = "exponential",
    **how: Unpack[QueryArguments],
) -> Any:
    """Return NDCG@k, or with `every_k` its mean over all k, averaged over the queries."""
    check_choice(discount, "discount", ("standard", "letor"))
    check_choice(gain, "gain", ("exponential", "linear"))

    def value(lists: Lists) -> FloatArray:
        return _ndcg_of_queries(lists, k, discount, gain, every_k)

    return mean_of_lists(value, y_true, scores, k, NO_NEGATIVE, **how)


@metric(OF_QUERIES, _DESCRIBED, like=mean_of_lists)
def ndcg_score(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = None,
    discount: Discount = "standard",
    gain: Gain = "exponential",
    **how: Unpack[QueryArguments],
) -> Any:
    """Return NDCG@k averaged over the queries.

    A query's value is DCG@k of its rows in the order of the scores, divided by DCG@k of the best
    order. DCG@k is the sum over positions i <= k of (2^y - 1) d(i). Tied scores get the expected
    value over their orders. Gains are scaled by the query's largest gain, so that labels in the
    thousands do not overflow.

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
    return _mean_of_ndcg(y_true, scores, k, False, discount, gain, **how)


@metric(OF_QUERIES, _DESCRIBED, like=mean_of_lists)
def mean_ndcg(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    discount: Discount = "letor",
    gain: Gain = "exponential",
    **how: Unpack[QueryArguments],
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
    return _mean_of_ndcg(y_true, scores, None, True, discount, gain, **how)


def _ndcg_of_queries(
    lists: Lists, k: int | None, discount: str, gain: str, every_k: bool
) -> FloatArray:
    """Return NDCG of each query, NaN where no label is positive."""
    from pairrank.compiled.gains import discounted_gains
    from pairrank.compiled.sorting import sorted_segments

    top = np.ones(0)
    if lists.labels.size:
        top = np.maximum.reduceat(lists.labels, lists.starts[:-1])
    top = np.repeat(top, np.diff(lists.starts))
    gains = lists.labels / np.maximum(top, np.finfo(float).tiny)
    if gain == "exponential":
        gains = scaled_gains(lists.labels, top)
    ideal, _ = sorted_segments(-gains, lists.starts)
    longest = lists.longest
    cutoff = longest if k is None else min(int(k), longest)
    positions = np.arange(1.0, longest + 1.0)
    shifted = positions + 1.0 if discount == "standard" else np.maximum(2.0, positions)
    factors = 1.0 / np.log2(shifted)
    return discounted_gains(lists.keys, gains, -ideal, lists.starts, factors, cutoff, every_k)


def scaled_gains(labels: FloatArray, top: FloatArray | float) -> FloatArray:
    """Return (2^y - 1)/2^top for labels y of at most `top`, so that nothing overflows."""
    with np.errstate(under="ignore"):
        small = np.expm1(np.minimum(labels, 1.0) * np.log(2.0)) * np.exp2(-top)
        large = np.exp2(labels - top) - np.exp2(-top)
    return np.where(labels < 1.0, small, large)
