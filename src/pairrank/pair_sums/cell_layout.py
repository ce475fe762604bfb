"""Cell sums in the order of the labels, for scores in the user's order."""

from __future__ import annotations

import numpy as np

from pairrank import threads
from pairrank._protocols import Evaluated, FloatArray, MultipleCurvature, PairSum
from pairrank.compiled import layout
from pairrank.pair_sums._bound import OneByOne, as_scores
from pairrank.pair_sums.cell_plan import ROWS_PER_BLOCK
from pairrank.preferences import Levels


class InLayout:
    """A sum over rows in the order of their labels, for scores in the user's order."""

    error = 0.0

    def __init__(self, levels: Levels, inner: PairSum) -> None:
        self._levels, self._inner = levels, inner

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores."""
        scores = as_scores(scores, self._levels.n_rows)
        found = self._inner.at(to_layout(self._levels, scores))
        return found._replace(
            gradient=from_layout(self._levels, found.gradient),
            curvature=lambda: _LayoutCurvature(self._levels, found.curvature()),
        )

    def sharpen(self) -> bool:
        """Sharpen the sum."""
        return self._inner.sharpen()


class _LayoutCurvature(OneByOne):
    def __init__(self, levels: Levels, inner: MultipleCurvature) -> None:
        self._levels, self._inner = levels, inner

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        v = as_scores(v, self._levels.n_rows)
        return from_layout(self._levels, self._inner.matvec(to_layout(self._levels, v)))

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        return from_layout(self._levels, self._inner.diagonal())


def to_layout(levels: Levels, values: FloatArray) -> FloatArray:
    """Return one value per row in the order of the layout."""
    result = np.empty(levels.row_of.size)
    threads.run(
        lambda rows: layout.gather(values, levels.row_of[rows], result[rows]),
        threads.blocks(result.size, ROWS_PER_BLOCK),
    )
    return result


def from_layout(levels: Levels, values: FloatArray) -> FloatArray:
    """Return one value per row of the layout in the user's order; dropped rows get 0."""
    n_kept = levels.row_of.size
    result = np.empty(n_kept) if n_kept == levels.n_rows else np.zeros(levels.n_rows)

    threads.run(
        lambda rows: layout.scatter(values[rows], levels.row_of[rows], result),
        threads.blocks(n_kept, ROWS_PER_BLOCK),
    )
    return result
