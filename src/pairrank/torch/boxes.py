"""Sums of smooth functions of score differences over meetings, by boxes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from pairrank.pair_sums.box_sum import blocks_of
from pairrank.pair_sums.profiles import BoxRule, Profile, box_rule
from pairrank.torch.hinge_sums import Above, above, ascending

ROWS_AT_ONCE = 1 << 16
"""The Chebyshev polynomials of so many points exist at a time."""


class _Points(NamedTuple):
    """The winners, or the losers, in boxes; every field is (n_meetings, n)."""

    scores: Tensor
    key: Tensor
    """The number of the box within its meeting, ascending with the scores."""
    box: Tensor
    """The place of the box among all boxes that hold points."""
    within: Tensor
    """The place in the box, from -1 to 1."""


class Boxes:
    """The scores of winners and losers of meetings in boxes of a width H.

    Sources and targets of near boxes meet through polynomials of a degree P; far ones through the
    limits of the functions, by sorted sources. Width and degree follow from eps by the bound of
    `pairrank.pair_sums.profiles.error_bound`, so that a sum over sources of weights w is within eps
    times the sum of abs(w). O(n log n) for n winners and losers.

    Numbers of boxes count from the lowest of the meeting, and gaps between boxes that are too wide
    for a near pair count as W + 1, so they stay small for any scores.
    """

    def __init__(self, profiles: tuple[Profile, ...], eps: float, s: tuple[Tensor, Tensor]) -> None:
        self.rule: BoxRule = box_rule(profiles, eps)
        near, width = self.rule.near, s[0].shape[1]
        scaled = torch.cat(s, dim=1) / self.rule.width
        floor = scaled.floor()
        ordered, order = torch.sort(floor, dim=1)
        steps = ordered.diff(dim=1, prepend=ordered[:, :1]).clamp(max=near + 1).to(torch.int64)
        keys = torch.empty_like(steps).scatter_(1, order, steps.cumsum(1))
        spans = steps.sum(1) + near + 1
        numbers = keys + (spans.cumsum(0) - spans)[:, None]
        self.numbers, box = torch.unique(numbers, return_inverse=True)
        within = 2.0 * (scaled - floor) - 1.0
        self._sides = tuple(
            _Points(*each)
            for each in zip(
                s, keys.split([width, s[1].shape[1]], 1), box.split([width, s[1].shape[1]], 1),
                within.split([width, s[1].shape[1]], 1), strict=True,
            )
        )  # fmt: skip

    def sums(self, profiles: tuple[Profile, ...], weight: Tensor, *, of_winners: bool) -> Tensor:
        """Return the sums of w_j k(t - z_j) at the winners t over losers z, or the other way round.

        `weight` is (n_columns, n_meetings, n_sources); the result (n_profiles, n_columns,
        n_meetings, n_targets).
        """
        targets, sources = self._sides if of_winners else self._sides[::-1]
        moments = self._moments(sources, weight)
        far = [_Far(self.rule, targets, sources, column) for column in weight]
        return torch.stack(
            [
                self._near(profile, targets, moments)
                + torch.stack([each.sums(profile) for each in far])
                for profile in profiles
            ]
        )

    def _moments(self, sources: _Points, weight: Tensor) -> Tensor:
        """Return the sums of w T_b over the sources of each box, (n_columns, n_boxes, P)."""
        moments = weight.new_zeros(len(weight), self.numbers.numel(), self.rule.degree)
        box, within = sources.box.flatten(), sources.within.flatten()
        flat = weight.flatten(1)
        for part in _parts(box.numel()):
            polynomials = chebyshev(within[part], self.rule.degree)
            for column, own in zip(moments, flat, strict=True):
                column.index_add_(0, box[part], own[part, None] * polynomials)
        return moments

    def _near(self, profile: Profile, targets: _Points, moments: Tensor) -> Tensor:
        """Return the sums over near boxes at the targets, (n_columns, n_meetings, n_targets)."""
        near, degree = self.rule.near, self.rule.degree
        blocks = torch.from_numpy(blocks_of(profile, self.rule).copy()).to(moments)
        blocks = blocks.reshape(degree, 2 * near + 1, degree)
        series = torch.zeros_like(moments)
        for away in range(-near, near + 1):
            wanted = self.numbers + away
            at = torch.searchsorted(self.numbers, wanted).clamp(max=wanted.numel() - 1)
            here = torch.nonzero(self.numbers[at] == wanted)[:, 0]
            series[:, here] += moments[:, at[here]] @ blocks[:, away + near].T
        box, within = targets.box.flatten(), targets.within.flatten()
        result = moments.new_empty(len(moments), box.numel())
        for part in _parts(box.numel()):
            polynomials = chebyshev(within[part], degree)
            result[:, part] = (series[:, box[part]] * polynomials).sum(2)
        return result.reshape(len(moments), *targets.box.shape)


class _Far:
    """The sums over the sources of far boxes, where functions are at their limits."""

    def __init__(self, rule: BoxRule, targets: _Points, sources: _Points, weight: Tensor) -> None:
        ordered = ascending(sources.scores, weight)
        keys = sources.key.gather(1, ordered.order)
        self._targets = targets.scores
        self._first = torch.searchsorted(keys, targets.key + rule.near, right=True)
        self._above: Above = above(ordered.points, ordered.weight, 1)
        n_below = torch.searchsorted(keys, targets.key - rule.near)
        total = ordered.weight.cumsum(1)
        before = torch.cat((torch.zeros_like(total[:, :1]), total), dim=1)
        self._below = before.gather(1, n_below)

    def sums(self, profile: Profile) -> Tensor:
        """Return the sums of c + b (t - z) with the limits (c, b) of a function."""
        (constant, slope), (right, right_slope) = profile.left, profile.right
        assert right_slope == 0.0
        result = right * self._below
        if constant or slope:
            count, excess = self._above.over(self._first, self._targets)
            result = result + constant * count - slope * excess
        return result


def chebyshev(u: Tensor, n: int) -> Tensor:
    """Return the Chebyshev polynomials of the degrees below n, (n_points, n)."""
    found = [torch.ones_like(u), u]
    while len(found) < n:
        found.append(2.0 * u * found[-1] - found[-2])
    return torch.stack(found[:n], dim=1)


def _parts(n: int) -> Iterator[slice]:
    for start in range(0, n, ROWS_AT_ONCE):
        yield slice(start, start + ROWS_AT_ONCE)
