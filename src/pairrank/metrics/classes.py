"""The area under the ROC curve of relevant rows against the others."""

from __future__ import annotations

from typing import Any, Literal, Unpack

from numpy.typing import ArrayLike

from pairrank._docstrings import entries, parameters_of
from pairrank._validation import check_choice
from pairrank.metrics._inputs import RowArguments, check_rows, metric
from pairrank.metrics._queries import OF_QUERIES, check_relevant_from, is_relevant
from pairrank.metrics.pairwise import pairwise_accuracy

_DESCRIBED = parameters_of(pairwise_accuracy) | entries("""
y_true : array-like of shape (n_rows,)
    Labels, any finite numbers.
average : {"pairs", "queries"}
    The mean over all pairs, or over the queries that have a pair.
""")
_DESCRIBED["relevant_from"] = OF_QUERIES["relevant_from"]


@metric(_DESCRIBED, roles=True)
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

    Returns
    -------
    float or dict
        A number in [0, 1]; NaN, with a NoPairsWarning, where no query has both kinds of rows.

    Notes
    -----
    Costs O(m log m) for m rows.

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
