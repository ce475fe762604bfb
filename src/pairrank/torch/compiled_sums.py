"""Compiled pair sums at the scores of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from pairrank._protocols import FloatArray, PairLoss
from pairrank.exceptions import PairrankError
from pairrank.torch.autograd import Evaluate, Evaluation, sum_type
from pairrank.torch.families import is_piecewise_linear


def compiled_sum(loss: PairLoss, bound: Any, factor: float) -> Evaluate:
    """Return a function that evaluates factor times a bound pair sum, on the CPU in float64."""

    def evaluate(scores: Tensor) -> Evaluation:
        found = bound.at(as_floats(scores))

        def tensor(values: FloatArray) -> Tensor:
            values = values if factor == 1.0 else factor * values
            return torch.from_numpy(values).to(sum_type(scores.device)).to(scores.device)

        def product(v: Tensor) -> Tensor:
            if is_piecewise_linear(loss.family):
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
