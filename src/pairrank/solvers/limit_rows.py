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
    v = beta/q, and the multipliers are asked to change by a and b where the margins stay:

    .. math:: \Delta y = \frac{a + b + u \Delta(s - L) + v \Delta(U - s)}{2 c + u + v}, \quad
              \Delta p = \Delta y - \Delta(s - L), \quad \Delta\alpha = a - u \Delta p

    and likewise for q and beta. All is done a piece of rows at a time, so that what is between
    stays in the processor's cache, and eleven numbers a row are kept.

    Parameters
    ----------
    problem : LimitProblem

    Notes
    -----
    Each method costs one pass over the rows, those with X a product with it; memory is 88 bytes a
    row.
    """

    def __init__(self, problem: LimitProblem) -> None:
        self._problem = problem
        self._share = 4.0 * problem.bounded / np.maximum(1, problem.bounded.sum(axis=0))
        self._has = problem.bounded.astype(np.float64)
        shape = (2, problem.n_rows)
        self._pull, self._room = np.empty(shape), np.ones(shape)
        self._pull_step, self._room_step = np.zeros(shape), np.zeros(shape)
        self._stiff, self._ease = np.empty(shape), np.empty(problem.n_rows)
        for piece in problem.pieces:
            self._pull[:, piece.rows] = self._started(piece, 1.0)

    def _started(self, piece: Piece, target: float) -> FloatArray:
        """Return a part of the start's multipliers: w = 0, limits of 1 and -1, slacks of 2."""
        started = piece.by_row(target * self._share)
        started *= self._problem.cost[piece.rows]
        return started

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
        """Return how the multipliers of a piece answer to scores and limits, from here on."""
        stiff, ease = self._stiff[:, piece.rows], self._ease[piece.rows]
        np.divide(self._pull[:, piece.rows], self._room[:, piece.rows], out=stiff)
        twice = 2.0 * self._problem.cost[piece.rows]
        np.add(twice, stiff[0], out=ease)
        ease += stiff[1]
        np.divide(1.0, ease, out=ease)
        twice *= ease
        cross = ease * stiff[0]
        cross *= stiff[1]
        return RowCurvature(twice * stiff, cross)

    def known(self, target: float | None) -> tuple[FloatArray, FloatArray]:
        """Return X' and the sums by group of what the multipliers do where nothing else moves.

        They head for products of `target` times those of the start, the products of the step that
        was foreseen allowed for; None heads for 0.
        """
        problem = self._problem
        drag, pulls = np.zeros(problem.n_features), np.zeros((2, problem.n_groups))
        for piece in problem.pieces:
            if target is None:
                known = self._let_go(piece)
            else:
                known = self._given_way(piece, self._asked(piece, target))
            drag += problem.features(piece).T @ (known[1] - known[0])
            piece.add_by_group(known, pulls)
        return drag, pulls

    def foresee(self, weights: FloatArray, limits: FloatArray) -> tuple[float, float]:
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
            pull = self._pull[:, piece.rows]
            pushed = self._stiff[:, piece.rows] * crossing
            pushed -= pull
            room = self._gained(piece, pushed, crossing)
            falls = np.divide(room, self._room[:, piece.rows], out=pushed)
            steepest = min(steepest, float(falls.min()), -1.0 - float(falls.max()))
            # Multipliers fall by 1 and by what their margins gain: kept is minus the product.
            falls += 1.0
            falls *= pull
            room *= falls
            against += float(room.sum())
        return steepest, -against

    def step(self, weights: FloatArray, limits: FloatArray) -> float:
        """Work out how all moves with weights and limits; return the steepest fall, at most 0.

        A fall is a change divided by what is there: multipliers and margins stay positive along
        less than -1/fall of the step.
        """
        steepest = 0.0
        for piece in self._problem.pieces:
            crossing = _crossing(piece, self._problem.features(piece) @ weights, limits)
            pull = self._pull_step[:, piece.rows]
            pushed = self._stiff[:, piece.rows] * crossing
            pushed += pull
            room = self._gained(piece, pushed, crossing)
            pull[:] = self._given_way(piece, pushed)
            falls = np.divide(room, self._room[:, piece.rows], out=pushed)
            steepest = min(steepest, float(falls.min()))
            np.divide(pull, self._pull[:, piece.rows], out=falls)
            steepest = min(steepest, float(np.fmin.reduce(falls, None)))
        return steepest

    def _let_go(self, piece: Piece) -> FloatArray:
        """Return how multipliers change that head for 0 and that slacks give way to."""
        pull = self._pull[:, piece.rows]
        slack = pull[0] + pull[1]
        slack *= self._ease[piece.rows]
        change = self._stiff[:, piece.rows] * slack
        change -= pull
        return change

    def _asked(self, piece: Piece, target: float) -> FloatArray:
        """Return how multipliers are to change where margins stay; keep it for `step`."""
        asked = self._pull_step[:, piece.rows]
        np.add(self._started(piece, target), self._room_step[:, piece.rows], out=asked)
        asked /= self._room[:, piece.rows]
        asked -= self._pull[:, piece.rows]
        return asked

    def _gained(self, piece: Piece, pushed: FloatArray, crossing: FloatArray) -> FloatArray:
        """Return how margins change, and keep it; multipliers are `pushed` where slacks stay."""
        slack, room = pushed[0] + pushed[1], self._room_step[:, piece.rows]
        slack *= self._ease[piece.rows]
        np.subtract(slack, crossing, out=room)
        room *= piece.by_row(self._has)
        return room

    def _given_way(self, piece: Piece, pushed: FloatArray) -> FloatArray:
        """Return how multipliers change that are `pushed` and that slacks give way to.

        Where u is huge, a - u dp would lose the digits of what is left.
        """
        stiff = self._stiff[:, piece.rows]
        change = (stiff + 2.0 * self._problem.cost[piece.rows])[::-1] * pushed
        change -= stiff * pushed[::-1]
        change *= self._ease[piece.rows]
        return change

    def move(self, length: float) -> None:
        """Take a part of the step."""
        for piece in self._problem.pieces:
            for values, step in ((self._pull, self._pull_step), (self._room, self._room_step)):
                values[:, piece.rows] += length * step[:, piece.rows]


def _crossing(piece: Piece, scores: FloatArray, limits: FloatArray) -> FloatArray:
    """Return how far rows lie below their lower limit and above their upper one."""
    crossing = piece.by_row(limits)
    crossing[0] -= scores
    np.subtract(scores, crossing[1], out=crossing[1])
    return crossing
