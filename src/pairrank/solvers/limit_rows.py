"""LimitRows: the rows' multipliers and margins in the interior point method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.solvers.limit_system import LimitProblem, Piece, RowCurvature


class RowSums(NamedTuple):
    """Sums over the rows at a point."""

    cost: float
    """The sum of c times the squared slack of the scores."""
    gradient: FloatArray
    """X' (alpha - beta), (n_features,)."""
    totals: FloatArray
    """The sums of beta (lower limits) and alpha (upper limits) by group, (2, n_groups)."""
    products: float
    """The sum of multipliers times margins."""


class LimitRows:
    r"""Each row's two multipliers and margins, and their Newton steps.

    With the multipliers beta of U - s <= y and alpha of s - L <= y, the slack is
    y = (alpha + beta)/(2 c), and the margins are y - (U - s) and y - (s - L). Where a row's group
    lacks a limit, its multiplier stays 0 and its margin 1.

    Newton's equations for one row, where p and q are the margins of L and U, u = alpha/p,
    v = beta/q, and a and b are the changes of the multipliers at fixed margins:

    .. math:: \Delta y = \frac{a + b + u \Delta(s - L) + v \Delta(U - s)}{2 c + u + v}, \quad
              \Delta p = \Delta y - \Delta(s - L), \quad \Delta\alpha = a - u \Delta p

    and likewise for q and beta. Rows are processed in pieces that fit into the processor's cache,
    and eleven numbers per row are kept. Each method costs one pass over the rows and at most two
    products with X.
    """

    def __init__(self, problem: LimitProblem) -> None:
        self._problem = problem
        self._share = 4.0 * problem.bounded / np.maximum(1, problem.bounded.sum(axis=0))
        self._is_bounded = problem.bounded.astype(np.float64)
        shape = (2, problem.n_rows)
        self._multipliers, self._margins = np.empty(shape), np.ones(shape)
        self._multiplier_steps, self._margin_steps = np.zeros(shape), np.zeros(shape)
        self._stiffness, self._inverse = np.empty(shape), np.empty(problem.n_rows)
        for piece in problem.pieces:
            self._multipliers[:, piece.rows] = self._initial(piece, 1.0)

    def _initial(self, piece: Piece, target: float) -> FloatArray:
        """Return `target` times the multipliers of the start."""
        multipliers = piece.by_row(target * self._share)
        multipliers *= self._problem.cost[piece.rows]
        return multipliers

    def measure(self, weights: FloatArray, limits: FloatArray) -> RowSums:
        """Return the sums for the current multipliers, and for weights and limits."""
        problem = self._problem
        cost, gradient = 0.0, np.zeros(problem.n_features)
        totals = np.zeros((2, problem.n_groups))
        open_limits = np.where(problem.bounded, limits, [[-np.inf], [np.inf]])
        for piece in problem.pieces:
            block, multipliers = problem.features(piece), self._multipliers[:, piece.rows]
            crossing = _crossing(piece, block @ weights, open_limits)
            slack = np.maximum(np.maximum(crossing[0], crossing[1]), 0.0)
            cost += float(problem.cost[piece.rows] @ np.square(slack))
            gradient += block.T @ (multipliers[1] - multipliers[0])
            piece.add_by_group(multipliers, totals)
        return RowSums(cost, gradient, totals, float(np.vdot(self._multipliers, self._margins)))

    def scaled(self, shares: FloatArray) -> tuple[FloatArray, float]:
        """Return X' (alpha - beta) and the sum of (alpha + beta)^2/(4 c), both times `shares`."""
        problem = self._problem
        gradient, squares = np.zeros(problem.n_features), 0.0
        for piece in problem.pieces:
            multipliers = self._multipliers[:, piece.rows] * piece.by_row(shares)
            gradient += problem.features(piece).T @ (multipliers[1] - multipliers[0])
            total = multipliers[0] + multipliers[1]
            squares += float(total @ (0.25 / problem.cost[piece.rows] * total))
        return gradient, squares

    def curvature_of(self, piece: Piece) -> RowCurvature:
        """Return the `RowCurvature` of a piece at the current point, and keep its factors."""
        stiffness, inverse = self._stiffness[:, piece.rows], self._inverse[piece.rows]
        np.divide(self._multipliers[:, piece.rows], self._margins[:, piece.rows], out=stiffness)
        twice = 2.0 * self._problem.cost[piece.rows]
        np.add(twice, stiffness[0], out=inverse)
        inverse += stiffness[1]
        np.divide(1.0, inverse, out=inverse)
        twice *= inverse
        cross = inverse * stiffness[0]
        cross *= stiffness[1]
        return RowCurvature(twice * stiffness, cross)

    def known(self, target: float | None) -> tuple[FloatArray, FloatArray]:
        """Return X' times the multipliers' change at fixed scores, and its sums by group.

        The aim is products of `target` times those of the start, less the products of the
        predicted step; None aims at 0.
        """
        problem = self._problem
        gradient, totals = np.zeros(problem.n_features), np.zeros((2, problem.n_groups))
        for piece in problem.pieces:
            if target is None:
                known = self._towards_zero(piece)
            else:
                known = self._with_slacks(piece, self._asked_change(piece, target))
            gradient += problem.features(piece).T @ (known[1] - known[0])
            piece.add_by_group(known, totals)
        return gradient, totals

    def predict(self, weights: FloatArray, limits: FloatArray) -> tuple[float, float]:
        """Measure the step that aims at products of 0, without taking it.

        Returns its steepest fall, as `step` does, and the sum of the multipliers' changes times the
        margins' changes: a part t of the step gives (1 - t) times the current products plus t^2
        times this sum.
        """
        steepest, against = -1.0, 0.0
        for piece in self._problem.pieces:
            crossing = _crossing(piece, self._problem.features(piece) @ weights, limits)
            multipliers = self._multipliers[:, piece.rows]
            wanted = self._stiffness[:, piece.rows] * crossing
            wanted -= multipliers
            margins = self._margin_change(piece, wanted, crossing)
            falls = np.divide(margins, self._margins[:, piece.rows], out=wanted)
            steepest = min(steepest, float(falls.min()), -1.0 - float(falls.max()))
            # A multiplier's relative change is -1 less that of its margin; the sum has its sign
            # reversed.
            falls += 1.0
            falls *= multipliers
            margins *= falls
            against += float(margins.sum())
        return steepest, -against

    def step(self, weights: FloatArray, limits: FloatArray) -> float:
        """Compute the step for a change of weights and limits; return the steepest fall.

        A fall is a relative change, at most 0: multipliers and margins stay positive along less
        than -1/fall of the step.
        """
        steepest = 0.0
        for piece in self._problem.pieces:
            crossing = _crossing(piece, self._problem.features(piece) @ weights, limits)
            multipliers = self._multiplier_steps[:, piece.rows]
            wanted = self._stiffness[:, piece.rows] * crossing
            wanted += multipliers
            margins = self._margin_change(piece, wanted, crossing)
            multipliers[:] = self._with_slacks(piece, wanted)
            falls = np.divide(margins, self._margins[:, piece.rows], out=wanted)
            steepest = min(steepest, float(falls.min()))
            np.divide(multipliers, self._multipliers[:, piece.rows], out=falls)
            steepest = min(steepest, float(np.fmin.reduce(falls, None)))
        return steepest

    def _towards_zero(self, piece: Piece) -> FloatArray:
        """Return the change of multipliers that aim at 0, slacks included."""
        multipliers = self._multipliers[:, piece.rows]
        slack = multipliers[0] + multipliers[1]
        slack *= self._inverse[piece.rows]
        change = self._stiffness[:, piece.rows] * slack
        change -= multipliers
        return change

    def _asked_change(self, piece: Piece, target: float) -> FloatArray:
        """Return the change of multipliers at fixed margins; keep it for `step`."""
        asked = self._multiplier_steps[:, piece.rows]
        np.add(self._initial(piece, target), self._margin_steps[:, piece.rows], out=asked)
        asked /= self._margins[:, piece.rows]
        asked -= self._multipliers[:, piece.rows]
        return asked

    def _margin_change(self, piece: Piece, wanted: FloatArray, crossing: FloatArray) -> FloatArray:
        """Return and keep the change of margins; `wanted` is as for `_with_slacks`."""
        slack, margins = wanted[0] + wanted[1], self._margin_steps[:, piece.rows]
        slack *= self._inverse[piece.rows]
        np.subtract(slack, crossing, out=margins)
        margins *= piece.by_row(self._is_bounded)
        return margins

    def _with_slacks(self, piece: Piece, wanted: FloatArray) -> FloatArray:
        """Return the change of multipliers from `wanted`, the change at fixed slacks.

        Where u is huge, computing a - u dp directly would cancel all digits.
        """
        stiffness = self._stiffness[:, piece.rows]
        change = (stiffness + 2.0 * self._problem.cost[piece.rows])[::-1] * wanted
        change -= stiffness * wanted[::-1]
        change *= self._inverse[piece.rows]
        return change

    def move(self, length: float) -> None:
        """Take a part of the step."""
        for piece in self._problem.pieces:
            for values, step in (
                (self._multipliers, self._multiplier_steps),
                (self._margins, self._margin_steps),
            ):
                values[:, piece.rows] += length * step[:, piece.rows]


def _crossing(piece: Piece, scores: FloatArray, limits: FloatArray) -> FloatArray:
    """Return the distances of rows below their lower limit and above their upper one."""
    crossing = piece.by_row(limits)
    crossing[0] -= scores
    np.subtract(scores, crossing[1], out=crossing[1])
    return crossing
