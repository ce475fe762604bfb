"""Metrics of ranked lists by which rows are relevant: MAP, MRR, precision, recall, RBP."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from pairrank._protocols import FloatArray
from pairrank._validation import check_number
from pairrank.exceptions import PairrankError
from pairrank.metrics._lists import ListArguments, Lists, mean_of_lists, relevance_metric


@relevance_metric
def mean_average_precision(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = None,
    relevant_from: float | None = None,
    **how: Unpack[ListArguments],
) -> Any:
    """Return the mean over queries of average precision, MAP.

    A query's average precision is the sum of the precisions at the positions of its relevant rows
    (those of the first k positions), divided by the number of all its relevant rows. Tied scores
    get the expected value over their orders. Without qid it is the average precision of all rows,
    which on scores without ties is that of scikit-learn.

    Examples
    --------
    >>> round(mean_average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1]), 4)
    0.8333
    """
    from pairrank.compiled.ranked_lists import average_precisions

    def value(lists: Lists) -> FloatArray:
        return average_precisions(lists.keys, lists.relevant, lists.starts, lists.cutoff)

    return mean_of_lists(value, y_true, scores, k, relevant_from, **how)


@relevance_metric
def mean_reciprocal_rank(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = None,
    relevant_from: float | None = None,
    **how: Unpack[ListArguments],
) -> Any:
    """Return the mean over queries of 1/(position of the first relevant row), MRR.

    It is 0 where no relevant row is among the first k. Tied scores get the expected value over
    their orders.

    Examples
    --------
    >>> mean_reciprocal_rank([0, 1, 1, 0], [4, 3, 2, 1])
    0.5
    >>> mean_reciprocal_rank([0, 1], [1, 1])  # the mean of 1 and 1/2
    0.75
    """
    from pairrank.compiled.ranked_lists import reciprocal_ranks

    def value(lists: Lists) -> FloatArray:
        return reciprocal_ranks(lists.keys, lists.relevant, lists.starts, lists.cutoff)

    return mean_of_lists(value, y_true, scores, k, relevant_from, **how)


@relevance_metric
def precision_at_k(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    k: int,
    relevant_from: float | None = None,
    **how: Unpack[ListArguments],
) -> Any:
    """Return the mean over queries of the share of relevant rows among the first k.

    The number of relevant rows among the first k is divided by k, also where a query has fewer
    rows. Tied scores get the expected value over their orders.

    Examples
    --------
    >>> precision_at_k([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], k=2)
    0.5
    """

    def value(lists: Lists) -> FloatArray:
        return lists.sums(np.ones(lists.cutoff)) / float(k)

    return mean_of_lists(value, y_true, scores, k, relevant_from, **how)


@relevance_metric
def recall_at_k(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    k: int,
    relevant_from: float | None = None,
    **how: Unpack[ListArguments],
) -> Any:
    """Return the mean over queries of the share of relevant rows that are among the first k.

    Tied scores get the expected value over their orders.

    Examples
    --------
    >>> recall_at_k([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], k=1)
    0.5
    """

    def value(lists: Lists) -> FloatArray:
        return lists.sums(np.ones(lists.cutoff)) / lists.sums(np.ones(lists.longest))

    return mean_of_lists(value, y_true, scores, k, relevant_from, **how)


@relevance_metric
def rank_biased_precision(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    persistence: float = 0.8,
    k: int | None = None,
    relevant_from: float | None = None,
    **how: Unpack[ListArguments],
) -> Any:
    r"""Return the mean over queries of rank-biased precision, RBP.

    .. math:: (1 - p) \sum_i r_i p^{i - 1},

    where r_i is 1 if the row at position i <= k is relevant, else 0. It is the share of relevant
    rows among those that a user sees who goes on to the next row with probability p. Tied scores
    get the expected value over their orders.

    Parameters
    ----------
    persistence : float
        p, in (0, 1).

    Notes
    -----
    Costs O(m log m) for m rows. The best value of a query is 1 - p^r for its r relevant rows.

    References
    ----------
    Moffat & Zobel 2008, "Rank-biased precision for measurement of retrieval effectiveness".

    Examples
    --------
    >>> rank_biased_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], persistence=0.5)
    0.625
    """
    check_number(persistence, "persistence")
    if persistence >= 1:
        raise PairrankError(f"persistence must be less than 1 (got {persistence!r})")

    def value(lists: Lists) -> FloatArray:
        with np.errstate(under="ignore"):
            return lists.sums((1.0 - persistence) * persistence ** np.arange(float(lists.cutoff)))

    return mean_of_lists(value, y_true, scores, k, relevant_from, **how)
