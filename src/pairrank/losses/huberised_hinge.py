"""Huberised hinge: a hinge with a parabola in place of its kink."""

from dataclasses import dataclass

import numpy as np

from pairrank._protocols import FloatArray, PiecewisePolynomial
from pairrank.exceptions import PairrankError
from pairrank.losses._phi import MarginLoss


@dataclass(frozen=True)
class HuberisedHinge(MarginLoss):
    """0 for d >= 1, (1 - d)^2/(2 width) down to 1 - width, and 1 - d - width/2 below."""

    width: float = 0.5

    smooth = True

    def __post_init__(self) -> None:
        if not 0.0 < self.width < np.inf:
            raise PairrankError(f"width must be finite and greater than 0 (got {self.width!r})")

    @property
    def family(self) -> PiecewisePolynomial:
        """The difference of two squared hinges."""
        half = 0.5 / self.width
        return PiecewisePolynomial(((1.0, 2, half), (1.0 - self.width, 2, -half)))

    def _at(self, d: FloatArray, order: int) -> FloatArray:
        over = np.maximum(1.0 - d, 0.0)
        near = np.minimum(over, self.width) / self.width
        if order == 0:
            return near * (over - 0.5 * self.width * near)
        if order == 1:
            return -near
        return np.where((over > 0.0) & (over <= self.width), 1.0 / self.width, 0.0)
