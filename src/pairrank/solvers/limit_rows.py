"""The rows' part of an interior point: multipliers and margins, a piece of rows at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.solvers.limit_system import LimitProblem, Piece, RowCurvature


class RowSums(NamedTuple):
    """Sums over the rows at a point.

    Attributes
    ----------
    cost : float
        The sum of c times the squared slack, every slack as the scores have it.
    gradient : ndarray of shape (n_features,)
        X' (alpha - beta).
    totals : ndarray of shape (2, n_groups)
        The sums of beta (of lower limits), alpha (of upper ones) by group.
    products : float
        The sum of multipliers times margins.
    """

    cost: float
    gradient: FloatArray
    totals: FloatArray
    products: float


class LimitRows:
    r"""Each row's two multipliers and margins, and how they move.

    With the multipliers beta of U - s <= y and alpha of s - L <= y, the slack is
    y = (alpha + beta)/(2 c), and the margins are y - (U - s) and y - (s - L). A side that a row's
    group does not have keeps the multiplier 0 and the margin 1.

    Newton's equations for one row, where p and q are the margins of L and U, u = alpha/p,
    v = beta/q, and the multipliers are asked to change by a and b where the margins stay:

    .. math:: \Delta y = \frac{a + b + u \Delta(s - L) + v \Delta(U - s)}{2 c + u + v}, \quad
              \Delta p = \Delta y - \Delta(s - L), \quad \Delta\alpha = a - u \Delta p

    and likewise for q and beta. All is done a piece of rows at a time, so that what is between
    stays in the processor's cache, and eleven numbers per row are kept.

    Parameters
    ----------
    problem : LimitProblem

    Notes
    -----
    Each method costs one pass over the rows, those with X a product with it; memory is 88 bytes per
    row.
    """

    def __init__(self, problem: LimitProblem) -> None:
        self._problem = problem
        self._share = 4.0 * problem.bounded / np.maximum(1, problem.bounded.sum(axis=0))
        self._has = problem.bounded.astype(np.float64)
        shape = (2, problem.n_rows)
        self._multipliers, self._margins = np.empty(shape), np.ones(shape)
        self._multiplier_steps, self._margin_steps = np.zeros(shape), np.zeros(shape)
        self._stiffness, self._inverse = np.empty(shape), np.empty(problem.n_rows)
        for piece in problem.pieces:
            self._multipliers[:, piece.rows] = self._started(piece, 1.0)

    def _started(self, piece: Piece, target: float) -> FloatArray:
        """Return a part of the start's multipliers: w = 0, limits of 1 and -1, slacks of 2."""
        started = piece.by_row(target * self._share)
        started *= self._problem.cost[piece.rows]
        return started

    def measure(self, weights: FloatArray, limits: FloatArray) -> RowSums:
        """Return the sums at the multipliers as they are, for weights and limits."""
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
            squares += float(np.square(total) @ (0.25 / problem.cost[piece.rows]))
        return gradient, squares

    def curvature_of(self, piece: Piece) -> RowCurvature:
        """Return how the multipliers of a piece answer to scores and limits, from here on."""
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
        """Return X' times the multipliers' change where nothing else moves, and its sums by group.

        They head for products of `target` times those of the start, less the products of the step
        that was predicted; None heads for 0.
        """
        problem = self._problem
        gradient, totals = np.zeros(problem.n_features), np.zeros((2, problem.n_groups))
        for piece in problem.pieces:
            if target is None:
                known = self._towards_zero(piece)
            else:
                known = self._with_slacks(piece, self._asked(piece, target))
            gradient += problem.features(piece).T @ (known[1] - known[0])
            piece.add_by_group(known, totals)
        return gradient, totals

    def predict(self, weights: FloatArray, limits: FloatArray) -> tuple[float, float]:
        """Follow the step that heads for products of 0, without taking it.

        Returns
        -------
        steepest : float
            As `step` returns it.
        products : float
            The sum of the multipliers' changes times the margins'. A part t of the step makes the
            products (1 - t) times what they are, and t^2 times this.
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
            # Multipliers fall by 1 and by what their margins gain: kept is minus the product.
            falls += 1.0
            falls *= multipliers
            margins *= falls
            against += float(margins.sum())
        return steepest, -against

    def step(self, weights: FloatArray, limits: FloatArray) -> float:
        """Compute how all moves with weights and limits; return the steepest fall, at most 0.

        A fall is a change divided by what is there: multipliers and margins stay positive along
        less than -1/fall of the step.
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
        """Return the change of multipliers that head for 0, once slacks follow."""
        multipliers = self._multipliers[:, piece.rows]
        slack = multipliers[0] + multipliers[1]
        slack *= self._inverse[piece.rows]
        change = self._stiffness[:, piece.rows] * slack
        change -= multipliers
        return change

    def _asked(self, piece: Piece, target: float) -> FloatArray:
        """Return how multipliers are to change where margins stay; keep it for `step`."""
        asked = self._multiplier_steps[:, piece.rows]
        np.add(self._started(piece, target), self._margin_steps[:, piece.rows], out=asked)
        asked /= self._margins[:, piece.rows]
        asked -= self._multipliers[:, piece.rows]
        return asked

    def _margin_change(self, piece: Piece, wanted: FloatArray, crossing: FloatArray) -> FloatArray:
        """Return how margins change, and keep it; `wanted` is as for `_with_slacks`."""
        slack, margins = wanted[0] + wanted[1], self._margin_steps[:, piece.rows]
        slack *= self._inverse[piece.rows]
        np.subtract(slack, crossing, out=margins)
        margins *= piece.by_row(self._has)
        return margins

    def _with_slacks(self, piece: Piece, wanted: FloatArray) -> FloatArray:
        """Return the change of multipliers, `wanted` being that where slacks stay.

        Where u is huge, a - u dp would lose the digits of what is left.
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
    """Return how far rows lie below their lower limit and above their upper one."""
    crossing = piece.by_row(limits)
    crossing[0] -= scores
    np.subtract(scores, crossing[1], out=crossing[1])
    return crossing
