"""The sum of the logistic loss of each query by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pairrank import threads
from pairrank._protocols import FloatArray, PairLoss
from pairrank.compiled.query_costs import costs_of_queries
from pairrank.compiled.sigmoid import LOGISTIC
from pairrank.pair_sums.costs import pairs_of_queries
from pairrank.pair_sums.plan import bind
from pairrank.pair_sums.sigmoid_pairs import PAIRS_A_THREAD, batches
from pairrank.preferences import Levels

FEW_PAIRS = 1 << 19
"""Up to so many pairs take less time one by one, a few ns each, than binding a query's own sum."""
_NONE = np.empty(0)
_NO_EDGES = np.empty((0, 2), dtype=np.int64)


def logistic_costs(levels: Levels, scores: FloatArray, loss: PairLoss, eps: float) -> FloatArray:
    """Return the sum of the logistic loss over each query's preferences, (n_queries,).

    Queries of few pairs are summed pair by pair in one pass over all of them, each other one by the
    sum that `bind` chooses, to an error of `eps` times the weight of its pairs. Pair scales are
    ignored. `scores` (n_rows,) are in the user's order. Costs O(m) for m rows and O(pairs) of the
    small queries.
    """
    laid, n_pairs = scores[levels.row_of], pairs_of_queries(levels)
    n_pairs[levels.query_pair_weight == 0.0] = 0.0
    few = np.flatnonzero((n_pairs > 0.0) & (n_pairs <= FEW_PAIRS))
    win, lose = (_NONE if side is None else side for side in levels.sides)
    edges = _NO_EDGES if levels.edges is None else levels.edges
    groups = levels.group_start, levels.query_group

    def costs_of(batch: slice) -> FloatArray:
        queries = few[batch]
        first = np.searchsorted(edges[:, 0], levels.query_group[queries[0]])
        found = np.empty(queries.size)
        costs_of_queries(LOGISTIC, queries, laid, win, lose, *groups, edges[first:], found)
        return found

    costs = np.zeros(levels.n_queries)
    parts = threads.run(costs_of, batches(n_pairs[few], PAIRS_A_THREAD))
    costs[few] = np.concatenate([_NONE, *parts])
    for query in np.flatnonzero(n_pairs > FEW_PAIRS).tolist():
        part, rows = _alone(levels, query)
        costs[query] = bind(loss, part, pair_sum="auto", eps=eps).at(laid[rows]).value
    return costs


def _alone(levels: Levels, query: int) -> tuple[Levels, slice]:
    """Return a query by itself, over its rows in the order of the layout, and their places."""
    rows = slice(*levels.query_start[query : query + 2].tolist())
    n_rows = rows.stop - rows.start
    order = np.arange(n_rows, dtype=np.int32)
    part = levels.part(query, query + 1)
    return replace(part, n_rows=n_rows, row_of=order, in_order=True, pair_scale=1.0), rows
