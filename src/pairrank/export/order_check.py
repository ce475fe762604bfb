"""Check that exported scores rank rows as the ranker does, query by query."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences import Levels
from pairrank.preferences._codes import query_codes

_LISTED = 5


class OrderChange(NamedTuple):
    """A query whose rows change their order.

    Attributes
    ----------
    qid : object
        The query's identifier; None if all rows are one query.
    n_changed : int
        The pairs of rows that the ranker orders, and that the export reverses or ties.
    n_pairs : int
        The pairs of rows that the ranker orders.
    largest_difference : float
        The largest difference of the ranker's scores within a changed pair.
    """

    qid: Any
    n_changed: int
    n_pairs: int
    largest_difference: float


class OrderCheck(NamedTuple):
    """What an export changes in the order of given rows.

    Attributes
    ----------
    n_rows, n_queries, n_pairs : int
        The rows, their queries, and the pairs of rows of a query that the ranker orders.
    changes : tuple of OrderChange
        The queries whose order changes, the largest difference first.
    """

    n_rows: int
    n_queries: int
    n_pairs: int
    changes: tuple[OrderChange, ...]

    @property
    def n_changed(self) -> int:
        """The number of pairs whose order changes."""
        return sum(change.n_changed for change in self.changes)

    def __str__(self) -> str:
        if not self.changes:
            queries = f"{self.n_queries:,} {'query' if self.n_queries == 1 else 'queries'}"
            return (
                f"the order of all {self.n_pairs:,} pairs is kept ({self.n_rows:,} rows, {queries})"
            )
        if self.changes[0].qid is None:
            return (
                f"the order of {self.n_changed:,} of {self.n_pairs:,} pairs changes (score "
                f"difference up to {self.changes[0].largest_difference:.2g})"
            )
        shown = [
            f"query {each.qid} ({each.n_changed:,} of "
            f"{each.n_pairs:,} pairs, score difference up to {each.largest_difference:.2g})"
            for each in self.changes[:_LISTED]
        ]
        more = len(self.changes) - _LISTED
        return (
            f"the order of {self.n_changed:,} of {self.n_pairs:,} pairs changes, in "
            f"{len(self.changes):,} of {self.n_queries:,} queries: {', '.join(shown)}"
            + (f" and {more:,} more" if more > 0 else "")
        )


def check_order(expected: FloatArray, computed: FloatArray, qid: NDArray[Any] | None) -> OrderCheck:
    """Compare the order of rows by two scores, in each query; O(m log m) for m rows."""
    levels = Levels.build(expected, qid)
    counts = levels.concordance(computed)
    names = [None] if qid is None else query_codes(qid)[0].tolist()
    starts, ordered, changed = levels.query_start, counts.sum(axis=1), counts[:, 1:].sum(axis=1)
    changes = []
    for query in np.flatnonzero(changed):
        rows = levels.row_of[starts[query] : starts[query + 1]]
        difference = _largest_difference(expected[rows], computed[rows])
        sizes = int(changed[query]), int(ordered[query])
        changes.append(OrderChange(names[query], *sizes, difference))
    changes.sort(key=lambda change: -change.largest_difference)
    return OrderCheck(expected.size, levels.n_queries, int(ordered.sum()), tuple(changes))


def _largest_difference(ascending: FloatArray, computed: FloatArray) -> float:
    """Return the largest expected difference of two rows that are not computed in its order.

    For each row the lowest row that is computed at least as high is the first one at which the
    running maximum reaches it.
    """
    lowest = np.searchsorted(np.maximum.accumulate(computed), computed)
    return float((ascending - ascending[lowest]).max())
