"""Pair sums for autograd: compiled on the CPU, or by torch's operations in tiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable
from torch.nn import functional

from pairrank._protocols import (
    Exponential,
    FloatArray,
    Generic,
    LossFamily,
    PairLoss,
    PiecewisePolynomial,
    Sigmoidal,
    Squares,
    Tubes,
)
from pairrank.exceptions import PairrankError
from pairrank.pair_sums import bind
from pairrank.pair_sums.direct import runs_of
from pairrank.preferences import Differences, Levels, Preferences

TILE = 1 << 20
"""Pairs that are in memory at a time, or those of one winner if there are more."""
_LARGEST = 1e305
"""Larger scores have differences that are not finite."""
_SCALE = math.sqrt(3.0) / math.pi
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


class Evaluation(NamedTuple):
    """A sum over pairs at some scores; tensors are on the device of the scores."""

    value: Tensor
    """The sum, a scalar."""
    gradient: Tensor
    """Its gradient by the scores, (n_rows,)."""
    product: Callable[[Tensor], Tensor]
    """Returns the Hessian times a vector, both (n_rows,) in the type of `gradient`."""


Evaluate = Callable[[Tensor], Evaluation]
"""From scores of shape (n_rows,), without a graph, to an `Evaluation` at them."""


def sum_type(device: torch.device) -> torch.dtype:
    """Return the type that sums have on a device: float64, or float32 where there is no other."""
    return torch.float32 if device.type == "mps" else torch.float64


def differentiable(scores: Tensor, evaluate: Evaluate) -> Tensor:
    """Return the value of a sum as a scalar that can be differentiated twice by the scores.

    The value has the type of the scores, float32 for types of 16 bits; the gradient has the type of
    the scores.
    """
    value: Tensor = _Value.apply(scores, evaluate)
    return value


class _Value(Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, evaluate: Evaluate) -> Tensor:
        with torch.autocast(scores.device.type, enabled=False):
            found = evaluate(scores.detach())
        ctx.found = found._replace(value=found.value.detach())  # not the output: no cycle
        ctx.save_for_backward(scores)
        return found.value.to(scores.device, torch.promote_types(scores.dtype, torch.float32))

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        (scores,) = ctx.saved_tensors
        return _Gradient.apply(upstream[0], scores, ctx.found), None


class _Gradient(Function):
    @staticmethod
    def forward(ctx: Any, upstream: Tensor, scores: Tensor, found: Evaluation) -> Tensor:
        ctx.found = found
        ctx.save_for_backward(upstream, scores)
        return (found.gradient * upstream).to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *vectors: Tensor) -> Any:
        upstream, scores = ctx.saved_tensors
        gradient = ctx.found.gradient
        v = vectors[0].to(gradient.dtype)
        with torch.autocast(scores.device.type, enabled=False):
            product = ctx.found.product(v) * upstream
        by_upstream = torch.dot(gradient, v).to(upstream.dtype)
        return by_upstream, product.to(scores.dtype), None


def compiled_sum(
    loss: PairLoss, preferences: Preferences | Differences, factor: float, eps: float
) -> Evaluate:
    """Return a function that evaluates factor times the sum of a loss, on the CPU in float64."""
    bound: Any = bind(loss, preferences, eps=eps)

    def evaluate(scores: Tensor) -> Evaluation:
        found = bound.at(as_floats(scores))

        def tensor(values: FloatArray) -> Tensor:
            return torch.from_numpy(factor * values).to(sum_type(scores.device)).to(scores.device)

        def product(v: Tensor) -> Tensor:
            if _is_piecewise_linear(loss.family):
                return torch.zeros_like(v)
            if not loss.smooth:
                raise PairrankError(
                    f"the loss {loss!r} has no second derivative, so its gradient cannot be "
                    "differentiated: take a smooth loss"
                )
            return tensor(found.curvature().matvec(as_floats(v)))

        value = torch.tensor(factor * found.value, dtype=sum_type(scores.device))
        return Evaluation(value, tensor(found.gradient), product)

    return evaluate


def as_floats(values: Tensor) -> FloatArray:
    """Return a tensor as a contiguous float64 array, which may share its memory."""
    array = values.detach().to("cpu", torch.float64).contiguous().numpy()
    return np.ascontiguousarray(array)


def _is_piecewise_linear(family: LossFamily) -> bool:
    """Whether the second derivative is 0 wherever it exists."""
    if isinstance(family, Tubes):
        return family.power == 1
    if isinstance(family, PiecewisePolynomial):
        return all(power == 1 for _, power, _ in family.terms)
    return False


def tiled_sum(
    loss: PairLoss,
    preferences: Preferences | Differences,
    factor: float,
    device: torch.device,
) -> Evaluate:
    """Return a function that evaluates factor times the sum of a loss, pair by pair on a device.

    It is exact, costs O(pairs), and takes memory for the rows and `TILE` pairs.
    """
    if isinstance(loss.family, Generic):
        raise PairrankError(
            f"backend='torch' cannot sum {loss!r}, whose phi takes numpy arrays: use "
            "backend='auto' or 'compiled', or a loss of a known family"
        )
    tiles = _Tiles(loss.family, _runs_of(preferences), device)

    def evaluate(scores: Tensor) -> Evaluation:
        scores = scores.to(sum_type(device))
        if not bool((scores.abs() <= _LARGEST).all()):
            nan = torch.full_like(scores, torch.nan)
            return Evaluation(scores.new_tensor(torch.inf), nan, lambda v: nan * v)
        value, gradient = tiles.gradient(scores)
        value = torch.where(value.isnan(), torch.inf, factor * value)
        return Evaluation(value, factor * gradient, lambda v: factor * tiles.product(scores, v))

    return evaluate


class _Runs(NamedTuple):
    """Pairs as runs: a winner and the losers at successive places of a layout of the rows.

    Loser k of run r is at the place ``start[r] + k``, for k below ``count[r]``; the pair weighs
    ``weight[r] * loser_weight[start[r] + k]``, and its margin is measured from ``shift[r]``.
    """

    row_of: Any
    """The row at each place, (n_places,)."""
    target: FloatArray
    """What is subtracted from the score at each place, (n_places,)."""
    loser_weight: FloatArray
    winner: Any
    """The winner's place, (n_runs,), as all that follow."""
    start: Any
    count: Any
    weight: FloatArray
    shift: FloatArray


def _runs_of(preferences: Preferences | Differences) -> _Runs:
    if isinstance(preferences, Differences):
        return _runs_of_differences(preferences)
    if isinstance(preferences, Levels):
        row_of, n_places = preferences.row_of, preferences.row_of.size
        winner, start, count = runs_of(preferences)
        wins, loses = (np.ones(n_places) if side is None else side for side in preferences.sides)
        scale = np.broadcast_to(preferences.pair_scale, preferences.n_queries)
        weight = (wins * np.repeat(scale, np.diff(preferences.query_start)))[winner]
        shift = np.zeros(winner.size)
    else:
        row_of, n_places = np.arange(preferences.n_rows, dtype=np.int32), preferences.n_rows
        winner, start = (each.astype(np.int64) for each in (preferences.i, preferences.j))
        loses = np.ones(n_places)
        one = np.ones(winner.size)
        weight, shift = (
            one if each is None else each for each in (preferences.weight, preferences.magnitude)
        )
        count, weight = one.astype(int), preferences.pair_scale * weight
    return _Runs(row_of, np.zeros(n_places), loses, winner, start, count, weight, shift)


def _runs_of_differences(differences: Differences) -> _Runs:
    """Return a run per row, over all rows of its query."""
    n_rows = differences.n_rows
    order = np.argsort(differences.query_of, kind="stable")
    query, sizes = differences.query_of[order], np.bincount(differences.query_of)
    start, count = (np.cumsum(sizes) - sizes)[query], sizes[query]
    share = 0.5 * differences.share()[order]
    runs = (np.arange(n_rows), start, count, share, np.zeros(n_rows))
    return _Runs(order, differences.target[order], differences.weight[order], *runs)


class _Tile(NamedTuple):
    """Some runs of about one length, padded to the longest; winners are columns."""

    winner: Tensor
    loser: Tensor
    """Places, (n_runs, longest)."""
    weight: Tensor
    """Weights of the pairs, 0 for padding."""
    d: Tensor
    """Margins; 0 where the weight is 0, so that no infinite cost is multiplied by 0."""


class _Tiles:
    """The sum of a loss of a family over runs of pairs, tile by tile on a device."""

    def __init__(self, family: LossFamily, runs: _Runs, device: torch.device) -> None:
        kept = np.flatnonzero((runs.count > 0) & (runs.weight > 0.0))
        kept = kept[np.argsort(runs.count[kept], kind="stable")]
        counts = runs.count[kept]

        def tensor(values: Any) -> Tensor:
            kind = sum_type(device) if values.dtype.kind == "f" else torch.int64
            return torch.from_numpy(np.ascontiguousarray(values)).to(kind).to(device)

        self.family, self.is_shifted = family, isinstance(family, Squares | Tubes)
        places, of_runs = runs[:3], (each[kept] for each in runs[3:])
        self.row_of, self.target, self.loser_weight = (tensor(each) for each in places)
        self.winner, self.start, self.count, self.weight, self.shift = map(tensor, of_runs)
        self.parts = list(_parts(counts))

    def gradient(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Return the value, and the gradient by row."""
        value, gradient = scores.new_zeros(()), torch.zeros_like(self.loser_weight)
        for tile in self._tiles(scores):
            value = value + (tile.weight * phi(self.family, tile.d, 0)).sum()
            _scatter(gradient, tile, tile.weight * phi(self.family, tile.d, 1))
        return value, self._by_row(gradient, scores)

    def product(self, scores: Tensor, v: Tensor) -> Tensor:
        """Return the Hessian times v, by row."""
        v, result = v[self.row_of], torch.zeros_like(self.loser_weight)
        for tile in self._tiles(scores):
            change = v[tile.winner] - v[tile.loser]
            _scatter(result, tile, tile.weight * phi(self.family, tile.d, 2) * change)
        return self._by_row(result, scores)

    def _tiles(self, scores: Tensor) -> Iterator[_Tile]:
        laid = scores[self.row_of] - self.target
        for part, longest in self.parts:
            winner, start, count = (
                each[part, None] for each in (self.winner, self.start, self.count)
            )
            within = torch.arange(longest, device=laid.device)
            loser = start + torch.minimum(within, count - 1)
            weight = self.weight[part, None] * self.loser_weight[loser] * (within < count)
            d = laid[winner] - laid[loser]
            if self.is_shifted:
                d = d - self.shift[part, None]
            yield _Tile(winner, loser, weight, torch.where(weight > 0.0, d, 0.0))

    def _by_row(self, laid: Tensor, scores: Tensor) -> Tensor:
        return torch.zeros_like(scores).index_copy_(0, self.row_of, laid)


def _parts(counts: Any) -> Iterator[tuple[slice, int]]:
    """Yield slices of runs in ascending order of length, of about `TILE` pairs, and the longest."""
    stop = counts.size
    while stop:
        longest = int(counts[stop - 1])
        start = max(0, stop - max(1, TILE // longest))
        yield slice(start, stop), longest
        stop = start


def _scatter(total: Tensor, tile: _Tile, of_pairs: Tensor) -> None:
    """Add what pairs give to their winners, and subtract it from their losers."""
    total.index_add_(0, tile.winner[:, 0], of_pairs.sum(1))
    total.index_add_(0, tile.loser.flatten(), of_pairs.flatten(), alpha=-1.0)


def phi(family: LossFamily, d: Tensor, order: int) -> Tensor:
    """Return the cost of each margin d, or its first or second derivative.

    It is the `phi` of losses, which states what counts at kinks; squares and tubes get margins less
    the magnitude wanted.
    """
    if isinstance(family, Sigmoidal):
        return _sigmoidal(family.value if order == 0 else family.slope, d, order)
    if isinstance(family, PiecewisePolynomial):
        terms = [c * _power((m - d).clamp(min=0.0), p, order) for m, p, c in family.terms]
        return torch.stack(terms).sum(dim=0)
    if isinstance(family, Exponential):
        return (-1.0) ** order * torch.exp(-d)
    assert isinstance(family, Squares | Tubes)
    if isinstance(family, Squares):
        return (d * d, 2.0 * d, torch.full_like(d, 2.0))[order]
    cost = _power((d.abs() - family.epsilon).clamp(min=0.0), family.power, order)
    return -cost * d.sign() if order == 1 else cost


def _sigmoidal(name: str, d: Tensor, order: int) -> Tensor:
    """Return phi of "logistic" or "probit", or a derivative."""
    if name == "logistic":
        if order == 0:
            return -functional.logsigmoid(d)
        if order == 1:
            return -torch.sigmoid(-d)
        return torch.sigmoid(d) * torch.sigmoid(-d)
    x = _SCALE * d
    if order == 0:
        return (-d).clamp(min=0.0) + _normal_tail(x.abs()) / _SCALE
    if order == 1:
        return -torch.special.ndtr(-x)
    return _SCALE * _DENSITY * torch.exp(-0.5 * x * x)


def _power(over: Tensor, power: int, order: int) -> Tensor:
    """Return over**power or a derivative by the margin, 0 where `over` is 0."""
    if order == 0:
        return over**power
    some = (over > 0.0).to(over.dtype)
    return power * (power - 1) * some if order == 2 else -power * over ** (power - 1) * some


def _normal_tail(x: Tensor) -> Tensor:
    """Return pdf(x) - x Phi(-x) for x >= 0."""
    scaled = _DENSITY - 0.5 * x * torch.special.erfcx(x / math.sqrt(2.0))
    return torch.exp(-0.5 * x * x) * scaled.clamp(min=0.0)
