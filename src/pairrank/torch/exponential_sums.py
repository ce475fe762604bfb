"""Sums of exponential losses over meetings, as products of sums; exact."""

from __future__ import annotations

import torch
from torch import Tensor


class ExponentialMeetings:
    """The sum of exp(-rate (s_i - s_j)) over all winners i and losers j of meetings.

    O(n) for n winners and losers. Each side counts relative to its largest term.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def gradient(
        self, s: tuple[Tensor, Tensor], weight: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the value, and the gradients by the scores of winners and of losers."""
        won, lost, factor = self._terms(s, weight)
        won_total, lost_total = won.sum(1, keepdim=True), lost.sum(1, keepdim=True)
        value = (factor * won_total * lost_total).sum()
        factor = self.rate * factor
        return value, -factor * lost_total * won, factor * won_total * lost

    def product(
        self,
        s: tuple[Tensor, Tensor],
        weight: tuple[Tensor, Tensor],
        v: tuple[Tensor, Tensor],
    ) -> tuple[Tensor, Tensor]:
        """Return the Hessian times v, for winners and for losers."""
        won, lost, factor = self._terms(s, weight)
        factor = self.rate**2 * factor

        def around(own: Tensor, v: Tensor, other: Tensor, v_other: Tensor) -> Tensor:
            total = other.sum(1, keepdim=True)
            return factor * own * (v * total - (other * v_other).sum(1, keepdim=True))

        return around(won, v[0], lost, v[1]), around(lost, v[1], won, v[0])

    def _terms(
        self, s: tuple[Tensor, Tensor], weight: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the terms of winners and losers relative to the largest, and their factor."""
        some = [each > 0.0 for each in weight]
        least = torch.where(some[0], s[0], torch.inf).amin(1, keepdim=True)
        most = torch.where(some[1], s[1], -torch.inf).amax(1, keepdim=True)
        won = torch.where(some[0], weight[0] * torch.exp(-self.rate * (s[0] - least)), 0.0)
        lost = torch.where(some[1], weight[1] * torch.exp(-self.rate * (most - s[1])), 0.0)
        both = torch.isfinite(least) & torch.isfinite(most)
        return won, lost, torch.where(both, torch.exp(-self.rate * (least - most)), 0.0)
