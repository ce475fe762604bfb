"""The rows' part of an interior point: multipliers and margins, a piece of rows at a time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.solvers.limit_system import LimitProblem, Piece, RowCurvature


class RowSums(NamedTuple):
    """What the rows say of a point.

    Attributes
    ----------
    cost : float
        The sum of c times the squared slack, every slack as the scores have it.
    drag : ndarray of shape (n_features,)
        X' (alpha - beta).
    pulls : ndarray of shape (2, n_groups)
        The sums of beta (of lower limits), alpha (of upper ones) by group.
    products : float
        The sum of multipliers times margins.
    """

    cost: float
    drag: FloatArray
    pulls: FloatArray
    products: float


class LimitRows:
    r"""Each row's two multipliers and margins, and how they move.

    With the multipliers beta of U - s <= y and alpha of s - L <= y, the slack is
    y = (alpha + beta)/(2 c), and the margins are y - (U - s) and y - (s - L). A side that a row's
    group does not have keeps the multiplier 0 and the margin 1.

    Newton's equations for one row, where p and q are the margins of L and U, u = alpha/p,
    v = beta/q, k = 1/(2c) and e is 1 + k (u + v):

    .. math:: \Delta\alpha &= \frac{u + k u v}e \Delta(s - L) - \frac{k u v}e \Delta(U - s) + \dots

    and likewise for beta. All is done a piece of rows at a time, so that what is between stays in
    the processor's cache, and six numbers a row are kept.

    Parameters
    ----------
    problem : LimitProblem

    Notes
    -----
    Each method costs one pass over the rows, those with X a product with it; memory is 64 bytes a
    row.
    """

    def __init__(self, problem: LimitProblem) -> None:
        self._problem = problem
        self._share = 4.0 * problem.bounded / np.maximum(1, problem.bounded.sum(axis=0))
        shape = (2, problem.n_rows)
        self._pull, self._room = np.empty(shape), np.ones(shape)
        self._pull_step, self._room_step = np.zeros(shape), np.zeros(shape)
        for piece in problem.pieces:
            self._pull[:, piece.rows] = self._started(piece)

    def _started(self, piece: Piece) -> FloatArray:
        """Return the multipliers of the start, where w = 0, limits are 1 and -1 and slacks 2."""
        return piece.by_row(self._share) * self._problem.cost[piece.rows]

    def measure(self, weights: FloatArray, limits: FloatArray) -> RowSums:
        """Return the sums at the multipliers as they are, for weights and limits."""
        problem = self._problem
        cost, drag = 0.0, np.zeros(problem.n_features)
        pulls = np.zeros((2, problem.n_groups))
        open_limits = np.where(problem.bounded, limits, [[-np.inf], [np.inf]])
        for piece in problem.pieces:
            block, pull = problem.features(piece), self._pull[:, piece.rows]
            crossing = _crossing(piece, block @ weights, open_limits)
            slack = np.maximum(np.maximum(crossing[0], crossing[1]), 0.0)
            cost += float(problem.cost[piece.rows] @ np.square(slack))
            drag += block.T @ (pull[1] - pull[0])
            piece.add_by_group(pull, pulls)
        return RowSums(cost, drag, pulls, float(np.vdot(self._pull, self._room)))

    def scaled(self, shares: FloatArray) -> tuple[FloatArray, float]:
        """Return X' (alpha - beta) and the sum of (alpha + beta)^2/(4 c), both times `shares`."""
        problem = self._problem
        drag, squares = np.zeros(problem.n_features), 0.0
        for piece in problem.pieces:
            pull = self._pull[:, piece.rows] * piece.by_row(shares)
            drag += problem.features(piece).T @ (pull[1] - pull[0])
            total = pull[0] + pull[1]
            squares += float(np.square(total) @ (0.25 / problem.cost[piece.rows]))
        return drag, squares

    def curvature_of(self, piece: Piece) -> RowCurvature:
        """Return how the multipliers of a piece answer to scores and limits."""
        stiff, ease, shrink = self._stiffness(piece)
        sides = stiff * shrink
        return RowCurvature(sides, ease * sides[0] * stiff[1])

    def known(self, target: float | None) -> tuple[FloatArray, FloatArray]:
        """Return X' and the sums by group of what the multipliers do where nothing else moves.

        They head for products of `target` times those of the start, the last step's own product
        allowed for; None heads for 0 and knows of no step. `step` builds on what this has found.
        """
        problem = self._problem
        drag, pulls = np.zeros(problem.n_features), np.zeros((2, problem.n_groups))
        for piece in problem.pieces:
            asked = -self._pull[:, piece.rows]
            if target is not None:
                change = target * self._started(piece)
                change -= self._pull_step[:, piece.rows] * self._room_step[:, piece.rows]
                change /= self._room[:, piece.rows]
                asked += change
            stiff, ease, shrink = self._stiffness(piece)
            stiff *= ease
            known = asked * (1.0 + stiff[::-1])
            known -= asked[::-1] * stiff
            known *= shrink
            self._pull_step[:, piece.rows] = known
            drag += problem.features(piece).T @ (known[1] - known[0])
            piece.add_by_group(known, pulls)
        return drag, pulls

    def step(self, weights: FloatArray, limits: FloatArray) -> float:
        """Work out how all moves with weights and limits; return the steepest fall, at most 0.

        A fall is a change divided by what is there: multipliers and margins stay positive along
        less than -1/fall of the step.
        """
        problem, steepest = self._problem, 0.0
        has = problem.bounded.astype(np.float64)
        for piece in problem.pieces:
            stiff, ease, shrink = self._stiffness(piece)
            crossing = _crossing(piece, problem.features(piece) @ weights, limits)
            sides = stiff * shrink
            cross = ease * sides[0] * stiff[1]
            pull = self._pull_step[:, piece.rows]
            pull += sides * crossing
            pull += cross * (crossing - crossing[::-1])
            room = self._room_step[:, piece.rows]
            np.multiply(ease, pull[0] + pull[1], out=room[0])
            room[1] = room[0]
            room -= crossing
            room *= piece.by_row(has)
            steepest = min(steepest, float(np.fmin.reduce(pull / self._pull[:, piece.rows], None)))
            steepest = min(steepest, float(np.min(room / self._room[:, piece.rows])))
        return steepest

    def products_after(self, length: float) -> float:
        """Return the sum of multipliers times margins after a part of the step."""
        first = np.vdot(self._pull, self._room)
        second = np.vdot(self._pull, self._room_step) + np.vdot(self._pull_step, self._room)
        third = np.vdot(self._pull_step, self._room_step)
        return float(first + length * (second + length * third))

    def move(self, length: float) -> None:
        """Take a part of the step."""
        for piece in self._problem.pieces:
            rows = piece.rows
            self._pull[:, rows] += length * self._pull_step[:, rows]
            self._room[:, rows] += length * self._room_step[:, rows]

    def _stiffness(self, piece: Piece) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return (v, u), k and 1/e of a piece."""
        stiff = self._pull[:, piece.rows] / self._room[:, piece.rows]
        ease = 0.5 / self._problem.cost[piece.rows]
        return stiff, ease, 1.0 / (1.0 + ease * (stiff[0] + stiff[1]))


def _crossing(piece: Piece, scores: FloatArray, limits: FloatArray) -> FloatArray:
    """Return how far rows lie below their lower limit and above their upper one."""
    crossing = piece.by_row(limits)
    crossing[0] -= scores
    np.subtract(scores, crossing[1], out=crossing[1])
    return crossing
