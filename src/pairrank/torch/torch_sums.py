"""Pair sums by torch's operations, on the device of the scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from pairrank._protocols import (
    Exponential,
    Generic,
    PairLoss,
    PiecewisePolynomial,
    Sigmoidal,
    Squares,
    Tubes,
)
from pairrank.exceptions import PairrankError
from pairrank.pair_sums.profiles import MOST
from pairrank.preferences import Differences, Levels, Pairs
from pairrank.torch import meetings as meeting
from pairrank.torch.autograd import Evaluate, Evaluation, sum_type
from pairrank.torch.exponential_sums import ExponentialMeetings
from pairrank.torch.hinge_sums import HingeMeetings
from pairrank.torch.phi import phi
from pairrank.torch.sigmoid_sums import SigmoidMeetings

Pair = tuple[Tensor, Tensor]


class MeetingLoss(Protocol):
    """A loss summed over meetings; winners and losers have scores and weights of two dimensions."""

    def gradient(self, s: Pair, weight: Pair) -> tuple[Tensor, Tensor, Tensor]:
        """Return the value, and the gradients by the scores of winners and of losers."""

    def product(self, s: Pair, weight: Pair, v: Pair) -> Pair:
        """Return the Hessian times v, for winners and for losers."""


class TorchSum(Protocol):
    """A sum over pairs of known rows, at their scores, (n_rows,), in the type that it sums in."""

    def gradient(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Return the value and the gradient."""

    def product(self, scores: Tensor, v: Tensor) -> Tensor:
        """Return the Hessian times v."""


def torch_sum(
    loss: PairLoss,
    preferences: Levels | Pairs | Differences,
    factor: float,
    eps: float,
    device: torch.device,
) -> Evaluate:
    """Return a function that evaluates factor times the sum of a loss, on a device."""
    if isinstance(loss.family, Generic):
        raise PairrankError(
            f"backend='torch' cannot sum {loss!r}, whose phi takes numpy arrays: use "
            "backend='auto' or 'compiled', or a loss of a known family"
        )
    dtype = sum_type(device)
    own = _sum_of(loss, preferences, eps, lambda array: _tensor(array, device, dtype))

    def evaluate(scores: Tensor) -> Evaluation:
        scores = scores.to(dtype)
        if not bool((scores.abs() <= MOST).all()):
            nan = torch.full_like(scores, torch.nan)
            return Evaluation(scores.new_tensor(torch.inf), nan, lambda v: nan * v)
        value, gradient = own.gradient(scores)
        value = torch.where(value.isnan(), torch.inf, factor * value)
        return Evaluation(value, factor * gradient, lambda v: factor * own.product(scores, v))

    return evaluate


def _tensor(array: Any, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return an array on the device: numbers in the type of the sums, indices in int64."""
    array = np.asarray(array)
    kind = dtype if array.dtype.kind == "f" else torch.int64
    return torch.from_numpy(np.ascontiguousarray(array)).to(kind).to(device)


To = Callable[[Any], Tensor]


def _sum_of(
    loss: PairLoss, preferences: Levels | Pairs | Differences, eps: float, to: To
) -> TorchSum:
    family = loss.family
    if isinstance(preferences, Pairs):
        return ListedPairs(family, preferences, to)
    if isinstance(preferences, Differences):
        if isinstance(family, Squares):
            return CentredSquares(preferences, to)
        assert isinstance(family, Tubes)
        tube = HingeMeetings(((-family.epsilon, family.power, 2.0),))
        order, met = meeting.of_queries(preferences)
        weight = preferences.weight
        weight = np.ones(order.size) if weight is None else weight[order]
        target = to(preferences.target[order])
        return MeetingSum(tube, met, order, (to(weight), to(weight)), target)
    sides = [np.ones(preferences.row_of.size) if w is None else w for w in preferences.sides]
    met = meeting.of_levels(preferences)
    weights = (to(sides[0]), to(sides[1]))
    return MeetingSum(_loss_of(family, eps), met, preferences.row_of, weights)


def _loss_of(family: Any, eps: float) -> MeetingLoss:
    if isinstance(family, PiecewisePolynomial):
        return HingeMeetings(family.terms)
    if isinstance(family, Exponential):
        return ExponentialMeetings(family.rate)
    assert isinstance(family, Sigmoidal)
    return SigmoidMeetings(family, eps)


class MeetingSum:
    """The sum of a loss over meetings of rows; `target` is subtracted from the scores.

    `row_of` is the row at each place of the layout, `weights` are those of winners and of losers
    in the layout, both on the device of the scores.
    """

    def __init__(
        self,
        loss: MeetingLoss,
        meetings: meeting.Meetings,
        row_of: Any,
        weights: Pair,
        target: Tensor | None = None,
    ) -> None:
        self.loss, self.weights, self.target = loss, weights, target
        row_of = torch.from_numpy(np.asarray(row_of, dtype=np.int64))
        self.row_of = row_of.to(weights[0].device)
        self.batches = meeting.batches(meetings, row_of.numel(), weights[0])

    def gradient(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Return the value and the gradient."""
        laid = self._laid(scores)
        value, gradient = laid.new_zeros(()), torch.zeros_like(laid)
        for batch in self.batches:
            winners, losers = batch.sides(self.weights)
            s = laid[winners.place], laid[losers.place]
            found, won, lost = self.loss.gradient(s, (winners.weight, losers.weight))
            value = value + found
            _add(gradient, winners, won)
            _add(gradient, losers, lost)
        return value, self._by_row(gradient, scores)

    def product(self, scores: Tensor, v: Tensor) -> Tensor:
        """Return the Hessian times v."""
        laid, v = self._laid(scores), v[self.row_of]
        result = torch.zeros_like(laid)
        for batch in self.batches:
            winners, losers = batch.sides(self.weights)
            places = winners.place, losers.place
            s, of_batch = (tuple(each[place] for place in places) for each in (laid, v))
            won, lost = self.loss.product(s, (winners.weight, losers.weight), of_batch)
            _add(result, winners, won)
            _add(result, losers, lost)
        return self._by_row(result, scores)

    def _laid(self, scores: Tensor) -> Tensor:
        laid = scores[self.row_of]
        return laid if self.target is None else laid - self.target

    def _by_row(self, laid: Tensor, scores: Tensor) -> Tensor:
        return torch.zeros_like(scores).index_copy_(0, self.row_of, laid)


def _add(total: Tensor, side: meeting.Side, values: Tensor) -> None:
    total.index_add_(0, side.place.flatten(), values.flatten())


class CentredSquares:
    """Squared differences of each query, as the norm of its centred residual."""

    def __init__(self, differences: Differences, to: To) -> None:
        n_rows, n_queries = differences.n_rows, differences.query_weight.size
        query_of = np.zeros(n_rows, int) if differences.query_of is None else differences.query_of
        weight = np.ones(n_rows) if differences.weight is None else differences.weight
        self.target, self.query_of, self.weight = map(to, (differences.target, query_of, weight))
        total = torch.zeros(n_queries, dtype=self.weight.dtype, device=self.weight.device)
        total.index_add_(0, self.query_of, self.weight)
        self.total = torch.where(total > 0.0, total, 1.0)

    def gradient(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Return the value and the gradient."""
        residual = self._centred(scores - self.target)
        slope = self.weight * residual
        return (slope * residual).sum(), 2.0 * slope

    def product(self, scores: Tensor, v: Tensor) -> Tensor:
        """Return the Hessian times v."""
        return 2.0 * self.weight * self._centred(v)

    def _centred(self, values: Tensor) -> Tensor:
        """Return values minus the mean of their query, and minus the mean of what rounding left."""
        for _ in range(2):
            sums = torch.zeros_like(self.total)
            sums.index_add_(0, self.query_of, self.weight * values)
            values = values - (sums / self.total)[self.query_of]
        return values


class ListedPairs:
    """The sum of a loss over explicit comparisons, one by one."""

    def __init__(self, family: Any, pairs: Pairs, to: To) -> None:
        self.family = family
        self.i, self.j = to(pairs.i), to(pairs.j)
        weight = np.ones(pairs.n_pairs) if pairs.weight is None else pairs.weight
        self.weight = to(weight * pairs.pair_scale)
        of_differences = isinstance(family, Squares | Tubes)
        magnitude = np.full(pairs.n_pairs, float(of_differences))
        self.magnitude = to(magnitude if pairs.magnitude is None else pairs.magnitude)

    def gradient(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Return the value and the gradient."""
        d = scores[self.i] - scores[self.j]
        value = (self.weight * phi(self.family, d, self.magnitude, 0)).sum()
        return value, self._by_row(scores, phi(self.family, d, self.magnitude, 1))

    def product(self, scores: Tensor, v: Tensor) -> Tensor:
        """Return the Hessian times v."""
        d = scores[self.i] - scores[self.j]
        curvature = phi(self.family, d, self.magnitude, 2)
        return self._by_row(scores, curvature * (v[self.i] - v[self.j]))

    def _by_row(self, scores: Tensor, of_pairs: Tensor) -> Tensor:
        change = self.weight * of_pairs
        result = torch.zeros_like(scores).index_add_(0, self.i, change)
        return result.index_add_(0, self.j, -change)
