"""Kendall's rank correlation, averaged over queries."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pairrank._validation import check_choice
from pairrank.metrics._inputs import (
    as_mapping,
    check_rows,
    identifiers_of,
    nothing_to_measure,
)
from pairrank.preferences import Levels
from pairrank.preferences._codes import totals_around


def kendall_tau(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    variant: Literal["b", "a"] = "b",
    per_query: bool = False,
) -> Any:
    """Return Kendall's tau between labels and scores, averaged over the queries.

    C pairs of rows have the same order by labels and by scores, D pairs the opposite order, N_y
    pairs differ in their labels, N_s in their scores, and N is the number of pairs. Then tau-b is
    (C - D)/sqrt(N_y N_s), and tau-a is (C - D)/N. A pair counts by the product of its rows'
    weights, in every number.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Labels, any finite numbers.
    scores : array-like of shape (n_rows,)
        The scores to judge.
    qid : array-like of shape (n_rows,), optional
        Queries; None: all rows are one query.
    sample_weight : array-like of shape (n_rows,), optional
        Row weights.
    variant : {"b", "a"}
        tau-b, which corrects for ties and is scipy's default, or tau-a.
    per_query : bool
        Return {qid: tau} of the queries that count instead; without qid the one is called None.

    Returns
    -------
    float or dict
        The mean over queries, in [-1, 1]. Queries of one row or of one label are left out. A query
        with equal scores only counts as 0 in tau-a and is left out of tau-b, where it is 0/0. NaN,
        with a NoPairsWarning, where no query is left.

    Raises
    ------
    PairrankError
        If lengths differ, a value is not finite, a weight is negative or the variant is unknown.

    Notes
    -----
    Costs O(m log m) for m rows; the counts are exact integers where there are no weights.

    References
    ----------
    Kendall 1945, "The treatment of ties in ranking problems".

    Examples
    --------
    >>> kendall_tau([1, 2, 3, 4, 5], [10, 30, 20, 50, 40])
    0.6
    """
    from pairrank.compiled.concordance import count_concordant

    check_choice(variant, "variant", ("b", "a"))
    judged = check_rows(y_true, scores, qid, sample_weight)
    levels = Levels.build(judged.labels, judged.qid, sample_weight=judged.weight)
    groups, starts = (levels.group_start, levels.query_group), levels.query_start
    counts = count_concordant(judged.scores[levels.row_of], levels.weight, *groups)
    if levels.weight is None:
        sizes = np.diff(starts)
        every = sizes * (sizes - 1) // 2
    else:
        lighter, _ = totals_around(levels.weight, starts)
        query = np.repeat(np.arange(levels.n_queries), np.diff(starts))
        every = np.bincount(query, levels.weight * lighter, levels.n_queries)
    excess, by_label = counts[:, 0] - counts[:, 2], counts.sum(axis=1)
    if variant == "b":
        by_score = Levels.build(judged.scores, judged.qid, sample_weight=judged.weight)
        ratio = np.divide(
            by_score.query_pair_weight, by_label, out=np.zeros(excess.size), where=by_label > 0
        )
        below = by_label * np.sqrt(ratio)
    else:
        below = every.astype(float)
    counted = (by_label > 0) & (below > 0)
    taus = np.divide(excess, below, out=np.zeros(below.size), where=counted).clip(-1.0, 1.0)
    if per_query:
        return as_mapping(identifiers_of(judged), taus, counted)
    if not counted.any():
        return nothing_to_measure("no query has rows of different labels and scores")
    return float(taus[counted].mean())
