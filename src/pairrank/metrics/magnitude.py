"""MSD and M1D: errors of score differences against label differences."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank.metrics._inputs import FloatArray, mean_over_differences, residuals
from pairrank.metrics.costs import beyond_tube


def msd(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    average: Literal["pairs", "queries"] = "pairs",
    per_query: bool = False,
) -> Any:
    """Return the mean squared difference between score differences and label differences.

    The mean of ((s_j - s_i) - (y_j - y_i))^2 over all ordered pairs of rows of a query, i = j
    included: twice the variance of the residuals s - y.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, any finite numbers.
    scores : array-like of shape (n_rows,)
        The scores to judge; a constant added to a whole query changes nothing.
    qid : array-like of shape (n_rows,), optional
        Queries; None: all rows are one query.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights; a pair's weight is the product of its rows' weights.
    average : {"pairs", "queries"}
        The mean over the ordered pairs of all queries, or of the queries' means.
    per_query : bool
        Return {qid: value} instead; without qid the one query is called None.

    Returns
    -------
    float or dict
        A number >= 0, 0 is best; infinite where differences beyond 1e150 are squared.

    Raises
    ------
    PairrankError
        If lengths differ, a value is not finite, a weight is negative or an option is unknown.

    Notes
    -----
    Costs O(m) for m rows.

    References
    ----------
    Cortes et al. 2007, Eq. 30.

    Examples
    --------
    >>> msd([1, 2, 4], [11, 12, 13])
    0.4444444444444444
    """
    return mean_over_differences(
        y_true, scores, qid=qid, sample_weight=sample_weight, average=average,
        per_query=per_query, mean_of=_squares,
    )  # fmt: skip


def m1d(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    average: Literal["pairs", "queries"] = "pairs",
    per_query: bool = False,
) -> Any:
    """Return the mean absolute difference between score differences and label differences.

    The mean of abs((s_j - s_i) - (y_j - y_i)) over all ordered pairs of rows of a query, i = j
    included.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, any finite numbers.
    scores : array-like of shape (n_rows,)
        The scores to judge; a constant added to a whole query changes nothing.
    qid : array-like of shape (n_rows,), optional
        Queries; None: all rows are one query.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights; a pair's weight is the product of its rows' weights.
    average : {"pairs", "queries"}
        The mean over the ordered pairs of all queries, or of the queries' means.
    per_query : bool
        Return {qid: value} instead; without qid the one query is called None.

    Returns
    -------
    float or dict
        A number >= 0, 0 is best.

    Raises
    ------
    PairrankError
        If lengths differ, a value is not finite, a weight is negative or an option is unknown.

    Notes
    -----
    Costs O(m log m) for m rows: it is `tube_cost` with epsilon = 0.

    References
    ----------
    Cortes et al. 2007, Eq. 31.

    Examples
    --------
    >>> m1d([1, 2, 4], [11, 12, 13])
    0.4444444444444444
    """
    return mean_over_differences(
        y_true, scores, qid=qid, sample_weight=sample_weight, average=average,
        per_query=per_query, mean_of=partial(beyond_tube, epsilon=0.0, squared=False),
    )  # fmt: skip


def _squares(
    labels: FloatArray, scores: FloatArray, shares: FloatArray, starts: NDArray[np.int64]
) -> FloatArray:
    """Return the mean of (r_i - r_j)^2 over the ordered pairs of each query.

    The residual of a query's heaviest row is subtracted first, so that its weight costs the mean of
    the others no digits.
    """
    sizes = np.diff(starts)
    centred = residuals(labels, scores, starts)
    heavy = np.flatnonzero(shares == np.repeat(np.maximum.reduceat(shares, starts[:-1]), sizes))
    centred -= np.repeat(centred[heavy[np.searchsorted(heavy, starts[:-1])]], sizes)
    centred -= np.repeat(np.add.reduceat(shares * centred, starts[:-1]), sizes)
    return 2.0 * np.add.reduceat(shares * centred * centred, starts[:-1])
