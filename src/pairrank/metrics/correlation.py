"""Kendall's rank correlation, averaged over queries."""

from __future__ import annotations

from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from pairrank._validation import check_choice
from pairrank.metrics._inputs import RowArguments, check_rows, mean_over_queries, metric
from pairrank.preferences import Levels
from pairrank.preferences._codes import totals_around
from pairrank.preferences.roles import OF_TIES


@metric()
def kendall_tau(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    variant: Literal["b", "a"] = "b",
    per_query: bool = False,
    **rows: Unpack[RowArguments],
) -> Any:
    """Return Kendall's tau between labels and scores, averaged over the queries.

    C pairs of rows have the same order by labels and by scores, D pairs the opposite order, N_y
    pairs differ in their labels, N_s in their scores, and N is the number of pairs. Then tau-b is
    (C - D)/sqrt(N_y N_s), and tau-a is (C - D)/N. A pair counts by the product of its rows'
    weights, in every number.

    Parameters
    ----------
    variant : {"b", "a"}
        tau-b, which corrects for ties and is scipy's default, or tau-a.

    Returns
    -------
    float or dict
        The mean over queries, in [-1, 1]. Queries of one row or of one label are left out. A query
        with equal scores only counts as 0 in tau-a and is left out of tau-b, where it is 0/0. NaN,
        with a NoPairsWarning, where no query is left.

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
    check_choice(variant, "variant", ("b", "a"))
    judged = check_rows(y_true, scores, rows, no_roles=OF_TIES)
    levels = Levels.build(judged.labels, judged.qid, sample_weight=judged.weight)
    starts = levels.query_start
    counts = levels.concordance(judged.scores)
    if levels.weight is None:
        sizes = np.diff(starts)
        every = sizes * (sizes - 1) // 2
    else:
        lighter, _ = totals_around(levels.weight, starts)
        query = np.repeat(np.arange(levels.n_queries), np.diff(starts))
        every = np.bincount(query, levels.weight * lighter, levels.n_queries)
    excess, by_label = counts[:, 0] - counts[:, 2], counts.sum(axis=1)
    below = every.astype(float)
    if variant == "b":
        by_score = Levels.build(judged.scores, judged.qid, sample_weight=judged.weight)
        ratio = np.divide(
            by_score.query_pair_weight, by_label, out=np.zeros(excess.size), where=by_label > 0
        )
        below = by_label * np.sqrt(ratio)
    counted = (by_label > 0) & (below > 0)
    taus = np.divide(excess, below, out=np.zeros(below.size), where=counted).clip(-1.0, 1.0)
    return mean_over_queries(
        judged.identifiers, taus, counted, per_query=per_query,
        nothing="no query has rows of different labels and scores",
    )  # fmt: skip
