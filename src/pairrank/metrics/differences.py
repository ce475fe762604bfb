"""Mean pair costs of Cortes et al.: errors of score differences, and misranked pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank._docstrings import entries
from pairrank._protocols import FloatArray
from pairrank._validation import check_choice, check_number, check_power
from pairrank.metrics._inputs import (
    RowArguments,
    by_query,
    check_rows,
    mean_over_queries,
    of_queries,
)
from pairrank.preferences.roles import OF_COSTS

_DESCRIBED = entries("""
scores : array-like of shape (n_rows,)
    The scores to judge, on the labels' scale; a constant added to a whole query changes nothing.
epsilon : float
    The error of a difference that costs nothing; 0 gives `m1d` (n = 1) or `msd` (n = 2).
n : {1, 2}
    The power.
average : {"pairs", "queries"}
    The mean over the ordered pairs of all queries, or of the queries' means.
""")
_DESCRIBED["Returns"] = """float or dict
    The mean over all ordered pairs of rows of a query, i = j included: at least 0, which is best;
    infinite where differences beyond 1e150 are squared."""
_DESCRIBED["References"] = "Cortes et al. 2007."


class Rows(NamedTuple):
    """Labels, scores and weights by query; a query's weights sum to 1; where queries start."""

    labels: FloatArray
    scores: FloatArray
    weight: FloatArray
    starts: NDArray[np.int64]


def _mean_cost(
    cost: Callable[[Rows], FloatArray],
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    average: Literal["pairs", "queries"] = "pairs",
    per_query: bool = False,
    **rows: Unpack[RowArguments],
) -> Any:
    """Return the mean over the queries of their costs.

    With average="pairs" a query counts by the square of its weight.
    """
    check_choice(average, "average", ("pairs", "queries"))
    judged = check_rows(y_true, scores, rows, no_roles=OF_COSTS)
    order, starts, identifiers = by_query(judged)
    weight = judged.sample_weight
    weight = np.ones(order.size) if weight is None else weight[order]
    totals = np.add.reduceat(weight, starts[:-1])
    shares = weight / np.repeat(totals, np.diff(starts))
    labels = judged.labels[order].astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        values = cost(Rows(labels, judged.scores[order], shares, starts))
    values = np.where(np.isnan(values), np.inf, values)
    scaled = np.ldexp(totals, -np.frexp(totals.max(initial=0.0))[1])
    weights = scaled**2 if average == "pairs" else None
    return mean_over_queries(
        identifiers, values, per_query=per_query, nothing="there is no row", weights=weights
    )


_cost_metric = of_queries(_mean_cost, _DESCRIBED)


@_cost_metric
def msd(rows: Rows) -> FloatArray:
    """Return the mean squared difference between score differences and label differences.

    The mean of ((s_j - s_i) - (y_j - y_i))^2: twice the variance of the residuals s - y (Eq. 30).

    Examples
    --------
    >>> msd([1, 2, 4], [11, 12, 13])
    0.4444444444444444
    """
    return _of_tube(rows, 0.0, 2)


@_cost_metric
def m1d(rows: Rows) -> FloatArray:
    """Return the mean absolute difference between score differences and label differences.

    The mean of abs((s_j - s_i) - (y_j - y_i)): `tube_cost` with epsilon 0 (Eq. 31).

    Examples
    --------
    >>> m1d([1, 2, 4], [11, 12, 13])
    0.4444444444444444
    """
    return _of_tube(rows, 0.0, 1)


@_cost_metric
def tube_cost(rows: Rows, *, epsilon: float = 0.1, n: Literal[1, 2] = 1) -> FloatArray:
    r"""Return the mean error of score differences beyond epsilon, c_SVR (Eqs. 2 and 9).

    .. math:: c(i, j) = \max(0, |(s_j - s_i) - (y_j - y_i)| - \varepsilon)^n.

    Examples
    --------
    >>> tube_cost([1, 2, 4], [11, 12, 13], epsilon=0.25)
    0.3333333333333333
    """
    check_number(epsilon, "epsilon", inclusive=True)
    return _of_tube(rows, epsilon, n)


@_cost_metric
def hinge_rank_cost(rows: Rows, *, n: Literal[1, 2] = 1) -> FloatArray:
    r"""Return the mean score difference of misranked pairs, c_HR (Eqs. 2 and 6).

    .. math:: c(i, j) = |s_j - s_i|^n \text{ where } (s_j - s_i)(y_j - y_i) < 0, \text{ else } 0.

    It is on the scale of the scores, and 0 also where all scores are equal.

    Notes
    -----
    As a loss it is the hinge of margin 0, whose regularised minimum is
    w = 0.

    Examples
    --------
    >>> hinge_rank_cost([1, 2, 4], [3.0, 2.0, 2.5])
    0.3333333333333333
    """
    return _of_misranked(rows, n, magnitude=False)


@_cost_metric
def hinge_magnitude_cost(rows: Rows, *, n: Literal[1, 2] = 1) -> FloatArray:
    r"""Return the mean error of the score differences of misranked pairs.

    .. math:: c(i, j) = |(s_j - s_i) - (y_j - y_i)|^n
        \text{ where } (s_j - s_i)(y_j - y_i) < 0, \text{ else } 0.

    Notes
    -----
    It is c_HMP of Eqs. 2 and 8. The paper calls it convex in the scores, but where tied scores
    become misranked it jumps from 0 to the labels' difference to the power n. It is therefore a
    metric here, not a loss.

    Examples
    --------
    >>> hinge_magnitude_cost([1, 2, 4], [3.0, 2.0, 2.5])
    1.2222222222222223
    """
    return _of_misranked(rows, n, magnitude=True)


def _residuals(rows: Rows) -> FloatArray:
    """Return scores minus labels, up to a constant per query.

    The score nearest to zero is subtracted first. A common offset of a query's scores then costs no
    digits, and one huge score costs the others none.
    """
    sizes, starts, scores = np.diff(rows.starts), rows.starts[:-1], rows.scores
    least = np.repeat(np.minimum.reduceat(np.abs(scores), starts), sizes)
    above = np.repeat(np.logical_or.reduceat(scores == least, starts), sizes)
    base = np.repeat(rows.labels[starts], sizes)
    return (scores - np.where(above, least, -least)) - (rows.labels - base)


def _of_tube(rows: Rows, epsilon: float, n: int) -> FloatArray:
    from pairrank.compiled.costs import tube_costs
    from pairrank.compiled.sorting import sorted_segments

    check_power(n)
    values, places = sorted_segments(_residuals(rows), rows.starts)
    return tube_costs(values, rows.weight[places], rows.starts, float(epsilon), n == 2)


def _of_misranked(rows: Rows, n: int, *, magnitude: bool) -> FloatArray:
    """Return the cost of misranked pairs, with the difference of labels where `magnitude`."""
    from pairrank.compiled.costs import misranked_costs

    check_power(n)
    query = np.repeat(np.arange(rows.starts.size - 1), np.diff(rows.starts))
    order = np.lexsort((rows.scores, rows.labels, query))
    parts = (rows.scores[order], rows.labels[order], rows.weight[order])
    return misranked_costs(*parts, rows.starts, magnitude, n == 2)
