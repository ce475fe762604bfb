"""Cell sums in the order of the labels, for scores in the user's order."""

from __future__ import annotations

import numpy as np

from pairrank import threads
from pairrank._protocols import Evaluated, FloatArray, MultipleCurvature, PairSum
from pairrank.compiled import layout
from pairrank.pair_sums._bound import OneByOne, as_scores
from pairrank.pair_sums.cell_plan import ROWS_PER_BLOCK
from pairrank.preferences import Levels


class Passage:
    """Moves values per row between the user's order and that of the labels.

    Both ways values are read in order and written where they belong: a write elsewhere in memory
    need not be waited for, so it costs little more than half of a read. 4 bytes per row.
    """

    def __init__(self, levels: Levels) -> None:
        self.levels = levels
        self.n_rows = levels.n_rows
        self._place_of = np.empty(self.n_rows, dtype=np.int32)
        n_kept = levels.row_of.size
        if n_kept < self.n_rows:
            dropped = np.ones(self.n_rows, dtype=bool)
            dropped[levels.row_of] = False
            self._place_of[dropped] = np.arange(n_kept, self.n_rows, dtype=np.int32)
        self._place_of[levels.row_of] = np.arange(n_kept, dtype=np.int32)

    def to_layout(self, values: FloatArray) -> FloatArray:
        """Return values (n_rows,) in the order of the layout, (n_kept,)."""
        result = np.empty(self.n_rows)
        threads.run(
            lambda rows: layout.scatter(values[rows], self._place_of[rows], result),
            threads.blocks(self.n_rows, ROWS_PER_BLOCK),
        )
        return result[: self.levels.row_of.size]

    def from_layout(self, values: FloatArray) -> FloatArray:
        """Return values (n_kept,) of the layout in the user's order, (n_rows,)."""
        return from_layout(self.levels, values)


class InLayout:
    """A sum over rows in the order of their labels, for scores in the user's order."""

    error = 0.0

    def __init__(self, levels: Levels, inner: PairSum) -> None:
        self._levels, self._inner, self._passage = levels, inner, Passage(levels)

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores."""
        scores = as_scores(scores, self._levels.n_rows)
        found, passage = self._inner.at(self._passage.to_layout(scores)), self._passage
        return found._replace(
            gradient=passage.from_layout(found.gradient),
            curvature=lambda: _LayoutCurvature(passage, found.curvature()),
        )

    def sharpen(self) -> bool:
        """Sharpen the sum."""
        return self._inner.sharpen()


class _LayoutCurvature(OneByOne):
    def __init__(self, passage: Passage, inner: MultipleCurvature) -> None:
        self._passage, self._inner = passage, inner

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        v = as_scores(v, self._passage.n_rows)
        return self._passage.from_layout(self._inner.matvec(self._passage.to_layout(v)))

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        return self._passage.from_layout(self._inner.diagonal())


def from_layout(levels: Levels, values: FloatArray) -> FloatArray:
    """Return one value per row of the layout in the user's order; dropped rows get 0."""
    n_kept = levels.row_of.size
    result = np.empty(n_kept) if n_kept == levels.n_rows else np.zeros(levels.n_rows)

    threads.run(
        lambda rows: layout.scatter(values[rows], levels.row_of[rows], result),
        threads.blocks(n_kept, ROWS_PER_BLOCK),
    )
    return result
