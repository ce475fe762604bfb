"""Value, gradient and Hessian products of a sum over pairs as functions of autograd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import Function, once_differentiable


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
