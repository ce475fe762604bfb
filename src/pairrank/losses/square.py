"""Square: the loss of RankRLS and MPRank, over all differences or explicit comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.losses._scores import OneByOne, as_scores
from pairrank.preferences import Differences, Pairs

if TYPE_CHECKING:
    from pairrank.losses.pairs_square import PairsSquareSum


@dataclass(frozen=True)
class Square:
    r"""The squared error (magnitude - d)^2 of Airola et al. 2010, Eqs. 3 and 9.

    Examples
    --------
    >>> import numpy as np
    >>> from pairrank.losses import Square
    >>> Square().phi(np.array([-1.0, 0.5, 3.0]), magnitude=1.0)
    array([4.  , 0.25, 4.  ])
    """

    def phi(self, d: FloatArray, magnitude: float | FloatArray = 0.0, order: int = 0) -> FloatArray:
        """Return the cost of each difference d, or its first or second derivative by d."""
        over = magnitude - np.asarray(d, dtype=np.float64)
        if order == 0:
            return over * over
        if order == 1:
            return -2.0 * over
        if order == 2:
            return np.full_like(over, 2.0)
        raise PairrankError(f"phi has derivatives of order 0, 1 and 2, got {order!r}")

    def sum_over(
        self, preferences: Differences | Pairs, *, route: str = "auto", eps: float = 1e-6
    ) -> SquareSum | PairsSquareSum:
        """Bind the loss to all differences, each query's sum over 2 n_q, or to comparisons.

        Parameters
        ----------
        preferences : Differences or Pairs
            Over the rows of an X; Pairs keep their magnitudes (``bound(..., ties=False)``).
        route : "auto"
            There is one algorithm.
        eps : float
            Plays no part: the sums are exact.

        Raises
        ------
        PairrankError
            If preferences are of another kind: a level has no size, so no difference either.
        """
        if route != "auto":
            raise PairrankError(f'there is no pair sum route {route!r} of squares; take "auto"')
        if isinstance(preferences, Pairs):
            from pairrank.losses.pairs_square import PairsSquareSum

            return PairsSquareSum(preferences)
        if not isinstance(preferences, Differences):
            raise PairrankError(
                f"squares are summed over Differences or Pairs, not {type(preferences).__name__}"
            )
        return SquareSum(preferences)


class SquareSum:
    """The sum over all differences, by the query-centred residual (Airola et al. 2010, Eq. 5)."""

    error = 0.0

    def __init__(self, differences: Differences) -> None:
        self.differences = differences

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all pairs and its gradient by the scores, (n_rows,); O(n_rows)."""
        differences = self.differences
        with np.errstate(over="ignore", invalid="ignore"):
            residual = differences.target - as_scores(scores, differences.n_rows)
            residual = differences.centred(residual)
            pull = residual if differences.weight is None else differences.weight * residual
            value = float(pull @ residual)
            return (np.inf if np.isnan(value) else value), -2.0 * pull

    def sharpen(self) -> bool:
        """Return False: the sum is exact."""
        return False

    def curvature(self, scores: FloatArray) -> SquareCurvature:
        """Return the Hessian, which is the same at all scores."""
        return SquareCurvature(self.differences)


class SquareCurvature(OneByOne):
    """Twice the centring L = W - W P P'W of Eq. 4, with row weights W; never formed."""

    def __init__(self, differences: Differences) -> None:
        self.differences = differences

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,); O(n_rows)."""
        differences = self.differences
        with np.errstate(over="ignore", invalid="ignore"):
            result = differences.centred(as_scores(v, differences.n_rows))
            if differences.weight is not None:
                result *= differences.weight
            result *= 2.0
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, 2 w_i (1 - w_i/n_q), (n_rows,)."""
        differences = self.differences
        weight = np.ones(differences.n_rows) if differences.weight is None else differences.weight
        return np.asarray(2.0 * weight * (1.0 - differences.share()))
