"""Clicks: weights that correct for position bias, and metrics estimated from biased clicks."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank._docstrings import described_by, entries
from pairrank._protocols import FloatArray
from pairrank._validation import check_choice, check_number, check_numbers
from pairrank.exceptions import NoPairsWarning, PairrankError
from pairrank.metrics._inputs import Judged, by_query, check_flags, check_scored

Gain = Literal["dcg", "reciprocal_rank", "recall", "rank"]

_DESCRIBED = entries("""
clicks : array-like of shape (n_rows,)
    Whether each row was clicked: True or 1, False or 0.
propensity : array-like of shape (n_rows,)
    The probability that the user examined the row where it was shown, in (0, 1]; with position
    bias it depends on the position.
clip : float, optional
    Propensities below it are raised to it: less variance, some bias. None: no propensity is.
""")
_DESCRIBED["Raises"] = """PairrankError
    If lengths differ, a click is neither 0 nor 1, a propensity is outside of (0, 1], or an option
    is out of range."""


@described_by(_DESCRIBED)
def click_weights(
    clicks: ArrayLike, propensity: ArrayLike, *, clip: float | None = None
) -> dict[str, FloatArray]:
    """Return what `fit` needs to learn from clicks without their position bias.

    A clicked row is preferred to the rows of its query that are not clicked, with weight
    1/propensity: rows that are rarely examined count more. Pass the result as keywords, such as
    ``RankSVM().fit(X, qid=qid, **click_weights(clicks, propensity))``. With these keywords
    `pairwise_accuracy` is the self-normalised estimate of the accuracy.

    Returns
    -------
    dict
        ``y``, 1 for a clicked row and 0 for others, ``winner_weight``, 1/propensity for a clicked
        row and 0 for others, and ``loser_weight``, 0 for a clicked row and 1 for others.

    Notes
    -----
    With one click per query this is Propensity SVM-Rank. Pairs of two clicked rows are left out,
    so give each click its own query, with all rows shown, where a query has several.

    References
    ----------
    Joachims, Swaminathan & Schnabel 2017, "Unbiased learning-to-rank with biased feedback",
    Sections 3 and 5.

    Examples
    --------
    >>> weights = click_weights([0, 1, 0, 1], [1.0, 0.5, 1.0, 0.01], clip=0.1)
    >>> weights["winner_weight"]
    array([ 0.,  2.,  0., 10.])
    """
    clicked, weight = _inverse_propensities(clicks, propensity, clip)
    return {
        "y": clicked.astype(np.float64),
        "winner_weight": weight,
        "loser_weight": (~clicked).astype(np.float64),
    }


@described_by(_DESCRIBED)
def ips_score(
    clicks: ArrayLike,
    propensity: ArrayLike,
    scores: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    gain: Gain = "dcg",
    k: int | None = None,
    clip: float | None = None,
    self_normalized: bool = True,
) -> float:
    """Return the inverse-propensity estimate of a ranking metric from position-biased clicks.

    The sum of gain(rank)/propensity over the clicked rows, where rank is the position of the row
    in its query by the scores, 1 for the highest. It is divided by the sum of 1/propensity over the
    clicked rows (self-normalised: the mean gain of a relevant row), or by the number of queries
    (the mean over queries of the summed gain of the relevant rows, without bias). Tied scores get
    the mean gain over their orders.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        The scores to judge; higher is better.
    qid : array-like of shape (n_rows,), optional
        Queries; None: all rows are one query.
    gain : {"dcg", "reciprocal_rank", "recall", "rank"}
        1/log2(1 + rank); 1/rank; 1; or the rank itself, of which less is better.
    k : int, optional
        The number of positions that have a gain; "recall" needs it, "rank" takes none.
    self_normalized : bool
        Whether to divide by the sum of 1/propensity: less variance, and a bias that vanishes as
        clicks grow in number.

    Returns
    -------
    float
        The estimate; self-normalised it is NaN, with a NoPairsWarning, where nothing is clicked.

    Notes
    -----
    Costs O(m log m) for m rows. "dcg" is DCG with the gain 1 for a relevant row.

    References
    ----------
    Joachims, Swaminathan & Schnabel 2017, Section 4; Swaminathan & Joachims 2015, "The
    self-normalized estimator for counterfactual learning", Section 4.

    Examples
    --------
    >>> ips_score([0, 1, 0, 1], [1.0, 0.5, 1.0, 0.5], [3, 2, 1, 4], gain="rank")
    2.0
    """
    check_choice(gain, "gain", ("dcg", "reciprocal_rank", "recall", "rank"))
    if k is not None:
        check_number(k, "k", integer=True)
    if (gain == "recall" and k is None) or (gain == "rank" and k is not None):
        raise PairrankError('k is needed with gain="recall" and not used with gain="rank"')
    judged = check_scored(None, scores, {"qid": qid})
    clicked, weight = _inverse_propensities(clicks, propensity, clip, judged.scores.size)
    if self_normalized and not clicked.any():
        warnings.warn("no row is clicked, so the metric is NaN", NoPairsWarning, stacklevel=2)
        return float("nan")
    total, n_queries = _expected_gain(judged, weight, gain, k)
    return total / (float(weight.sum()) if self_normalized else max(n_queries, 1))


def _inverse_propensities(
    clicks: Any, propensity: Any, clip: float | None, n_rows: int | None = None
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return which rows are clicked, and 1/propensity of those, 0 of others."""
    clicked = check_flags(clicks, "clicks", n_rows)
    chance = check_numbers(propensity, "propensity", clicked.size)
    wrong = (chance <= 0) | (chance > 1)
    if wrong.any():
        row = int(wrong.argmax())
        raise PairrankError(
            f"propensity is {chance[row]:g} in row {row}: it must be greater than 0 and at most 1"
        )
    if clip is not None:
        check_number(clip, "clip", most=1.0)
        chance = np.maximum(chance, clip)
    return clicked, np.where(clicked, 1.0 / chance, 0.0)


def _expected_gain(
    judged: Judged, weight: FloatArray, gain: Gain, k: int | None
) -> tuple[float, int]:
    """Return the sum of weights times gains, expected over ties, and the number of queries."""
    from pairrank.compiled.ranked_lists import sums_over_positions
    from pairrank.compiled.sorting import sorted_segments

    rows = by_query(judged)
    keys, places = sorted_segments(-judged.scores[rows.order], rows.starts)
    rank = np.arange(1.0, np.diff(rows.starts).max(initial=0) + 1.0)[:k]
    factors = {
        "dcg": 1.0 / np.log2(rank + 1.0),
        "reciprocal_rank": 1.0 / rank,
        "recall": np.ones(rank.size),
        "rank": rank,
    }[gain]
    of_queries = sums_over_positions(keys, weight[rows.order][places], rows.starts, factors)
    return float(np.nansum(of_queries)), of_queries.size
