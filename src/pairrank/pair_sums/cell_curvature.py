"""The curvature of a cell sum at fixed scores."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from pairrank import threads
from pairrank._protocols import FloatArray, PairSum
from pairrank.pair_sums._bound import OneByOne, as_scores
from pairrank.pair_sums.cell_layout import from_layout
from pairrank.pair_sums.cell_plan import ROWS_PER_BLOCK, weight_of_sides
from pairrank.preferences import Levels


class AddsPartners(Protocol):
    """The sums of a unit or of bands at some scores."""

    def add_partners(self, values: FloatArray, result: FloatArray) -> None:
        """Add 2 c times the sum of the values of each row's partners that are counted in."""


class CellCurvature(OneByOne):
    """The generalised Hessian of a `CellSum` at fixed scores: diag(partners of 1) - partners."""

    def __init__(
        self,
        levels: Levels,
        rest: PairSum | None,
        scores: FloatArray,
        states: Sequence[AddsPartners],
    ) -> None:
        self._n_rows, self._states = scores.size, states
        self._rest = None if rest is None else rest.at(scores).curvature()
        sides = weight_of_sides(levels)
        self._weight = None
        if sides.size:
            self._weight = np.stack([from_layout(levels, side) for side in sides])

    @functools.cached_property
    def _own(self) -> FloatArray:
        """What a row's own value is multiplied by, (n_rows,)."""
        return self._partners(np.ones(self._n_rows))

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        v = as_scores(v, self._n_rows)
        partners = self._partners(v)
        result = np.empty(self._n_rows)
        own = self._own

        def subtract(rows: slice) -> None:
            np.multiply(own[rows], v[rows], out=result[rows])
            result[rows] -= partners[rows]

        threads.run(subtract, threads.blocks(self._n_rows, ROWS_PER_BLOCK))
        return result if self._rest is None else result + self._rest.matvec(v)

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        return self._own if self._rest is None else self._own + self._rest.diagonal()

    def _partners(self, values: FloatArray) -> FloatArray:
        """Return 2 c times the weighted sum of the values of each row's partners, (n_rows,)."""
        values = values[np.newaxis] if self._weight is None else values * self._weight
        result = np.zeros(values.shape)
        for state in self._states:
            state.add_partners(values, result)
        return result[0] if self._weight is None else (result * self._weight).sum(axis=0)
