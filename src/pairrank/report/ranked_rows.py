"""The rows of single queries in the order of their scores, with what features contribute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import rankdata

from pairrank._protocols import Array, FloatArray
from pairrank.preferences import Pairs, Preferences
from pairrank.preferences._codes import counting_order, query_codes
from pairrank.report.measures import label_text
from pairrank.report.subject import Subject

MOST_SHARES = 4


def largest_shares(
    subject: Subject, rows: Array, mean: FloatArray
) -> list[list[tuple[str, float]]]:
    """Return the largest contributions to some rows' scores, less those of `mean` features.

    `mean` is (n_features,). Costs O(rows n_features).
    """
    weights = subject.ranker.linear_coef()
    part = subject.X[rows]
    values = (part.toarray() if sparse.issparse(part) else part) - mean
    shares = values * weights
    order = np.argsort(-np.abs(shares), axis=1, kind="stable")[:, :MOST_SHARES]
    return [
        [(subject.names[at], float(row[at])) for at in places if row[at] != 0]
        for row, places in zip(shares, order.tolist(), strict=True)
    ]


MOST_ROWS = 8
"""The rows shown from the top of a query."""

MOST_BELOW = 2
"""The rows shown of those that should rank highest, but are further down."""


class Queries(NamedTuple):
    """The rows of each query: `order[start[q]:start[q + 1]]` are those of query q."""

    names: Array
    query_of: Array
    order: NDArray[np.int32]
    start: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of rows of each query."""
        return np.diff(self.start)


def queries_of(qid: Array | None, n_rows: int) -> Queries:
    """Return the rows of each query; without `qid` there is one query."""
    names, codes = np.array(["all rows"]), np.zeros(n_rows, dtype=np.int32)
    if qid is not None:
        names, codes = query_codes(qid)
    return Queries(names, codes, *counting_order(codes, names.size))


def label_texts(y: Any, preferences: Preferences, rows: Array) -> list[str]:
    """Return the labels of some rows as text; of comparisons, the weights won and lost."""
    if not isinstance(y, Pairs):
        return [label_text(label) for label in y[rows]]
    wins, losses = preferences.wins_and_losses()
    return [f"{wins[row]:g} : {losses[row]:g}" for row in rows.tolist()]


def shown_queries(
    subject: Subject,
    y: Any,
    preferences: Preferences,
    scores: Sequence[FloatArray],
    queries: Queries,
    places: Sequence[int],
    values: FloatArray,
) -> list[dict[str, Any]]:
    """Return the queries at some places with their rows; O(n_rows) for each.

    Positions count from 1; `other_position` is that by the second scores, of another model.
    """
    if not places:
        return []
    worth = np.subtract(*preferences.wins_and_losses())
    means = _means(subject, queries, places) if subject.is_linear else None
    found = []
    for number, place in enumerate(places):
        rows = queries.order[queries.start[place] : queries.start[place + 1]]
        at = _shown(scores[0][rows], worth[rows])
        position, *beside = (rankdata(-each[rows], method="ordinal") for each in scores)
        shown = rows[at]
        shares: list[list[tuple[str, float]]] = [[] for _ in at]
        if means is not None:
            shares = largest_shares(subject, shown, means[number])
        listed = [
            {
                "position": int(position[one]),
                "row": int(row),
                "score": float(scores[0][row]),
                "label": label,
                "shares": share,
                "other_position": int(beside[0][one]) if beside else None,
            }
            for one, row, label, share in zip(
                at, shown, label_texts(y, preferences, shown), shares, strict=True
            )
        ]
        sizes = {"n_rows": rows.size, "value": float(values[place])}
        found.append({"name": str(queries.names[place]), **sizes, "rows": listed})
    return found


def _shown(scores: FloatArray, worth: FloatArray) -> NDArray[np.int64]:
    """Return the places of the rows to show, best score first."""
    order = np.argsort(-scores, kind="stable")
    top, rest = order[:MOST_ROWS], order[MOST_ROWS:]
    below = rest[worth[rest] > worth[top].min()]
    highest = np.argsort(-worth[below], kind="stable")[:MOST_BELOW]
    return np.concatenate((top, below[np.sort(highest)]))


def _means(subject: Subject, queries: Queries, places: Sequence[int]) -> Any:
    """Return the mean features of some queries, (n_places, n_features); X is not copied."""
    rows = [queries.order[queries.start[at] : queries.start[at + 1]] for at in places]
    sizes = np.array([each.size for each in rows])
    starts = np.append(0, np.cumsum(sizes))
    picked = (np.repeat(1.0 / sizes, sizes), np.concatenate(rows), starts)
    means = sparse.csr_matrix(picked, shape=(len(rows), subject.X.shape[0])) @ subject.X
    return means.toarray() if sparse.issparse(means) else np.asarray(means)
