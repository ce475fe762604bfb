"""Costs of margins and their derivatives by torch, for the families of losses."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from pairrank._protocols import (
    Exponential,
    LossFamily,
    PiecewisePolynomial,
    Sigmoidal,
    Squares,
    Tubes,
)

_SCALE = math.sqrt(3.0) / math.pi
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


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
        return (-family.rate) ** order * torch.exp(-family.rate * d)
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
    return _SCALE * _density(x)


def _power(over: Tensor, power: int, order: int) -> Tensor:
    """Return over**power or a derivative by the margin, 0 where `over` is 0."""
    if order == 0:
        return over**power
    if order == 1:
        return -2.0 * over if power == 2 else -(over > 0.0).to(over.dtype)
    return 2.0 * (over > 0.0).to(over.dtype) if power == 2 else torch.zeros_like(over)


def _density(x: Tensor) -> Tensor:
    return _DENSITY * torch.exp(-0.5 * x * x)


def _normal_tail(x: Tensor) -> Tensor:
    """Return pdf(x) - x Phi(-x) for x >= 0."""
    scaled = _DENSITY - 0.5 * x * torch.special.erfcx(x / math.sqrt(2.0))
    return torch.exp(-0.5 * x * x) * scaled.clamp(min=0.0)
