"""Sums over pairs as functions of autograd, and costs of margins by torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable
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
        return _scaled(found.gradient, upstream).to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *vectors: Tensor) -> Any:
        upstream, scores = ctx.saved_tensors
        gradient = ctx.found.gradient
        v = vectors[0].to(gradient.dtype)
        with torch.autocast(scores.device.type, enabled=False):
            product = _scaled(ctx.found.product(v), upstream)
        by_upstream = torch.dot(gradient, v).to(upstream.dtype)
        return by_upstream, product.to(scores.dtype), None


def _scaled(values: Tensor, factor: Tensor) -> Tensor:
    """Return values times a scalar, in the type of the values."""
    return values * factor.to(values.dtype)
