"""Metrics of pairs: pairwise accuracy, WMW over any order graph, AUC, log-loss, Kendall's tau."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from pairrank._docstrings import entries, keywords_of, parameters_of, showing
from pairrank._protocols import FloatArray
from pairrank._validation import check_choice
from pairrank.exceptions import PairrankError
from pairrank.losses import Logistic
from pairrank.metrics._inputs import (
    OF_PAIRS,
    Judged,
    RowArguments,
    check_preferences,
    check_rows,
    mean_over_queries,
    metric,
    ratios,
)
from pairrank.metrics.groups import accuracy_of_groups
from pairrank.metrics.lists import check_relevant_from, is_relevant
from pairrank.pair_sums import bind
from pairrank.preferences import Graph, Levels, Pairs
from pairrank.preferences.roles import OF_TIES, Roles

TIE_SHARE = {"half": 0.5, "correct": 1.0, "error": 0.0}
_NO_PAIR = "no preference joins two of the rows"
_EPS = 1e-10
"""The error of the log-loss of a pair."""


@metric(OF_PAIRS, roles=True)
def pairwise_accuracy(
    y_true: ArrayLike | Pairs,
    scores: ArrayLike,
    *,
    graph: Graph = "full",
    ties: Literal["half", "correct", "error"] = "half",
    average: Literal["pairs", "queries", "edges"] = "pairs",
    per_query: bool = False,
    groups: ArrayLike | None = None,
    **rows: Unpack[RowArguments],
) -> Any:
    """Return the share of preferences (i over j) that the scores order as i above j.

    The sum of w_ij [s_i > s_j] over the preferences, divided by the sum of w_ij, where a tie
    s_i = s_j counts as `ties` says, and w_ij is the product of w_i winner_i and w_j loser_j. With
    two levels and ties at half it is the area under the ROC curve.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,), or Pairs
        Labels, numbers or (with an OrderGraph) text; or explicit comparisons. Comparisons of
        magnitude 0 (ties) are ignored; those of negative magnitude prefer the other row.
    average : {"pairs", "queries", "edges"}
        The mean over all pairs; over the queries that have a pair; or over the edges, an edge being
        two joined levels of one query (Fung's WMW).
    groups : array-like of shape (n_rows,), optional
        The group of each row, any hashable values: return the accuracy over the preferences of
        each group over each. It needs average="pairs" and per_query=False.

    Returns
    -------
    float, dict or GroupAccuracy
        A number in [0, 1]; NaN, with a NoPairsWarning, where there is no pair at all. With
        `groups` a record of square arrays.

    Notes
    -----
    Costs O(m log m) for m rows, not O(pairs), and 2 G times as much for G `groups`; an explicit
    graph adds the rows at both ends of each edge, Pairs cost O(n_pairs). Counts are exact integers
    where there are no weights.

    References
    ----------
    Lee & Lin 2014, Section 4.2; Raykar et al. 2007, Eq. 1; Fung et al. 2006, Section 1.1.

    Examples
    --------
    >>> pairwise_accuracy([0, 1, 2, 1], [0.1, 0.4, 0.3, 0.1])
    0.7
    >>> pairwise_accuracy([0, 1, 0, 1], [1, 2, 2, 1], qid=["a", "a", "b", "b"], per_query=True)
    {'a': 1.0, 'b': 0.0}
    """
    check_choice(ties, "ties", tuple(TIE_SHARE))
    check_choice(average, "average", ("pairs", "queries", "edges"))
    if groups is not None and (average != "pairs" or per_query):
        raise PairrankError(
            'groups are compared over all pairs: leave average="pairs" and per_query=False'
        )
    if isinstance(y_true, Pairs) and average == "edges":
        raise PairrankError(
            'Pairs have no levels and so no edges: use average="pairs" or "queries"'
        )
    judged, preferences = check_preferences(y_true, scores, graph, rows)
    if groups is not None:
        return accuracy_of_groups(judged, preferences, groups, TIE_SHARE[ties])
    right, total = right_and_total(judged, preferences, ties, by_edge=average == "edges")
    return _mean(judged, right, total, average, per_query)


@metric(parameters_of(pairwise_accuracy), roles=True)
@showing(keywords_of(pairwise_accuracy).values())
def wmw_score(y_true: ArrayLike | Pairs, scores: ArrayLike, **options: Any) -> Any:
    """Return the generalised Wilcoxon-Mann-Whitney statistic over an order graph.

    It is the probability that the scores order a random preference correctly, and the same as
    `pairwise_accuracy`. Raykar et al. draw a pair (``average="pairs"``) and count ties as correct
    (``ties="correct"``). Fung et al. draw an edge first (``average="edges"``) and count ties as
    errors (``ties="error"``). With two levels both are the area under the ROC curve.

    References
    ----------
    Fung et al. 2006, Section 1.1; Raykar et al. 2007, Eq. 1.

    Examples
    --------
    >>> from pairrank import OrderGraph
    >>> wmw_score(["bad", "fine", "bad"], [0.2, 0.2, 0.1], graph=OrderGraph([("bad", "fine")]))
    0.75
    """
    return pairwise_accuracy(y_true, scores, **options)


@metric(OF_PAIRS, entries("y_true : array-like of shape (n_rows,)\n    Numbers."), roles=True)
def auc_score(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    relevant_from: float | None = None,
    ties: Literal["half", "correct", "error"] = "half",
    average: Literal["pairs", "queries"] = "pairs",
    per_query: bool = False,
    **rows: Unpack[RowArguments],
) -> Any:
    """Return the area under the ROC curve: how often a relevant row is above another row.

    It is `pairwise_accuracy` of two levels, the relevant rows and the others of the same query.
    Without qid it is scikit-learn's `roc_auc_score`, also with tied scores and row weights.

    References
    ----------
    Hanley & McNeil 1982, "The meaning and use of the area under a ROC curve".

    Examples
    --------
    >>> auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    check_relevant_from(relevant_from)
    check_choice(average, "average", ("pairs", "queries"))
    labels = check_rows(y_true, scores, rows).labels
    flags = is_relevant(labels, relevant_from).astype(float)
    return pairwise_accuracy(flags, scores, ties=ties, average=average, per_query=per_query, **rows)


@metric(OF_PAIRS, roles=True)
def pairwise_log_loss(
    y_true: ArrayLike | Pairs,
    scores: ArrayLike,
    *,
    graph: Graph = "full",
    average: Literal["pairs", "queries"] = "pairs",
    per_query: bool = False,
    **rows: Unpack[RowArguments],
) -> Any:
    r"""Return minus the mean log-likelihood of the preferences (i over j), the log-loss of pairs.

    .. math:: \frac{\sum_{ij} w_{ij} \log(1 + \exp(s_j - s_i))}{\sum_{ij} w_{ij}}

    where the scores say that i is preferred with probability 1/(1 + exp(s_j - s_i)), as those of
    `RankNCG` do, and w_ij is the product of w_i winner_i and w_j loser_j. Equal scores give log 2.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,), or Pairs
        Labels, numbers or (with an OrderGraph) text; or explicit comparisons. A comparison of
        magnitude 0 (a tie) counts as one, half in each direction; one of negative magnitude prefers
        the other row.

    Notes
    -----
    Costs O(m) for m rows beside sorting, to an error of 1e-10. Pairs cost O(n_pairs).

    Examples
    --------
    >>> from pairrank import Pairs
    >>> round(pairwise_log_loss(Pairs([0, 1], [1, 2]), [2.0, 1.0, 1.0]), 4)
    0.5032
    >>> round(pairwise_log_loss([0, 1, 0, 1], [1, 1, 2, 2], qid=[1, 1, 2, 2]), 4)
    0.6931
    """
    check_choice(average, "average", ("pairs", "queries"))
    judged, preferences = check_preferences(y_true, scores, graph, rows)
    if isinstance(preferences, Pairs):
        sums, weights = _losses_of_comparisons(preferences, judged)
    else:
        sums, weights = _losses_of_levels(preferences, judged.scores), preferences.query_pair_weight
    return _mean(judged, sums, weights, average, per_query)


def _losses_of_levels(levels: Levels, scores: FloatArray) -> FloatArray:
    """Return the sum of the losses of each query."""
    if not levels.n_pairs:
        return np.zeros(levels.n_queries)
    sums = bind(Logistic(), levels, eps=_EPS).costs(scores, np.zeros(scores.size))
    if not np.isfinite(sums).all():
        raise PairrankError("the log-loss of these scores is not a finite number; scale them down")
    return np.asarray(sums)


def _losses_of_comparisons(pairs: Pairs, judged: Judged) -> tuple[FloatArray, FloatArray]:
    """Return the sums of the losses and of the weights of each query's comparisons."""
    bound = pairs.signed().bound(judged.scores.size, **judged.layout)
    with np.errstate(over="ignore"):
        losses = Logistic().phi(judged.scores[bound.i] - judged.scores[bound.j])
    weight = np.ones(bound.i.size) if bound.weight is None else bound.weight
    _, query_of, n_queries = judged.queries
    query = query_of[bound.i]
    sums, weights = (np.bincount(query, part, n_queries) for part in (losses * weight, weight))
    return sums.astype(np.float64), weights.astype(np.float64)


def _mean(
    judged: Judged, part: FloatArray, whole: FloatArray, average: str, per_query: bool
) -> Any:
    """Return the ratio of two sums over queries, or the mean or dict of each query's ratio."""
    if average != "queries" and not per_query and whole.any():
        return float(part.sum() / whole.sum())
    values = ratios(part, whole)
    return mean_over_queries(judged.queries[0], values, per_query=per_query, nothing=_NO_PAIR)


def right_and_total(
    judged: Judged, preferences: Levels | Pairs, ties: str, *, by_edge: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Return the weight of the preferences of each query in the right order, and of all."""
    if isinstance(preferences, Levels):
        levels = _each_group_weighs_one(preferences) if by_edge else preferences
        counts = levels.concordance(judged.scores)
    else:
        bound = preferences.preferred().bound(judged.scores.size, **judged.layout)
        counts = bound.concordance(judged.scores, *judged.queries[1:])
    return counts[:, 0] + TIE_SHARE[ties] * counts[:, 1], counts.sum(axis=1)


def _each_group_weighs_one(levels: Levels) -> Levels:
    """Scale weights so that the rows of each group sum to 1, and so do the pairs of each edge."""
    sizes = np.diff(levels.group_start)

    def shares(weight: FloatArray) -> FloatArray:
        totals = np.repeat(np.add.reduceat(weight, levels.group_start[:-1]), sizes)
        return np.divide(weight, totals, out=np.zeros(weight.size), where=totals > 0)

    if levels.roles is not None:
        return replace(levels, roles=Roles(*map(shares, levels.roles)))
    weight = np.ones(levels.row_of.size) if levels.weight is None else levels.weight
    return replace(levels, weight=shares(weight))


@metric()
def kendall_tau(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    per_query: bool = False,
    **rows: Unpack[RowArguments],
) -> Any:
    """Return Kendall's tau-b between labels and scores, averaged over the queries.

    C pairs of rows have the same order by labels and by scores, D pairs the opposite order, N_y
    pairs differ in their labels, N_s in their scores. Then tau-b, scipy's default, is
    (C - D)/sqrt(N_y N_s). A pair counts by the product of its rows' weights, in every number.

    Returns
    -------
    float or dict
        The mean over queries, in [-1, 1]. Queries of one label or of equal scores only, where it is
        0/0, are left out. NaN, with a NoPairsWarning, where no query is left.

    References
    ----------
    Kendall 1945, "The treatment of ties in ranking problems".

    Examples
    --------
    >>> kendall_tau([1, 2, 3, 4, 5], [10, 30, 20, 50, 40])
    0.6
    """
    judged = check_rows(y_true, scores, rows, no_roles=OF_TIES)
    levels = Levels.build(judged.labels, **judged.layout)
    counts = levels.concordance(judged.scores)
    excess, by_label = counts[:, 0] - counts[:, 2], counts.sum(axis=1)
    by_score = Levels.build(judged.scores, **judged.layout)
    below = by_label * np.sqrt(ratios(by_score.query_pair_weight, by_label))
    taus = np.where(by_label > 0, ratios(excess, below), np.nan).clip(-1.0, 1.0)
    return mean_over_queries(
        judged.queries[0], taus, per_query=per_query,
        nothing="no query has rows of different labels and scores",
    )  # fmt: skip
