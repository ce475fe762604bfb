"""Sums pair by pair: of any loss over levels, in tiles of pairs, and over explicit comparisons."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import (
    Curvature,
    FloatArray,
    LossFamily,
    PairLoss,
    PiecewisePolynomial,
    Sigmoidal,
    Squares,
    Tubes,
)
from pairrank.compiled import explicit
from pairrank.compiled.sigmoid import LOGISTIC, PROBIT
from pairrank.exceptions import PairrankError
from pairrank.pair_sums._bound import BoundSum, OneByOne, as_scores
from pairrank.pair_sums.sigmoid_pairs import batches
from pairrank.preferences import Levels, Pairs

IntArray = NDArray[np.int64]

TILE = 1 << 18
"""Pairs per tile: 2 MB per array, about eight arrays at a time; small queries share a tile."""
MOST_PAIRS = 10**10
"""More pairs than this need pair_sum="direct"."""
NANOSECONDS = 25.0
"""The approximate cost of a pair, with a phi of a few operations."""
_NONE = np.empty(0)


class Tile(NamedTuple):
    """Some pairs: the rows of winners and losers, the pairs' weights and magnitudes."""

    winner: NDArray[np.integer]
    loser: NDArray[np.integer]
    weight: FloatArray | float
    magnitude: FloatArray | float


class TiledSum(BoundSum):
    """The sum of any `phi` over the pairs that a subclass lists; O(pairs) per evaluation.

    The rounding of a row's gradient is that of a plain sum over its pairs.
    """

    loss: PairLoss

    @abstractmethod
    def tiles(self) -> Iterator[Tile]:
        """Yield all pairs."""

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return, for each row, the sum over its pairs of weight * phi'(d) (v_i - v_j).

        For each row v of `vectors`; both (n_vectors, n_rows). Costs a gradient each.
        """
        scores = as_scores(scores, self.n_rows)
        found = [self.product(scores, v, order=1, sign=1.0) for v in vectors]
        return np.reshape(found, (-1, self.n_rows))

    def phi(self, tile: Tile, scores: FloatArray, order: int) -> FloatArray:
        """Return each pair's weight times phi or a derivative of it."""
        with np.errstate(all="ignore"):
            d = scores[tile.winner] - scores[tile.loser]
            result = np.asarray(self.loss.phi(d, tile.magnitude, order), dtype=np.float64)
            none = np.zeros(d.size)  # Of a pair of weight 0, whose cost may be infinite.
            return np.multiply(result, tile.weight, out=none, where=np.greater(tile.weight, 0))

    @np.errstate(over="ignore", invalid="ignore")
    def product(self, scores: FloatArray, v: FloatArray, *, order: int, sign: float) -> FloatArray:
        """Return each row's sums of phi^(order)(d) (v_i - v_j), times `sign` for lost pairs."""
        v, result = as_scores(v, self.n_rows), np.zeros(self.n_rows)
        for tile in self.tiles():
            change = v[tile.winner] - v[tile.loser]
            result += self.by_row(tile, self.phi(tile, scores, order) * change, sign)
        return result

    @np.errstate(over="ignore", invalid="ignore")
    def by_row(self, tile: Tile, values: FloatArray, sign: float) -> FloatArray:
        """Return the sums of values over the pairs that each row wins, and `sign` times loses."""
        won = np.bincount(tile.winner, values, self.n_rows)
        return np.asarray(won + sign * np.bincount(tile.loser, values, self.n_rows))

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = 0.0, np.zeros(self.n_rows)
        for tile in self.tiles():
            value += float(self.phi(tile, scores, 0).sum())
            gradient += self.by_row(tile, self.phi(tile, scores, 1), -1.0)
        return value, gradient

    def _curvature(self, scores: FloatArray) -> Curvature:
        return TiledCurvature(self, scores.copy())


class TiledCurvature(OneByOne):
    """The Hessian of a `TiledSum` at fixed scores; only the scores are stored."""

    def __init__(self, owner: TiledSum, scores: FloatArray) -> None:
        self.owner, self.scores = owner, scores

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        return self.owner.product(self.scores, v, order=2, sign=-1.0)

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        owner, result = self.owner, np.zeros(self.owner.n_rows)
        for tile in owner.tiles():
            result += owner.by_row(tile, owner.phi(tile, self.scores, 2), 1.0)
        return result


class DirectSum(TiledSum):
    """The sum of any `phi` over the preferences of `Levels`.

    Costs about 25 ns per pair. Memory beyond the scores is 16 MB for the tile, or some arrays of
    the rows. A PairrankError is raised if there are more than 10^10 pairs, unless `insist`.
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
        self._row, self._begin, self._count = runs_of(levels)
        scale = np.broadcast_to(np.asarray(levels.pair_scale, dtype=np.float64), levels.n_queries)
        self._scale = np.repeat(scale, np.diff(levels.query_start))
        self._tiles = batches(self._count, max(TILE, self.n_rows // 4))

    def tiles(self) -> Iterator[Tile]:
        """Yield all pairs."""
        row_of, (win, lose) = self.levels.row_of, self.levels.sides
        for runs in self._tiles:
            count = self._count[runs]
            winner = np.repeat(self._row[runs], count)
            shift = self._begin[runs] - (np.cumsum(count) - count)
            loser = np.arange(winner.size) + np.repeat(shift, count)
            weight = self._scale[winner]
            if win is not None and lose is not None:
                weight *= win[winner] * lose[loser]
            yield Tile(row_of[winner], row_of[loser], weight, 0.0)


def runs_of(levels: Levels) -> tuple[IntArray, IntArray, IntArray]:
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


class ExplicitSum(TiledSum):
    """The exact sum of weight phi(d, magnitude) over `Pairs`, bound to the rows of an X.

    Hinges, tubes, squares, logistic and probit have compiled loops for value and gradient. The
    rounding of a row's gradient is about 2e-15 of the sum of its absolute terms. A curvature keeps
    8 bytes per comparison; that of squares is the comparisons' weights.
    """

    def __init__(self, pairs: Pairs, loss: PairLoss) -> None:
        self.pairs, self.loss, self.n_rows, self.smooth = pairs, loss, pairs.n_rows, loss.smooth

    def tiles(self) -> Iterator[Tile]:
        """Yield all comparisons."""
        pairs, size = self.pairs, max(TILE, self.n_rows // 4)
        for start in range(0, pairs.n_pairs, size):
            part = slice(start, start + size)
            weight = pairs.pair_scale * (1.0 if pairs.weight is None else pairs.weight[part])
            magnitude = 1.0 if pairs.magnitude is None else pairs.magnitude[part]
            yield Tile(pairs.i[part], pairs.j[part], weight, magnitude)

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        pairs, gradient = self.pairs, np.zeros(self.n_rows)
        weight, magnitude = (
            _NONE if each is None else each for each in (pairs.weight, pairs.magnitude)
        )
        code, parameter = _code_of(self.loss.family)
        if code is None:
            return super()._value_and_gradient(scores)
        if code in (LOGISTIC, PROBIT):
            value = explicit.gradient_over_sigmoids(
                code, pairs.i, pairs.j, weight, scores, gradient
            )
        else:
            value = explicit.gradient_over_kinks(
                code, parameter, pairs.i, pairs.j, weight, magnitude, scores, gradient
            )
        gradient *= pairs.pair_scale
        return pairs.pair_scale * value, gradient

    def _curvature(self, scores: FloatArray) -> Curvature:
        pairs = self.pairs
        if isinstance(self.loss.family, Squares):
            return ExplicitCurvature(pairs, pairs.weight, 2.0 * pairs.pair_scale)
        curvature, start = np.empty(pairs.n_pairs), 0
        for tile in self.tiles():
            found = self.phi(tile, scores, 2)
            curvature[start : start + found.size] = found
            start += found.size
        return ExplicitCurvature(pairs, curvature)


class ExplicitCurvature(OneByOne):
    """The Laplacian M D M' of comparisons: M their incidences, D their weights times phi''.

    D is `scale` times `curvature`, (n_pairs,), or times 1 where that is None.
    """

    def __init__(self, pairs: Pairs, curvature: FloatArray | None, scale: float = 1.0) -> None:
        self.pairs, self.curvature, self.scale = pairs, curvature, scale

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,); O(n_pairs)."""
        pairs, result = self.pairs, np.zeros(self.pairs.n_rows)
        weight = _NONE if self.curvature is None else self.curvature
        explicit.laplacian_product(pairs.i, pairs.j, weight, as_scores(v, result.size), result)
        return self.scale * result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        ends, n_rows = (self.pairs.i, self.pairs.j), self.pairs.n_rows
        degrees = [np.bincount(each, self.curvature, n_rows) for each in ends]
        return np.asarray(self.scale * np.sum(degrees, axis=0))


def _code_of(family: LossFamily) -> tuple[int | None, float]:
    """Return the compiled code and the parameter of a loss; None where there is no code."""
    if isinstance(family, Sigmoidal) and family.value == family.slope:
        return (LOGISTIC if family.value == "logistic" else PROBIT), 0.0
    if isinstance(family, PiecewisePolynomial) and len(family.terms) == 1:
        margin, power, factor = family.terms[0]
        if factor == 1.0 and power in (1, 2):
            return (explicit.HINGE, explicit.SQUARED_HINGE)[power - 1], margin
    if isinstance(family, Squares):
        return explicit.SQUARED_TUBE, 0.0
    if isinstance(family, Tubes):
        return (explicit.TUBE, explicit.SQUARED_TUBE)[family.power - 1], family.epsilon
    return None, 0.0
