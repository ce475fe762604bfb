"""Hinges: hinge, squared hinge, Huberised hinge and modified Huber, polynomials in pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pairrank._protocols import FloatArray, PiecewisePolynomial
from pairrank.exceptions import PairrankError
from pairrank.losses._phi import MarginLoss


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """The squared hinge max(0, margin - d)^2 of Lee & Lin 2014, Eq. 3.

    Parameters
    ----------
    margin : float, default=1.0
        The difference of scores from which a pair costs nothing. 0 gives c_HR with n = 2 of Cortes
        et al. 2007, Eq. 6: it costs nothing at equal scores, so the regularised minimum is w = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import SquaredHinge
    >>> SquaredHinge().phi(np.array([-1.0, 0.5, 1.0]))
    array([4.  , 0.25, 0.  ])
    """

    margin: float = 1.0

    smooth = True

    @property
    def family(self) -> PiecewisePolynomial:
        """One term, max(0, margin - d)^2."""
        return PiecewisePolynomial(((float(self.margin), 2, 1.0),))

    def _at(self, d: FloatArray, order: int) -> FloatArray:
        over = np.maximum(self.margin - d, 0.0)
        if order == 0:
            return over * over
        if order == 1:
            return -2.0 * over
        return np.where(over > 0.0, 2.0, 0.0)


@dataclass(frozen=True)
class Hinge(MarginLoss):
    """The hinge max(0, margin - d) of Lee & Lin 2014, Eq. 2.

    Parameters
    ----------
    margin : float, default=1.0
        The difference of scores from which a pair costs nothing. 0 gives c_HR with n = 1 of Cortes
        et al. 2007, Eq. 6: it costs nothing at equal scores, so the regularised minimum is w = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import Hinge
    >>> Hinge().phi(np.array([-1.0, 0.5, 1.0]), order=1)
    array([-1., -1.,  0.])
    """

    margin: float = 1.0

    smooth = False

    @property
    def family(self) -> PiecewisePolynomial:
        """One term, max(0, margin - d)^1."""
        return PiecewisePolynomial(((float(self.margin), 1, 1.0),))

    def _at(self, d: FloatArray, order: int) -> FloatArray:
        over = np.maximum(self.margin - d, 0.0)
        if order == 0:
            return over
        if order == 1:
            return np.where(over > 0.0, -1.0, 0.0)
        return np.zeros_like(over)


@dataclass(frozen=True)
class HuberisedHinge(MarginLoss):
    """A hinge without its kink: (1 - d)^2/(2 width) between 1 - width and 1.

    It is 0 for larger d, and 1 - d - width/2 for smaller d.
    """

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
        return 0.5 / self.width * _square_then_line(d, self.width, order)


@dataclass(frozen=True)
class ModifiedHuber(MarginLoss):
    """max(0, 1 - d)^2 for d >= -1, and -4 d below (Zhang 2004).

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import ModifiedHuber
    >>> ModifiedHuber().phi(np.array([-2.0, -1.0, 0.0, 1.0]))
    array([8., 4., 1., 0.])
    """

    family = PiecewisePolynomial(((1.0, 2, 1.0), (-1.0, 2, -1.0)))
    smooth = True

    def _at(self, d: FloatArray, order: int) -> FloatArray:
        return _square_then_line(d, 2.0, order)


def _square_then_line(d: FloatArray, width: float, order: int) -> FloatArray:
    """Return max(0, 1 - d)^2, a line where the excess 1 - d is above `width`, or a derivative.

    As in the compiled sums, the rounded excess says on which side of a kink a margin lies.
    """
    over = np.maximum(1.0 - d, 0.0)
    near = np.minimum(over, width)
    if order == 0:
        return near * (2.0 * over - near)
    if order == 1:
        return -2.0 * near
    return np.where((over > 0.0) & (over <= width), 2.0, 0.0)
