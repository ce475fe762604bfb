"""Shared parts of losses: checked arguments of phi, and the loss of any function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairrank._protocols import FloatArray, Generic
from pairrank.exceptions import PairrankError


def checked_order(order: int) -> int:
    """Return the order of a derivative, which must be 0, 1 or 2."""
    if order not in (0, 1, 2):
        raise PairrankError(f"order must be 0, 1 or 2 (got {order!r})")
    return order


class MarginLoss(ABC):
    """A loss of preferences, which have no magnitude; a subclass defines `_at`."""

    def phi(self, d: FloatArray, magnitude: float | FloatArray = 0.0, order: int = 0) -> FloatArray:
        """Return the cost of each margin (order 0), or its first or second derivative.

        Where there is no second derivative, it is a generalised one. `magnitude` is ignored: a
        preference has a direction only.
        """
        return self._at(np.asarray(d, dtype=np.float64), checked_order(order))

    @abstractmethod
    def _at(self, d: FloatArray, order: int) -> FloatArray:
        """Return the derivative of this order at margins d."""


@dataclass(frozen=True)
class OfPhi:
    """The loss of an object with `phi` but no family: its sum computes every pair."""

    given: Any
    smooth: bool = True

    family = Generic()

    def phi(self, d: FloatArray, magnitude: float | FloatArray = 0.0, order: int = 0) -> FloatArray:
        """Return what the object's own `phi` gives; a PairrankError where its shape is wrong."""
        result: FloatArray = np.asarray(self.given.phi(d, magnitude=magnitude, order=order))
        if result.shape != np.shape(d):
            raise PairrankError(
                f"phi of {self.given!r} gave an array of shape {result.shape} for margins of shape "
                f"{np.shape(d)} and order {order}: return one number per margin"
            )
        return result
