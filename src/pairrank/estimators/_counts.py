"""The numbers of training rows, queries and ties that a fitted ranker shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairrank.estimators._rows import Rows
from pairrank.preferences import Levels, Pairs
from pairrank.preferences._codes import query_codes


def keep_counts(ranker: Any, rows: Rows, preferences: Any) -> None:
    """Set `n_rows_`, `n_queries_` and, where it is known without further work, `n_ties_`.

    Rows of weight 0 are not counted. Costs O(n_rows).
    """
    kept = None if rows.kept_weight is None else rows.kept_weight > 0
    ranker.n_rows_ = int(rows.X.shape[0] if kept is None else kept.sum())
    ranker.n_queries_ = _count_queries(rows, preferences, kept)
    ranker.__dict__.pop("n_ties_", None)
    if isinstance(rows.y, Pairs):
        magnitude = rows.y.magnitude
        ranker.n_ties_ = 0 if magnitude is None else int(np.count_nonzero(magnitude == 0))
    elif isinstance(preferences, Levels):
        sizes = np.diff(preferences.group_start)
        ranker.n_ties_ = int((sizes * (sizes - 1) // 2).sum())


def _count_queries(rows: Rows, preferences: Any, kept: Any) -> int:
    if rows.qid is None:
        return 1
    if isinstance(preferences, Levels):
        return preferences.n_queries
    return int(query_codes(rows.qid if kept is None else rows.qid[kept])[0].size)
