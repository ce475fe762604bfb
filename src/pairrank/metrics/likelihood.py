"""The log-loss of pairs: minus the mean log-likelihood of preferences under logistic scores."""

from __future__ import annotations

from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from pairrank._protocols import FloatArray
from pairrank._validation import check_choice
from pairrank.exceptions import PairrankError
from pairrank.losses import Logistic
from pairrank.metrics._inputs import (
    OF_PAIRS,
    Judged,
    RowArguments,
    check_preferences,
    mean_over_queries,
    metric,
)
from pairrank.pair_sums import bind
from pairrank.preferences import Graph, Levels, Pairs

_EPS = 1e-10


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
    apart = per_query or average == "queries"
    judged, preferences = check_preferences(y_true, scores, graph, rows)
    if isinstance(preferences, Pairs):
        sums, weights = _of_comparisons(preferences, judged, apart)
    else:
        weights = preferences.query_pair_weight if apart else np.array([preferences.pair_weight])
        sums = _sums_of_levels(preferences, judged.scores, apart)
    counted = weights > 0
    if counted.any() and not apart:
        return float(sums[0] / weights[0])
    return mean_over_queries(
        judged.identifiers if apart else None,
        np.divide(sums, weights, out=np.zeros(sums.size), where=counted), counted,
        per_query=per_query, nothing="no preference joins two of the rows",
    )  # fmt: skip


def _sums_of_levels(levels: Levels, scores: FloatArray, apart: bool) -> FloatArray:
    """Return the sum of the losses of all preferences, or of each query's."""
    if not levels.n_pairs:
        return np.zeros(levels.n_queries if apart else 1)
    if apart:
        sums = bind(Logistic(), levels, eps=_EPS).costs(scores, np.zeros(scores.size))
    else:
        sums = np.array([bind(Logistic(), levels, eps=_EPS).at(scores).value])
    if not np.isfinite(sums).all():
        raise PairrankError("the log-loss of these scores is not a finite number; scale them down")
    return sums


def _of_comparisons(pairs: Pairs, judged: Judged, apart: bool) -> tuple[FloatArray, FloatArray]:
    """Return the sum of the losses and of the weights of all comparisons, or of each query's."""
    bound = pairs.signed().bound(judged.scores.size, qid=judged.qid, **judged.weights)
    with np.errstate(over="ignore"):
        losses = Logistic().phi(judged.scores[bound.i] - judged.scores[bound.j])
    weight = np.ones(bound.i.size) if bound.weight is None else bound.weight
    if not apart or judged.identifiers is None:
        return np.array([losses @ weight]), np.array([weight.sum()])
    n_queries, query = len(judged.identifiers), judged.query_of[bound.i]
    sums, weights = (np.bincount(query, part, n_queries) for part in (losses * weight, weight))
    return np.asarray(sums, dtype=np.float64), np.asarray(weights, dtype=np.float64)
