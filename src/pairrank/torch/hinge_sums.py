"""Sums of piecewise polynomial losses over meetings, by sorting; exact."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

Terms = tuple[tuple[float, int, float], ...]


class Sorted(NamedTuple):
    """Points in ascending order, (n_meetings, n), and where they came from."""

    points: Tensor
    weight: Tensor
    order: Tensor

    def back(self, values: Tensor) -> Tensor:
        """Return values in the order before sorting."""
        return torch.empty_like(values).scatter_(1, self.order, values)


class Above(NamedTuple):
    """Sums over the points from each place onward, of powers of what they are above it.

    Entry p of the k-th, (n_meetings, n + 1), is the sum over the points j >= p of
    w_j (z_j - z_p)^k; nothing is subtracted, so huge points cost the others no digits.
    """

    points: Tensor
    sums: tuple[Tensor, ...]

    def over(self, first: Tensor, x: Tensor, margin: float = 0.0) -> list[Tensor]:
        """Return sums over the points j >= first of w_j (z_j - x + margin)^k.

        `first` and `x` are (n_meetings, n_targets); no term is negative.
        """
        last = self.points.shape[1] - 1
        b = self.points.gather(1, first.clamp(max=last)) - x + margin
        at = [each.gather(1, first) for each in self.sums]
        result = [at[0]]
        if len(at) > 1:
            result.append(at[1] + b * at[0])
        if len(at) > 2:
            result.append(at[2] + b * (2.0 * at[1] + b * at[0]))
        return result


def ascending(points: Tensor, weight: Tensor) -> Sorted:
    """Sort the points of each meeting."""
    points, order = torch.sort(points, dim=1)
    return Sorted(points, weight.gather(1, order), order)


def above(points: Tensor, weight: Tensor, power: int) -> Above:
    """Return the sums of ascending points for the powers from 0 up to `power`."""
    sums = [_onward(weight)]
    gap = points.diff(dim=1)
    if power > 0:
        sums.append(_onward(gap * sums[0][:, 1:-1], 2))
    if power > 1:
        sums.append(_onward(gap * (2.0 * sums[1][:, 1:-1] + gap * sums[0][:, 1:-1]), 2))
    return Above(points, tuple(sums))


def _onward(values: Tensor, zeros: int = 1) -> Tensor:
    """Return the sums from each place to the end, followed by zeros."""
    sums = values.flip(1).cumsum(1).flip(1)
    return torch.cat((sums, sums.new_zeros(sums.shape[0], zeros)), dim=1)


def first_within(points: Tensor, x: Tensor, margin: float) -> Tensor:
    """Return the place of the first of ascending points z with z - x + margin > 0.

    A search for x - margin finds it, unless that was rounded; then places are halved.
    """
    n = points.shape[1]
    found = torch.searchsorted(points, x - margin, right=True)

    def counts(place: Tensor) -> Tensor:
        return points.gather(1, place) - x + margin > 0.0

    too_late = (found > 0) & counts((found - 1).clamp(min=0))
    too_early = (found < n) & ~counts(found.clamp(max=n - 1))
    if not bool((too_late | too_early).any()):
        return found
    found, step = torch.zeros_like(found), 1 << (n.bit_length() - 1)
    while step:
        further = found + step
        skips = (further <= n) & ~counts((further - 1).clamp(max=n - 1))
        found = torch.where(skips, further, found)
        step >>= 1
    return found


class HingeMeetings:
    """The sum of c max(0, m - (s_i - s_j))^p over terms (m, p, c) and all winners i and losers j.

    O(n log n) for n winners and losers.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms

    def gradient(
        self, s: tuple[Tensor, Tensor], weight: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the value, and the gradients by the scores of winners and of losers."""
        winners, losers = (ascending(*each) for each in zip(s, weight, strict=True))
        value, gradients = s[0].new_zeros(()), [torch.zeros_like(each) for each in s]
        for margin, power, c in self.terms:
            partners = _Partners(winners.points, losers.points, margin)
            won = partners.of_winners(losers.weight, power)
            lost = partners.of_losers(winners.weight, power - 1)
            value = value + c * (winners.weight * won[power]).sum()
            gradients[0] -= power * c * winners.weight * won[power - 1]
            gradients[1] += power * c * losers.weight * lost[power - 1]
        return value, winners.back(gradients[0]), losers.back(gradients[1])

    def product(
        self,
        s: tuple[Tensor, Tensor],
        weight: tuple[Tensor, Tensor],
        v: tuple[Tensor, Tensor],
    ) -> tuple[Tensor, Tensor]:
        """Return the Hessian times v, for winners and for losers."""
        winners, losers = (ascending(*each) for each in zip(s, weight, strict=True))
        v_won, v_lost = v[0].gather(1, winners.order), v[1].gather(1, losers.order)
        results = [torch.zeros_like(each) for each in s]
        for margin, power, c in self.terms:
            if power < 2:
                continue
            partners = _Partners(winners.points, losers.points, margin)
            (count,), (total,) = (
                partners.of_winners(each, 0) for each in (losers.weight, losers.weight * v_lost)
            )
            results[0] += 2.0 * c * winners.weight * (v_won * count - total)
            (count,), (total,) = (
                partners.of_losers(each, 0) for each in (winners.weight, winners.weight * v_won)
            )
            results[1] += 2.0 * c * losers.weight * (v_lost * count - total)
        return winners.back(results[0]), losers.back(results[1])


class _Partners:
    """Which losers each winner is less than the margin above; both ascending."""

    def __init__(self, winners: Tensor, losers: Tensor, margin: float) -> None:
        self.winners, self.losers, self.margin = winners, losers, margin
        self.first = first_within(losers, winners, margin)
        rank = torch.arange(losers.shape[1], device=losers.device).expand_as(losers)
        self.count = torch.searchsorted(self.first, rank.contiguous(), right=True)

    def of_winners(self, weight: Tensor, power: int) -> list[Tensor]:
        """Return each winner's sums over its losers of weight over^k, k = 0 up to `power`."""
        return above(self.losers, weight, power).over(self.first, self.winners, self.margin)

    def of_losers(self, weight: Tensor, power: int) -> list[Tensor]:
        """Return each loser's sums over its winners."""
        turned = above(-self.winners.flip(1), weight.flip(1), power)
        first = self.winners.shape[1] - self.count
        return turned.over(first, -self.losers, self.margin)
