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

    Positions, by the scores of each model, count from 1. The label of a row of comparisons are the
    weights that it won and lost.
    """
    wins, losses = preferences.wins_and_losses()

    def label(row: int) -> str:
        return f"{wins[row]:g} : {losses[row]:g}" if isinstance(y, Pairs) else label_text(y[row])

    found = []
    for place in places:
        rows = queries.order[queries.start[place] : queries.start[place + 1]]
        at = _shown(scores[0][rows], (wins - losses)[rows])
        positions = np.transpose([rankdata(-each[rows], method="ordinal") for each in scores])
        shares: list[list[tuple[str, float]]] = [[]] * at.size
        if subject.is_linear:
            shares = largest_shares(subject, rows[at], _mean(subject, rows))
        listed = [
            {
                "positions": position,
                "row": int(row),
                "score": float(scores[0][row]),
                "label": label(row),
                "shares": share,
            }
            for position, row, share in zip(positions[at].tolist(), rows[at], shares, strict=True)
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


def _mean(subject: Subject, rows: Array) -> FloatArray:
    """Return the mean features of some rows, (n_features,); X is not copied."""
    shares = (np.full(rows.size, 1.0 / rows.size), rows, [0, rows.size])
    mean = sparse.csr_array(shares, shape=(1, subject.X.shape[0])) @ subject.X
    return mean.toarray()[0] if sparse.issparse(mean) else mean[0]
