"""The sum of the logistic loss of each query by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pairrank._protocols import FloatArray, PairLoss
from pairrank.compiled.sigmoid import LOGISTIC
from pairrank.pair_sums.plan import bind
from pairrank.pair_sums.sigmoid_pairs import SigmoidPairs, jobs_of_queries, pairs_of_queries
from pairrank.preferences import Levels

FEW_PAIRS = 1 << 19
"""Up to so many pairs take less time one by one, a few ns each, than binding a query's own sum."""


def logistic_costs(levels: Levels, scores: FloatArray, loss: PairLoss, eps: float) -> FloatArray:
    """Return the sum of the logistic loss over each query's preferences, (n_queries,).

    Queries of few pairs are summed pair by pair in one pass over all of them, each other one by the
    sum that `bind` chooses, to an error of `eps` times the weight of its pairs. Pair scales are
    ignored. `scores` (n_rows,) are in the user's order. Costs O(m) for m rows and O(pairs) of the
    small queries.
    """
    n_pairs = pairs_of_queries(levels)
    n_pairs[levels.query_pair_weight == 0.0] = 0.0
    few = np.flatnonzero((n_pairs > 0.0) & (n_pairs <= FEW_PAIRS))
    costs = np.zeros(levels.n_queries)
    pairs = SigmoidPairs(levels, LOGISTIC, jobs_of_queries(levels, few))
    costs[few] = pairs.costs(scores, np.zeros(scores.size))
    for query in np.flatnonzero(n_pairs > FEW_PAIRS).tolist():
        rows = slice(*levels.query_start[query : query + 2].tolist())
        n_rows = rows.stop - rows.start
        alone = replace(
            levels.part(query, query + 1),
            n_rows=n_rows,
            row_of=np.arange(n_rows, dtype=np.int32),
            in_order=True,
            pair_scale=1.0,
        )
        costs[query] = bind(loss, alone, eps=eps).at(scores[levels.row_of[rows]]).value
    return costs
