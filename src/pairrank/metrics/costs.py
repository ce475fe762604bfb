"""Mean pair costs of Cortes et al.: of misranked pairs, and of differences beyond a tube."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank._validation import check_number, check_power
from pairrank.metrics._inputs import FloatArray, mean_over_differences, residuals


def hinge_rank_cost(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    n: Literal[1, 2] = 1,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    average: Literal["pairs", "queries"] = "pairs",
    per_query: bool = False,
) -> Any:
    r"""Return the mean score difference of misranked pairs, c_HR.

    .. math:: c(i, j) = |s_j - s_i|^n \text{ where } (s_j - s_i)(y_j - y_i) < 0, \text{ else } 0,

    the mean over all ordered pairs of rows of a query, i = j included.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, any finite numbers.
    scores : array-like of shape (n_rows,)
        The scores to judge; the cost is on their scale.
    n : {1, 2}
        The power.
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
        A number >= 0; 0 where no pair is misranked, but also where all scores are equal.

    Raises
    ------
    PairrankError
        If lengths differ, a value is not finite, a weight is negative or an option is unknown.

    Notes
    -----
    Costs O(m log m) for m rows. As a loss it is the hinge of margin 0, `pairrank.losses.Hinge` and
    `SquaredHinge` with ``margin=0``, whose regularised minimum is w = 0.

    References
    ----------
    Cortes et al. 2007, Eqs. 2 and 6.

    Examples
    --------
    >>> hinge_rank_cost([1, 2, 4], [3.0, 2.0, 2.5])
    0.3333333333333333
    """
    return mean_over_differences(
        y_true, scores, qid=qid, sample_weight=sample_weight, average=average,
        per_query=per_query, mean_of=partial(_misranked, squared=_is_square(n), magnitude=False),
    )  # fmt: skip


def hinge_magnitude_cost(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    n: Literal[1, 2] = 1,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    average: Literal["pairs", "queries"] = "pairs",
    per_query: bool = False,
) -> Any:
    r"""Return the mean error of the score differences of misranked pairs, c_HMP.

    .. math:: c(i, j) = |(s_j - s_i) - (y_j - y_i)|^n
        \text{ where } (s_j - s_i)(y_j - y_i) < 0, \text{ else } 0,

    the mean over all ordered pairs of rows of a query, i = j included.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, any finite numbers.
    scores : array-like of shape (n_rows,)
        The scores to judge, on the labels' scale.
    n : {1, 2}
        The power.
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
        A number >= 0; 0 where no pair is misranked.

    Raises
    ------
    PairrankError
        If lengths differ, a value is not finite, a weight is negative or an option is unknown.

    Notes
    -----
    Costs O(m log m) for m rows. The paper calls it convex in the scores, but it is neither convex
    nor continuous: where tied scores become misranked, it jumps from 0 to the labels' difference to
    the power n. It is therefore a metric here, not a loss.

    References
    ----------
    Cortes et al. 2007, Eqs. 2 and 8.

    Examples
    --------
    >>> hinge_magnitude_cost([1, 2, 4], [3.0, 2.0, 2.5])
    1.2222222222222223
    """
    return mean_over_differences(
        y_true, scores, qid=qid, sample_weight=sample_weight, average=average,
        per_query=per_query, mean_of=partial(_misranked, squared=_is_square(n), magnitude=True),
    )  # fmt: skip


def tube_cost(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    epsilon: float = 0.1,
    n: Literal[1, 2] = 1,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    average: Literal["pairs", "queries"] = "pairs",
    per_query: bool = False,
) -> Any:
    r"""Return the mean error of score differences beyond epsilon, c_SVR.

    .. math:: c(i, j) = \max(0, |(s_j - s_i) - (y_j - y_i)| - \varepsilon)^n,

    the mean over all ordered pairs of rows of a query, i = j included.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, any finite numbers.
    scores : array-like of shape (n_rows,)
        The scores to judge; a constant added to a whole query changes nothing.
    epsilon : float
        The error of a difference that costs nothing; 0 gives `m1d` (n = 1) or `msd` (n = 2).
    n : {1, 2}
        The power.
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
        If lengths differ, a value is not finite, a weight or epsilon is negative or an option is
        unknown.

    Notes
    -----
    Costs O(m log m) for m rows: the residuals s - y are sorted, and one pass finds, for each row,
    the rows whose residuals are lower by more than epsilon.

    References
    ----------
    Cortes et al. 2007, Eqs. 2 and 9.

    Examples
    --------
    >>> tube_cost([1, 2, 4], [11, 12, 13], epsilon=0.25)
    0.3333333333333333
    """
    check_number(epsilon, "epsilon", inclusive=True)
    mean_of = partial(beyond_tube, epsilon=float(epsilon), squared=_is_square(n))
    return mean_over_differences(
        y_true, scores, qid=qid, sample_weight=sample_weight, average=average,
        per_query=per_query, mean_of=mean_of,
    )  # fmt: skip


def _is_square(n: int) -> bool:
    check_power(n)
    return n == 2


def _misranked(
    labels: FloatArray,
    scores: FloatArray,
    shares: FloatArray,
    starts: NDArray[np.int64],
    *,
    squared: bool,
    magnitude: bool,
) -> FloatArray:
    """Return the mean cost of misranked pairs over the ordered pairs of each query."""
    from pairrank.compiled.costs import misranked_costs

    query = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    order = np.lexsort((scores, labels, query))
    costs = misranked_costs(scores[order], labels[order], shares[order], starts, magnitude, squared)
    return np.where(np.isnan(costs), np.inf, costs)


def beyond_tube(
    labels: FloatArray,
    scores: FloatArray,
    shares: FloatArray,
    starts: NDArray[np.int64],
    *,
    epsilon: float,
    squared: bool,
) -> FloatArray:
    """Return the mean cost beyond the tube over the ordered pairs of each query."""
    from pairrank.compiled.costs import tube_costs
    from pairrank.compiled.sorting import sorted_segments

    values, places = sorted_segments(residuals(labels, scores, starts), starts)
    costs = tube_costs(values, shares[places], starts, epsilon, squared)
    return np.where(np.isnan(costs), np.inf, costs)
