"""Sums of logistic, probit and raykar over meetings: pair by pair, or by boxes."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from pairrank._protocols import LossFamily, Sigmoidal
from pairrank.pair_sums.profiles import COST, CURVATURE, SIGMOID, Profile
from pairrank.torch.boxes import Boxes
from pairrank.torch.phi import phi

KINDS = {"logistic": 0, "probit": 1}
"""The place of each loss in the tables of profiles."""
PAIRS_PER_ROW = 256
"""Meetings of fewer pairs per row are summed pair by pair."""
TILE = 1 << 20
"""Pairs per tile."""

Pair = tuple[Tensor, Tensor]
"""Numbers of winners and of losers, (n_meetings, n_winners) and (n_meetings, n_losers)."""


class SigmoidMeetings:
    """The sum of a sigmoidal loss over all winners and losers of meetings.

    Small meetings are summed pair by pair, exactly; others by boxes, where a row's gradient may be
    off by eps times the weight of its pairs.
    """

    def __init__(self, family: Sigmoidal, eps: float) -> None:
        self.family, self.eps = family, eps
        kind = KINDS[family.slope]
        self._profiles = COST[KINDS[family.value]], SIGMOID[kind], CURVATURE[kind]

    def gradient(self, s: Pair, weight: Pair) -> tuple[Tensor, Tensor, Tensor]:
        """Return the value, and the gradients by the scores of winners and of losers."""
        if is_small(s):
            return pairwise_gradient(self.family, s, weight)
        cost, sigmoid, _ = self._profiles
        boxes = Boxes((cost, sigmoid), self.eps, s)
        costs, below = boxes.sums((cost, sigmoid), weight[1][None], of_winners=True)[:, 0]
        (above,) = boxes.sums((sigmoid,), weight[0][None], of_winners=False)[:, 0]
        total = weight[1].sum(1, keepdim=True)
        return (weight[0] * costs).sum(), weight[0] * (below - total), weight[1] * above

    def product(self, s: Pair, weight: Pair, v: Pair) -> Pair:
        """Return the Hessian times v, for winners and for losers."""
        if is_small(s):
            return pairwise_product(self.family, s, weight, v)
        profiles: tuple[Profile, ...] = (self._profiles[2],)
        boxes = Boxes(profiles, self.eps, s)
        results = []
        for own, other in ((0, 1), (1, 0)):
            columns = torch.stack((weight[other], weight[other] * v[other]))
            ones, values = boxes.sums(profiles, columns, of_winners=own == 0)[0]
            results.append(weight[own] * (v[own] * ones - values))
        return results[0], results[1]


def is_small(s: Pair) -> bool:
    """Whether meetings of this size are summed pair by pair."""
    n_winners, n_losers = s[0].shape[1], s[1].shape[1]
    return n_winners * n_losers <= PAIRS_PER_ROW * (n_winners + n_losers)


def pairwise_gradient(family: LossFamily, s: Pair, weight: Pair) -> tuple[Tensor, Tensor, Tensor]:
    """Return value and gradients pair by pair, in tiles."""
    value, gradients = s[0].new_zeros(()), [torch.zeros_like(each) for each in s]
    for part, winners in _tiles(s):
        d = s[0][part, winners, None] - s[1][part, None, :]
        pairs = weight[0][part, winners, None] * weight[1][part, None, :]
        value = value + (pairs * phi(family, d, 0.0, 0)).sum()
        slope = pairs * phi(family, d, 0.0, 1)
        gradients[0][part, winners] = slope.sum(2)
        gradients[1][part] -= slope.sum(1)
    return value, gradients[0], gradients[1]


def pairwise_product(family: LossFamily, s: Pair, weight: Pair, v: Pair) -> Pair:
    """Return the Hessian times v pair by pair, in tiles."""
    results = [torch.zeros_like(each) for each in s]
    for part, winners in _tiles(s):
        d = s[0][part, winners, None] - s[1][part, None, :]
        pairs = weight[0][part, winners, None] * weight[1][part, None, :]
        change = pairs * phi(family, d, 0.0, 2)
        change = change * (v[0][part, winners, None] - v[1][part, None, :])
        results[0][part, winners] = change.sum(2)
        results[1][part] -= change.sum(1)
    return results[0], results[1]


def _tiles(s: Pair) -> Iterator[tuple[slice, slice]]:
    """Yield slices of meetings and of winners, of about `TILE` pairs, or of one row's pairs."""
    (n_meetings, n_winners), n_losers = s[0].shape, s[1].shape[1]
    some = max(1, TILE // (n_winners * n_losers))
    few = max(1, TILE // n_losers)
    for start in range(0, n_meetings, some):
        for first in range(0, n_winners, few):
            yield slice(start, start + some), slice(first, first + few)
