"""Tubes over differences: hinges of residuals, from each query's rows to themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pairrank._protocols import Evaluated, FloatArray, PairSum
from pairrank.compiled.differences import less_labels
from pairrank.pair_sums._bound import as_scores
from pairrank.preferences import Differences, Levels
from pairrank.preferences._codes import count_pairs


class TubeSum:
    r"""The sum of a tube loss over all `Differences`, with gradient and curvature.

    With t = s - y, of any two rows of a query at most one, the one of the greater t, is more than
    epsilon above the other, and

    .. math:: \sum_q \frac1{2 n_q} \sum_{i, j \in q} w_i w_j \max(0, |t_j - t_i| - \varepsilon)^n
        = \sum_q \frac1{n_q} \sum_{i, j \in q} w_i w_j \max(0, -\varepsilon - (t_i - t_j))^n,

    which is a hinge of margin -epsilon from the query's rows to themselves: by sorting one sort of
    t and one merge of the sorted t with itself, by cells one table. No term is negative, so neither
    an offset nor a huge score costs digits. `hinge` returns that sum over levels.

    O(n_rows log n_rows) by sorting, O(n_rows) by cells, for queries of any size; Cortes et al.
    2007, Section 3.2, solve a program over all n_rows^2 pairs instead.
    """

    def __init__(self, differences: Differences, hinge: Callable[[Levels], PairSum]) -> None:
        self.levels, self.target = _as_groups(differences), differences.target
        self.hinge = hinge(self.levels)

    @property
    def error(self) -> float:
        """Bound on the error of the values that follow, see `PairSum`."""
        return self.hinge.error

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores."""
        levels, residual = self.levels, np.zeros(self.levels.n_rows)
        scores = as_scores(scores, levels.n_rows)
        less_labels(scores, self.target, levels.row_of, levels.query_start, residual)
        return self.hinge.at(residual)

    def sharpen(self) -> bool:
        """Let the sum of hinges take a smaller error."""
        return self.hinge.sharpen()


def _as_groups(differences: Differences) -> Levels:
    """Lay each query's rows out as one group that has an edge to itself, scaled by 1/n_q.

    Weights that are equal within each query are part of the scale: what all rows share costs
    neither time nor memory.
    """
    query_of, weight = differences.query_of, differences.weight
    labels = np.zeros(differences.n_rows)
    levels = Levels.build(labels, query_of, graph="chain", sample_weight=weight)
    first = levels.row_of[levels.query_start[:-1]]
    total = differences.query_weight[0 if query_of is None else query_of[first]]
    scale = 1.0 / np.broadcast_to(total, levels.n_queries)
    if levels.weight is not None:
        shared = levels.weight[levels.query_start[:-1]]
        if (levels.weight == np.repeat(shared, np.diff(levels.query_start))).all():
            scale = shared * (shared / total)
            levels = replace(levels, weight=None)
    loops = np.repeat(np.arange(levels.n_queries), 2).reshape(-1, 2)
    n_pairs, pair_weight = count_pairs(levels.group_start, levels.query_group, loops, levels.weight)
    return replace(
        levels,
        edges=loops,
        pair_scale=scale if scale.size != 1 else float(scale[0]),
        n_pairs=n_pairs,
        query_pair_weight=pair_weight,
    )
