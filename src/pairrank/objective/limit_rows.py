"""LimitRows: the rows' multipliers and margins in the interior point method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.compiled import limit_rows as passes
from pairrank.objective.newton_systems import newton_system
from pairrank.solvers.limit_system import NewtonSystem, RowSums

if TYPE_CHECKING:
    from pairrank.objective.hull_objective import HullObjective, Piece


class LimitRows:
    r"""Each row's two multipliers and margins, and their Newton steps.

    With the multipliers beta of U - s <= y and alpha of s - L <= y, the slack is
    y = (alpha + beta)/(2 c), and the margins are y - (U - s) and y - (s - L). Where a row's group
    lacks a limit, its multiplier stays 0 and its margin 1.

    Newton's equations for one row, where p and q are the margins of L and U, u = alpha/p,
    v = beta/q, and a and b are the changes of the multipliers at fixed margins:

    .. math:: \Delta y = \frac{a + b + u \Delta(s - L) + v \Delta(U - s)}{2 c + u + v}, \quad
              \Delta p = \Delta y - \Delta(s - L), \quad \Delta\alpha = a - u \Delta p

    and likewise for q and beta. Fifteen numbers per row are kept. Each method costs one compiled
    pass over the rows and at most two products with X.
    """

    def __init__(self, problem: HullObjective) -> None:
        self.problem = problem
        self._share = 4.0 * problem.bounded / np.maximum(1, problem.bounded.sum(axis=0))
        self._is_bounded = problem.bounded.astype(np.float64)
        n_blocks = -(-problem.n_rows // passes.BLOCK)
        self._lines = np.zeros((n_blocks, passes.N_LINES, passes.BLOCK))
        self._state = self._lines.reshape(-1)
        self._segments = {piece: _segments(piece) for piece in problem.pieces}
        for piece in problem.pieces:
            cost = problem.cost[piece.rows]
            self.set_numbers(passes.COST, cost, piece.rows)
            for side, share in enumerate(piece.by_row(self._share)):
                self.set_numbers(passes.MULTIPLIERS + side, share * cost, piece.rows)
                self.set_numbers(passes.MARGINS + side, np.ones(cost.size), piece.rows)

    def numbers(self, line: int) -> FloatArray:
        """Return a line of the state of the compiled passes, (n_rows,)."""
        return self._lines[:, line].reshape(-1)[: self.problem.n_rows]

    def set_numbers(self, line: int, values: FloatArray, rows: slice = slice(None)) -> None:
        """Set a line of the state of the compiled passes for some rows, (n,)."""
        row = np.arange(*rows.indices(self.problem.n_rows))
        place = row // passes.BLOCK * self._lines[0].size + row % passes.BLOCK
        self._state[place + line * passes.BLOCK] = values

    def move(self, length: float, weights: FloatArray, limits: FloatArray) -> RowSums:
        """Take a part of the step; return the sums there, for the weights and limits there."""
        problem, (gradient, totals) = self.problem, self._no_sums()
        cost, products, ones = 0.0, 0.0, np.ones(problem.bounded.shape)
        open_limits = np.where(problem.bounded, limits, [[-np.inf], [np.inf]])
        for piece, segments, work in self._pieces():
            block = problem.features(piece)
            found = passes.move(
                self._state, segments, length, block @ weights, open_limits, ones, work, totals
            )
            cost, products = cost + found[0], products + found[1]
            gradient += block.T @ work
        return RowSums(cost, gradient, totals, products)

    def scaled(self, shares: FloatArray) -> tuple[FloatArray, float]:
        """Return X' (alpha - beta) and the sum of (alpha + beta)^2/(4 c), both times `shares`."""
        (gradient, totals), squares = self._no_sums(), 0.0  # totals stand for limits, unused
        for piece, segments, work in self._pieces():
            scores = np.zeros(work.size)
            found = passes.move(self._state, segments, 0.0, scores, totals, shares, work, totals)
            squares += found[2]
            gradient += self.problem.features(piece).T @ work
        return gradient, squares

    def system(self, stiffness: FloatArray) -> NewtonSystem:
        """Return Newton's equations here, for the edges' multipliers over their margins."""
        return newton_system(self.problem, self._couple, stiffness)

    def _couple(self, piece: Piece, totals: FloatArray) -> FloatArray:
        """Update the factors of a piece; return its coupling, as `newton_system` needs it."""
        sides = np.empty((2, piece.rows.stop - piece.rows.start))
        passes.couple(self._state, self._segments[piece], sides, totals)
        return sides

    def known(self, target: float | None) -> tuple[FloatArray, FloatArray]:
        """Return X' times the multipliers' change at fixed scores, and its sums by group.

        The aim is products of `target` times those of the start, less the products of the last
        `step`; None aims at 0. The next `step` has this aim.
        """
        gradient, totals = self._no_sums()
        aims, second = (0.0, 0.0) if target is None else (target, 1.0)
        aims_of_groups = aims * self._share
        for piece, segments, work in self._pieces():
            passes.ask(self._state, segments, aims_of_groups, second, work, totals)
            gradient += self.problem.features(piece).T @ work
        return gradient, totals

    def step(self, weights: FloatArray, limits: FloatArray) -> tuple[float, float]:
        """Compute the step for a change of weights and limits, without taking it.

        Returns the steepest fall, and the sum of the multipliers' changes times the margins'
        changes. A fall is a relative change, at most 0: multipliers and margins stay positive along
        less than -1/fall of the step.
        """
        products = 0.0
        for piece, segments, _ in self._pieces():
            scores = self.problem.features(piece) @ weights
            products += passes.step(self._state, segments, self._is_bounded, scores, limits)
        return float(self._lines[:, passes.FALLS].min()), products

    def _pieces(self) -> Iterator[tuple[Piece, NDArray[np.uint64], FloatArray]]:
        """Yield each piece, its segments, and an array with a number per row for the result."""
        for piece, segments in self._segments.items():
            yield piece, segments, np.empty(piece.rows.stop - piece.rows.start)

    def _no_sums(self) -> tuple[FloatArray, FloatArray]:
        return np.zeros(self.problem.n_features), np.zeros((2, self.problem.n_groups))


def _segments(piece: Piece) -> NDArray[np.uint64]:
    """Return the parts of a piece's rows by block and group, as the compiled passes take them."""
    first, last, size = piece.rows.start, piece.rows.stop, passes.BLOCK
    blocks = np.arange(first // size * size, last, size)[1:] - first
    bounds = np.union1d(piece.start, blocks)
    begin, row = bounds[:-1], bounds[:-1] + first
    place = row // size * (size * passes.N_LINES) + row % size
    group = np.searchsorted(piece.start, begin, side="right") - 1 + piece.groups.start
    return np.column_stack((place, np.diff(bounds), begin, group)).astype(np.uint64)
