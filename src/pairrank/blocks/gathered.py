"""GatheredRows: crossing queries of few rows, summed in memory by the client."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pairrank._protocols import Evaluated, FloatArray, PairLoss
from pairrank.design import Design
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels

GATHERED_ENTRIES = 1 << 23
"""Crossing rows whose X has at most so many entries are gathered."""

BlockRows = dict[int, Any]
"""The X of the crossing rows of each block, by its number."""


class GatheredRows:
    """A loss over crossing queries, all of whose rows are in memory.

    `preferences` are over these rows, in the order of the blocks and of `BlockLayout.rows`. The
    queries cost no second pass then.
    """

    def __init__(
        self,
        rows: BlockRows,
        preferences: Levels | Differences,
        loss: PairLoss,
        *,
        algorithm: str,
        eps: float,
    ) -> None:
        parts = [rows[index] for index in sorted(rows)]
        stacked = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else None
        self.design = Design(np.concatenate(parts) if stacked is None else stacked)
        self._bound = bind(loss, preferences, pair_sum=algorithm, eps=eps)

    def at(self, w: FloatArray) -> tuple[Evaluated, FloatArray]:
        """Return the sum at some weights, and its gradient by them."""
        scores = self.design.scores(w) if w.any() else np.zeros(self.design.n_rows)
        found = self._bound.at(scores)
        return found, self.design.transposed(found.gradient)

    def product(self, w: FloatArray, v: FloatArray) -> FloatArray:
        """Return the Hessian at `w` times `v`."""
        curvature = self._bound.at(self.design.scores(w)).curvature()
        return self.design.transposed(curvature.matvec(self.design.scores(v)))

    def sharpen(self) -> bool:
        """Allow a smaller error; False where it cannot be smaller."""
        return bool(self._bound.sharpen())
