"""The direct sum of any loss over every pair, in tiles of pairs, by its numpy `phi`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, PairLoss
from pairrank.exceptions import PairrankError
from pairrank.pair_sums._bound import BoundSum, as_scores
from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

TILE = 1 << 18
"""Pairs per tile: 2 MB per array, about eight arrays at a time; small queries share a tile."""
MOST_PAIRS = 10**10
"""More pairs than this need pair_sum="direct"."""
NANOSECONDS = 25.0
"""The approximate cost of a pair, with a phi of a few operations."""


class Tile(NamedTuple):
    """Some pairs: the places of winners and losers in the layout, and the pairs' weights."""

    winner: IntArray
    loser: IntArray
    weight: FloatArray | None


class DirectSum(BoundSum):
    """The sum of any `phi` over the preferences of `Levels`, O(pairs) per evaluation.

    Parameters
    ----------
    levels : Levels
        Any order graph, weights (also by role) and scales.
    loss : PairLoss
        Its `phi` is called on arrays of margins; products with the Hessian need order 2.
    insist : bool
        Allow any number of pairs.

    Raises
    ------
    PairrankError
        If there are more than 10^10 pairs, unless `insist`.

    Notes
    -----
    Costs about 25 ns per pair. Memory beyond the scores is 16 MB for the tile, or some arrays of
    the rows where one row is preferred to more rows than a tile has pairs. The rounding of a row's
    gradient is that of a plain sum over its pairs.
    """

    def __init__(self, levels: Levels, loss: PairLoss, *, insist: bool = False) -> None:
        if levels.n_pairs > MOST_PAIRS and not insist:
            name = type(getattr(loss, "given", loss)).__name__
            raise PairrankError(
                f"the loss {name} has no fast sum, and one evaluation over "
                f"{levels.n_pairs:,} pairs would take about "
                f"{levels.n_pairs * NANOSECONDS * 1e-9 / 60:,.0f} minutes: take a loss with a fast "
                "sum, a sample of the rows, or insist by pair_sum='direct'"
            )
        self.levels, self.loss, self.smooth = levels, loss, loss.smooth
        self.n_rows = levels.n_rows
        self._row, self._begin, self._count = _runs(levels)
        self._win_weight, self._lose_weight = _pair_weights(levels)
        self._ends = _tile_ends(self._count)

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return, for each row, the sum over its pairs of weight * phi'(d) (v_i - v_j).

        For each row v of `vectors`; both (n_vectors, n_rows). Costs as much as a gradient.
        """
        scores = as_scores(scores, self.n_rows)
        return self.products(scores, vectors, order=1, sign=1.0)

    def tiles(self, s: FloatArray) -> Iterator[tuple[Tile, FloatArray]]:
        """Yield all pairs with their margins, for scores `s` in layout order."""
        start = 0
        for end in self._ends:
            count, row = self._count[start:end], self._row[start:end]
            winner = np.repeat(row, count)
            shift = self._begin[start:end] - (np.cumsum(count) - count)
            loser = np.arange(winner.size) + np.repeat(shift, count)
            weight = None
            if self._win_weight is not None:
                weight = self._win_weight[winner]
                if self._lose_weight is not None:
                    weight *= self._lose_weight[loser]
            with np.errstate(over="ignore"):
                yield Tile(winner, loser, weight), s[winner] - s[loser]
            start = end

    def phi(self, tile: Tile, d: FloatArray, order: int) -> FloatArray:
        """Return each pair's weight times phi or a derivative of it."""
        with np.errstate(all="ignore"):
            result = np.asarray(self.loss.phi(d, order=order), dtype=np.float64)
            if tile.weight is None:
                return result
            none = np.zeros(result.size)  # Of a pair of weight 0, whose cost may be infinite.
            return np.multiply(result, tile.weight, out=none, where=tile.weight > 0)

    def products(
        self, scores: FloatArray, vectors: FloatArray, *, order: int, sign: float
    ) -> FloatArray:
        """Return each row's sums of phi^(order)(d) (v_i - v_j), times `sign` for lost pairs."""
        laid = [as_scores(v, self.n_rows)[self.levels.row_of] for v in vectors]
        results = np.zeros((len(laid), self.levels.row_of.size))
        for tile, d in self.tiles(scores[self.levels.row_of]):
            factor = self.phi(tile, d, order)
            for v, result in zip(laid, results, strict=True):
                change = factor * (v[tile.winner] - v[tile.loser])
                _add(result, tile.winner, change)
                _add(result, tile.loser, sign * change)
        return self._to_user(results)

    def diagonal(self, scores: FloatArray) -> FloatArray:
        """Return the sum of phi''(d) over each row's pairs, (n_rows,)."""
        result = np.zeros(self.levels.row_of.size)
        for tile, d in self.tiles(scores[self.levels.row_of]):
            curvature = self.phi(tile, d, 2)
            _add(result, tile.winner, curvature)
            _add(result, tile.loser, curvature)
        return self._to_user(result[np.newaxis])[0]

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = 0.0, np.zeros(self.levels.row_of.size)
        for tile, d in self.tiles(scores[self.levels.row_of]):
            value += float(self.phi(tile, d, 0).sum())
            slope = self.phi(tile, d, 1)
            _add(gradient, tile.winner, slope)
            _add(gradient, tile.loser, -slope)
        return value, self._to_user(gradient[np.newaxis])[0]

    def _curvature(self, scores: FloatArray) -> DirectCurvature:
        return DirectCurvature(self, scores.copy())

    def _to_user(self, laid: FloatArray) -> FloatArray:
        """Bring arrays from layout order to the user's order; dropped rows get 0."""
        result = np.zeros((len(laid), self.n_rows))
        result[:, self.levels.row_of] = laid
        return result


class DirectCurvature:
    """The Hessian of a `DirectSum` at fixed scores; only the scores are stored."""

    def __init__(self, owner: DirectSum, scores: FloatArray) -> None:
        self.owner, self.scores = owner, scores

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        return self.matmat(as_scores(v, self.owner.n_rows)[np.newaxis])[0]

    def matmat(self, vectors: FloatArray) -> FloatArray:
        """Return the Hessian times each row of `vectors`, both (n_vectors, n_rows)."""
        return self.owner.products(self.scores, vectors, order=2, sign=-1.0)

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        return self.owner.diagonal(self.scores)


def _runs(levels: Levels) -> tuple[IntArray, IntArray, IntArray]:
    """Return runs of pairs: a winner's place, and the first place and the number of its losers.

    Under the full graph a row has one run, the lower groups of its query, else one per edge.
    """
    start, sizes = levels.group_start, np.diff(levels.group_start)
    if levels.edges is None:
        first = np.repeat(levels.query_start[:-1], np.diff(levels.query_start))
        row = np.arange(levels.row_of.size)
        count = np.repeat(start[:-1], sizes) - first
    else:
        low, high = levels.edges.T
        n = sizes[high]
        row = np.arange(int(n.sum())) + np.repeat(start[high] - (np.cumsum(n) - n), n)
        first, count = np.repeat(start[low], n), np.repeat(sizes[low], n)
    some = count > 0
    return row[some], first[some], count[some]


def _pair_weights(levels: Levels) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the winner's and the loser's factor of a pair's weight, by place; None means 1.

    The winner's factor includes the scale of the query.
    """
    scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
    winner, loser = levels.sides
    if winner is None and (scale == 1.0).all():
        return None, None
    by_row = np.repeat(scale, np.diff(levels.query_start))
    return by_row if winner is None else by_row * winner, loser


def _tile_ends(count: IntArray) -> list[int]:
    """Cut runs into tiles of at most `TILE` pairs, or of one run."""
    ends: list[int] = []
    done = np.cumsum(count)
    start = 0
    while start < count.size:
        before = int(done[start - 1]) if start else 0
        start = max(int(np.searchsorted(done, before + TILE, side="right")), start + 1)
        ends.append(start)
    return ends


@np.errstate(over="ignore", invalid="ignore")
def _add(result: FloatArray, places: IntArray, values: FloatArray) -> None:
    """Add values at places, which lie close together within a tile."""
    low, high = int(places.min()), int(places.max()) + 1
    result[low:high] += np.bincount(places - low, values, high - low)
