"""PairSteps: stochastic gradient steps on drawn pairs, and the mean of their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pairrank._protocols import FloatArray, PairLoss, PiecewisePolynomial, Sigmoidal
from pairrank.preferences import PairIndex

_STEPS_A_BLOCK, _ENTRIES_A_BLOCK = 4096, 1 << 22
"""So many steps at a time, fewer where their rows would have more entries."""
_SAMPLE = 1000
"""So many pairs give the mean square of the differences of rows."""
_STEADY = 1000.0
"""The number of steps after which the step length begins to fall."""
_LONGEST = 1e200


class PairSteps:
    r"""Stochastic gradient steps from a start, on drawn pairs of rows.

    The objective per unit of pair weight is ratio/2 \|w\|^2 + the mean loss. Step t = 1, 2, ... has
    the length 1/(ratio t) if `learning_rate` is "pegasos" (Shalev-Shwartz et al. 2011), or
    eta0/sqrt(1 + t/1000) if it is "invscaling". `eta0` None is 1/(curvature * mean square of the
    differences of rows); the hinge's curvature counts as 1.

    A step changes the weights by a multiple of x_i - x_j and shrinks both for the penalty, so that
    steps of any length have their mean at the optimum if the penalty outweighs the loss. Its length
    is divided by 1 + length * curvature * |x_i - x_j|^2; a step of the hinge ends at the
    kink. So no step leaps over the minimum for its pair, however large the features. A step costs
    O(n_features), or the entries of two sparse rows: the scale of the weights and their mean are
    kept in factors. A block of up to 4,096 steps costs O(n_features).

    Parameters
    ----------
    loss : PairLoss
        A hinge, squared hinge, logistic or probit loss.
    start : ndarray of shape (n_features,)
    generator : Generator
        Draws the pairs; equal seeds give equal weights.
    average : bool
        Whether `coef` is the mean of the weights after each step, not the last ones. Step t counts
        t^2 in it, so that the last half of the steps has 7/8 of the mean (Shamir & Zhang 2013).
    """

    def __init__(
        self,
        loss: PairLoss,
        start: FloatArray,
        generator: np.random.Generator,
        *,
        learning_rate: str = "invscaling",
        eta0: float | None = None,
        average: bool = True,
    ) -> None:
        self.generator, self.learning_rate, self.eta0 = generator, learning_rate, eta0
        self.average, self.kind = average, _kind_of(loss)
        self.last = np.array(start, dtype=np.float64)
        self.mean = self.last.copy()
        self.n_steps, self.mean_weight = 0, 0.0

    @property
    def coef(self) -> FloatArray:
        """The mean of the weights, or the last ones; a copy."""
        return (self.mean if self.average else self.last).copy()

    def take(self, X: Any, pairs: PairIndex, n_steps: int, ratio: float) -> None:
        """Take steps on pairs of rows of X, an array or CSR matrix.

        `ratio` is the penalty per unit of pair weight.
        """
        if self.eta0 is None:
            self.eta0 = self._first_length(X, pairs)
        size = min(_STEPS_A_BLOCK, max(1, _ENTRIES_A_BLOCK // max(1, X.shape[1])))
        for first in range(0, n_steps, size):
            self._take_block(X, pairs, min(size, n_steps - first), ratio)

    def _take_block(self, X: Any, pairs: PairIndex, size: int, ratio: float) -> None:
        from pairrank.compiled.pair_steps import take_steps

        assert self.eta0 is not None
        steps = self.n_steps + np.arange(1.0, size + 1.0)
        with np.errstate(over="ignore"):
            if self.learning_rate == "pegasos":
                lengths = 1.0 / (ratio * steps)
            else:
                lengths = self.eta0 / np.sqrt(1.0 + steps / _STEADY)
            lengths = np.minimum(lengths, _LONGEST)
            shrinkage = 1.0 / (1.0 + ratio * lengths)
        shares = steps**2
        weight = self.mean_weight + float(shares.sum())
        self.mean *= self.mean_weight / weight
        winners, losers = pairs.draw(size, self.generator)
        by_step = (lengths * shrinkage, shrinkage, shares / weight)
        of_weights = (*self.kind, *by_step, self.last, self.mean)
        if not sparse.issparse(X):
            X = sparse.csr_array(X[np.append(winners, losers)])
            winners, losers = np.arange(2 * size, dtype=np.int32).reshape(2, -1)
        take_steps(X.data, X.indices, X.indptr, winners, losers, *of_weights)
        self.mean_weight = weight
        self.n_steps += size

    def _first_length(self, X: Any, pairs: PairIndex) -> float:
        """Return 1/(curvature * mean square of differences), or 1 where rows do not differ."""
        from pairrank.compiled.pair_steps import CURVATURES

        winners, losers = pairs.draw(_SAMPLE, self.generator)
        with np.errstate(over="ignore", invalid="ignore"):
            differences = X[winners].astype(np.float64) - X[losers].astype(np.float64)
            entries = differences.data if sparse.issparse(X) else differences
            square = CURVATURES[self.kind[0]] * float(np.square(entries).sum()) / _SAMPLE
            return 1.0 / square if square > 0.0 else 1.0


def _kind_of(loss: PairLoss) -> tuple[int, float]:
    """Return the code of a loss in the compiled steps, and its margin."""
    from pairrank.compiled import pair_steps

    family = loss.family
    if isinstance(family, Sigmoidal):
        return (pair_steps.PROBIT if family.slope == "probit" else pair_steps.LOGISTIC), 0.0
    assert isinstance(family, PiecewisePolynomial)
    ((margin, power, _),) = family.terms
    return (pair_steps.HINGE if power == 1 else pair_steps.SQUARED_HINGE), margin
