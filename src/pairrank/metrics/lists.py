"""Metrics of ranked lists: the mean over queries; MAP, MRR, precision, recall, RBP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank._docstrings import entries
from pairrank._protocols import FloatArray
from pairrank._validation import check_number
from pairrank.exceptions import PairrankError
from pairrank.metrics._inputs import (
    OF_PAIRS,
    ByQuery,
    Judged,
    RowArguments,
    by_query,
    check_rows,
    mean_over_queries,
    of_queries,
)
from pairrank.preferences.roles import OF_GAINS

OF_LISTS = {"relevant_from": OF_PAIRS["relevant_from"]} | entries("""
sample_weight : array-like of shape (n_rows,), optional
    Weights, constant in each query: the query's weight in the mean.
k : int, optional
    The number of positions that count; None, or more than a query has: all.
empty : float or "skip"
    The value of a query without a relevant row, or "skip" to leave it out.
""")
OF_LISTS["Returns"] = """float or dict
    A number in [0, 1]; NaN, with a NoPairsWarning, where every query is left out."""
OF_LISTS["Raises"] = """PairrankError
    If lengths differ, a value is not finite, weights vary within a query, or an option is out of
    range."""
OF_LISTS["Notes"] = """Costs O(m log m) for m rows. Tied scores get the expected value over their
orders."""
OF_LISTS["References"] = "McSherry & Najork 2008 for tied scores."


class Lists(NamedTuple):
    """The rows of each query, best first.

    keys: negated scores, ascending within a query; labels; relevant: which rows are, (n_kept,)
    each; starts: where each query begins, (n_queries + 1,); longest: the rows of the longest
    query; cutoff: the positions that count.
    """

    keys: FloatArray
    labels: FloatArray
    relevant: NDArray[np.bool_]
    starts: NDArray[np.int64]
    longest: int
    cutoff: int

    def sums(self, factors: FloatArray) -> FloatArray:
        """Return each query's expected sum of factors over the positions of its relevant rows."""
        from pairrank.compiled.ranked_lists import sums_over_positions

        return sums_over_positions(self.keys, self.relevant.astype(float), self.starts, factors)


def mean_of_lists(
    value: Callable[[Lists], FloatArray],
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    k: int | None = None,
    relevant_from: float | None = None,
    empty: float | Literal["skip"] = 0.0,
    per_query: bool = False,
    gains: bool = False,
    **rows: Unpack[RowArguments],
) -> Any:
    """Return the mean over the queries of `value`, which is NaN for a query without relevant rows.

    `gains` refuses negative labels.
    """
    from pairrank.compiled.sorting import sorted_segments

    if k is not None:
        check_number(k, "k", integer=True)
    if empty != "skip":
        check_number(empty, "empty", inclusive=True)
    check_relevant_from(relevant_from)
    judged = check_rows(y_true, scores, rows, no_roles=OF_GAINS)
    if gains and (judged.labels < 0).any():
        row = int((judged.labels < 0).argmax())
        raise PairrankError(
            f"y_true is {judged.labels[row]} in row {row}: gains need labels that are not negative;"
            " shift them, or use a metric of relevant rows or of pairs, such as "
            "mean_average_precision or pairwise_accuracy"
        )
    queries = by_query(judged)
    keys, places = sorted_segments(-judged.scores[queries.order], queries.starts)
    labels = judged.labels[queries.order][places].astype(np.float64)
    longest = int(np.diff(queries.starts).max(initial=0))
    cutoff = longest if k is None else min(int(k), longest)
    relevant = is_relevant(labels, relevant_from)
    values = value(Lists(keys, labels, relevant, queries.starts, longest, cutoff))
    if empty != "skip":
        values[np.isnan(values)] = empty
    weights = _query_weights(judged, queries)
    nothing = "no query has a relevant row"
    return mean_over_queries(
        queries.identifiers, values, per_query=per_query, nothing=nothing, weights=weights
    )


_relevance_metric = of_queries(mean_of_lists, OF_LISTS, gains=False)


def is_relevant(labels: FloatArray, relevant_from: float | None) -> NDArray[np.bool_]:
    """Return which labels are at least `relevant_from`; None: which are above 0."""
    return labels > 0 if relevant_from is None else labels >= relevant_from


def check_relevant_from(relevant_from: Any) -> None:
    """Raise a PairrankError where the lowest relevant label is not a number."""
    if relevant_from is not None:
        check_number(relevant_from, "relevant_from", low=-np.inf)


def _query_weights(judged: Judged, rows: ByQuery) -> FloatArray | None:
    """Return the weight of each query; all its rows must have the same."""
    if judged.sample_weight is None:
        return None
    weight = judged.sample_weight[rows.order]
    first = weight[rows.starts[:-1]]
    differs = weight != np.repeat(first, np.diff(rows.starts))
    if differs.any():
        row = int(rows.order[differs.argmax()])
        raise PairrankError(
            f"sample_weight is {judged.sample_weight[row]} in row {row}, but other rows of its "
            "query have another: a metric of ranked lists takes one weight per query"
        )
    return first


@_relevance_metric
def mean_average_precision(lists: Lists) -> FloatArray:
    """Return the mean over queries of average precision, MAP.

    A query's average precision is the sum of the precisions at the positions of its relevant rows
    (those of the first k positions), divided by the number of all its relevant rows. Without qid
    and ties in the scores it is the average precision of scikit-learn.

    Examples
    --------
    >>> round(mean_average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1]), 4)
    0.8333
    """
    from pairrank.compiled.ranked_lists import average_precisions

    return average_precisions(lists.keys, lists.relevant, lists.starts, lists.cutoff)


@_relevance_metric
def mean_reciprocal_rank(lists: Lists) -> FloatArray:
    """Return the mean over queries of 1/(position of the first relevant row), MRR.

    It is 0 where no relevant row is among the first k.

    Examples
    --------
    >>> mean_reciprocal_rank([0, 1, 1, 0], [4, 3, 2, 1])
    0.5
    >>> mean_reciprocal_rank([0, 1], [1, 1])  # the mean of 1 and 1/2
    0.75
    """
    from pairrank.compiled.ranked_lists import reciprocal_ranks

    return reciprocal_ranks(lists.keys, lists.relevant, lists.starts, lists.cutoff)


@_relevance_metric
def precision_at_k(lists: Lists, *, k: int) -> FloatArray:
    """Return the mean over queries of the share of relevant rows among the first k.

    Their number is divided by k, also where a query has fewer rows.

    Examples
    --------
    >>> precision_at_k([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], k=2)
    0.5
    """
    return lists.sums(np.ones(lists.cutoff)) / float(k)


@_relevance_metric
def recall_at_k(lists: Lists, *, k: int) -> FloatArray:
    """Return the mean over queries of the share of relevant rows that are among the first k.

    Examples
    --------
    >>> recall_at_k([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], k=1)
    0.5
    """
    return lists.sums(np.ones(lists.cutoff)) / lists.sums(np.ones(lists.longest))


@_relevance_metric
def rank_biased_precision(lists: Lists, *, persistence: float = 0.8) -> FloatArray:
    r"""Return the mean over queries of rank-biased precision, RBP.

    .. math:: (1 - p) \sum_i r_i p^{i - 1},

    where r_i is 1 if the row at position i <= k is relevant, else 0. It is the share of relevant
    rows among those that a user sees who goes on to the next row with probability p. The best value
    of a query is 1 - p^r for its r relevant rows.

    Parameters
    ----------
    persistence : float
        p, in (0, 1).

    References
    ----------
    Moffat & Zobel 2008, "Rank-biased precision for measurement of retrieval effectiveness".

    Examples
    --------
    >>> rank_biased_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], persistence=0.5)
    0.625
    """
    check_number(persistence, "persistence", below=1.0)
    with np.errstate(under="ignore"):
        return lists.sums((1.0 - persistence) * persistence ** np.arange(float(lists.cutoff)))
