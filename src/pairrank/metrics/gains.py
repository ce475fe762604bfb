"""Metrics of ranked lists by graded labels: NDCG at one position and over all, and ERR."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from pairrank._docstrings import entries
from pairrank._protocols import FloatArray
from pairrank._validation import check_choice, check_number
from pairrank.exceptions import PairrankError
from pairrank.metrics._inputs import of_queries
from pairrank.metrics.lists import OF_LISTS, Lists, mean_of_lists

Discount = Literal["standard", "letor"]
Gain = Literal["exponential", "linear"]

_OF_GAINS = OF_LISTS | entries("""
y_true : array-like of shape (n_rows,)
    Labels, not negative; 0 is irrelevant. They need not be whole numbers.
discount : {"standard", "letor"}
    d(i) = 1/log2(i + 1), or 1/log2(max(2, i)) as in LETOR and MSLR.
gain : {"exponential", "linear"}
    2^y - 1, or the label y itself as in trec_eval and scikit-learn.
""")
_OF_GAINS["References"] = "Lee & Lin 2014, Eq. 39; McSherry & Najork 2008 for tied scores."
_FIXED: dict[str, Any] = {"gains": True, "relevant_from": None}


@of_queries(mean_of_lists, _OF_GAINS, **_FIXED)
def ndcg_score(
    lists: Lists, *, discount: Discount = "standard", gain: Gain = "exponential"
) -> FloatArray:
    """Return NDCG@k averaged over the queries.

    A query's value is DCG@k of its rows in the order of the scores, divided by DCG@k of the best
    order. DCG@k is the sum over positions i <= k of (2^y - 1) d(i). Tied scores get the expected
    value over their orders. Gains are scaled by the query's largest gain, so that labels in the
    thousands do not overflow.

    Examples
    --------
    >>> round(ndcg_score([3, 2, 0, 1], [0.9, 0.2, 0.8, 0.1]), 4)
    0.9508
    """
    return _ndcg(lists, discount, gain, every_k=False)


@of_queries(mean_of_lists, _OF_GAINS, **_FIXED, k=None)
def mean_ndcg(
    lists: Lists, *, discount: Discount = "letor", gain: Gain = "exponential"
) -> FloatArray:
    """Return the mean of NDCG@k over all k = 1..l_q, averaged over the queries.

    LETOR's and MSLR's measure: the sum over k of NDCG@k divided by l_q, the rows of the query.

    Examples
    --------
    >>> round(mean_ndcg([0, 1, 2, 0, 1], [3, 2, 1, 1, 2], qid=[1, 1, 1, 2, 2]), 4)
    0.6622
    """
    return _ndcg(lists, discount, gain, every_k=True)


@of_queries(mean_of_lists, _OF_GAINS, **_FIXED)
def expected_reciprocal_rank(lists: Lists, *, max_label: float | None = None) -> FloatArray:
    r"""Return the mean over queries of the expected reciprocal rank, ERR.

    .. math:: \sum_i \frac{R_i}{i} \prod_{j < i} (1 - R_j), \quad R = (2^y - 1) / 2^{y_{\max}},

    over the positions i <= k. A user reads from the top, and the row at position i satisfies with
    probability R_i; the value is the mean of 1/(position where the user stops). Tied scores get the
    expected value over their orders.

    Parameters
    ----------
    max_label : float, optional
        The highest label of the scale, such as 4 for LETOR's 0 to 4; None: the highest of y_true,
        so name it to compare values of different rows.

    Notes
    -----
    Costs O(m log m) for m rows without ties. A group of n tied rows, r of them relevant, costs
    about r min(n, k, 40/mean) steps, where `mean` is the mean of R over the group.

    References
    ----------
    Chapelle, Metlzer, Zhang & Grinspan 2009, "Expected reciprocal rank for graded relevance".

    Examples
    --------
    >>> round(expected_reciprocal_rank([2, 0, 1], [3, 2, 1]), 4)  # 3/4 + (1 - 3/4) (1/4) / 3
    0.7708
    """
    from pairrank.compiled.ranked_lists import cascades

    highest = lists.labels.max(initial=0.0)
    top = highest
    if max_label is not None:
        check_number(max_label, "max_label", inclusive=True)
        top = float(max_label)
    if highest > top:
        raise PairrankError(
            f"y_true holds the label {highest:g}, but max_label is {top:g}: give the highest label "
            "of the scale"
        )
    return cascades(lists.keys, _scaled(lists.labels, top), lists.starts, lists.cutoff)


def _ndcg(lists: Lists, discount: Discount, gain: Gain, *, every_k: bool) -> FloatArray:
    """Return NDCG of each query, NaN where no label is positive."""
    from pairrank.compiled.ranked_lists import discounted_gains
    from pairrank.compiled.sorting import sorted_segments

    check_choice(discount, "discount", ("standard", "letor"))
    check_choice(gain, "gain", ("exponential", "linear"))
    labels, starts = lists.labels, lists.starts
    top = np.repeat(np.maximum.reduceat(labels, starts[:-1]), np.diff(starts))
    linear = gain == "linear"
    gains = labels / np.maximum(top, np.finfo(float).tiny) if linear else _scaled(labels, top)
    ideal, _ = sorted_segments(-gains, starts)
    positions = np.arange(1.0, lists.longest + 1.0)
    factors = 1.0 / np.log2(
        positions + 1.0 if discount == "standard" else np.maximum(2.0, positions)
    )
    return discounted_gains(lists.keys, gains, -ideal, starts, factors, lists.cutoff, every_k)


def _scaled(labels: FloatArray, top: FloatArray | float) -> FloatArray:
    """Return (2^y - 1)/2^top for labels y of at most `top`, so that nothing overflows."""
    with np.errstate(under="ignore"):
        small = np.expm1(np.minimum(labels, 1.0) * np.log(2.0)) * np.exp2(-top)
        large = np.exp2(labels - top) - np.exp2(-top)
    return np.where(labels < 1.0, small, large)
