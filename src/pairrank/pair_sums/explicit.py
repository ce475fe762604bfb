"""The sum of any loss over explicit comparisons."""

from __future__ import annotations

import numpy as np

from pairrank._protocols import (
    FloatArray,
    LossFamily,
    PairLoss,
    PiecewisePolynomial,
    Sigmoidal,
    Squares,
    Tubes,
)
from pairrank.compiled import explicit
from pairrank.compiled.sigmoid import LOGISTIC, PROBIT
from pairrank.pair_sums._bound import BoundSum, OneByOne, as_scores
from pairrank.preferences import Pairs

TILE = 1 << 18
"""Comparisons per call of numpy's phi: 2 MB per array."""
_NONE = np.empty(0)
_NO_CODE = -1


class ExplicitSum(BoundSum):
    """The exact sum of weight phi(d, magnitude) over `Pairs`, O(n_pairs) per evaluation.

    Parameters
    ----------
    pairs : Pairs
        Bound to the rows of an X.
    loss : PairLoss
        Any loss. Hinges, tubes, squares, logistic and probit have compiled loops for value and
        gradient; others are summed in tiles of comparisons by their numpy `phi`.
    family : LossFamily, optional
        Replaces the loss's family: one half of a mixture.

    Notes
    -----
    The rounding of a row's gradient is about 2e-15 of the sum of its absolute terms. A curvature
    keeps 8 bytes per comparison, and none for squares.
    """

    def __init__(self, pairs: Pairs, loss: PairLoss, family: LossFamily | None = None) -> None:
        self.pairs, self.loss, self.n_rows, self.smooth = pairs, loss, pairs.n_rows, loss.smooth
        self.family = loss.family if family is None else family
        self._code, self._parameter = _code_of(self.family)
        self._weight = _NONE if pairs.weight is None else pairs.weight
        self._magnitude = _NONE if pairs.magnitude is None else pairs.magnitude

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return, for each row, the sum over its pairs of weight * phi'(d) (v_i - v_j).

        For each row v of `vectors`; both (n_vectors, n_rows). Keeps 8 bytes per comparison.
        """
        pairs = self.pairs
        slope = self._derivatives(as_scores(scores, self.n_rows), order=1)
        result = np.zeros(np.shape(vectors))
        for vector, row in zip(vectors, result, strict=True):
            v = as_scores(vector, self.n_rows)
            explicit.differences_over_pairs(pairs.i, pairs.j, slope, v, 1.0, row)
        result *= pairs.pair_scale
        return result

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        pairs, gradient = self.pairs, np.zeros(self.n_rows)
        if self._code == _NO_CODE:
            value = self._by_tiles(scores, gradient)
        elif self._code in (LOGISTIC, PROBIT):
            value = explicit.gradient_over_sigmoids(
                self._code, pairs.i, pairs.j, self._weight, scores, gradient
            )
        else:
            value = explicit.gradient_over_kinks(
                self._code, self._parameter, pairs.i, pairs.j, self._weight, self._magnitude,
                scores, gradient,
            )  # fmt: skip
        gradient *= pairs.pair_scale
        return pairs.pair_scale * value, gradient

    def _by_tiles(self, scores: FloatArray, gradient: FloatArray) -> float:
        pairs, value = self.pairs, 0.0
        for part in self._tiles():
            cost, slope = (self._phi(scores, part, order) for order in (0, 1))
            value += float(cost.sum())
            gradient += np.bincount(pairs.i[part], slope, self.n_rows)
            gradient -= np.bincount(pairs.j[part], slope, self.n_rows)
        return value

    def _curvature(self, scores: FloatArray) -> ExplicitCurvature:
        pairs, weight, scale = self.pairs, self._weight, self.pairs.pair_scale
        if isinstance(self.family, Squares):
            return ExplicitCurvature(self.n_rows, pairs.i, pairs.j, weight, 2.0 * scale)
        curvature = self._derivatives(scores, order=2)
        return ExplicitCurvature(self.n_rows, pairs.i, pairs.j, curvature, scale)

    def _derivatives(self, scores: FloatArray, order: int) -> FloatArray:
        """Return each comparison's weight times a derivative of phi."""
        result = np.empty(self.pairs.n_pairs)
        for part in self._tiles():
            result[part] = self._phi(scores, part, order)
        return result

    def _phi(self, scores: FloatArray, part: slice, order: int) -> FloatArray:
        pairs = self.pairs
        with np.errstate(all="ignore"):
            d = scores[pairs.i[part]] - scores[pairs.j[part]]
            magnitude = self._magnitude[part] if self._magnitude.size else 1.0
            result = self.loss.phi(d, magnitude, order)
            return result * self._weight[part] if self._weight.size else result

    def _tiles(self) -> list[slice]:
        size = max(TILE, self.n_rows // 4)
        return [slice(start, start + size) for start in range(0, self.pairs.n_pairs, size)]


class ExplicitCurvature(OneByOne):
    """The Laplacian M D M' of comparisons: M their incidences, D their weights times phi''."""

    def __init__(
        self, n_rows: int, i: np.ndarray, j: np.ndarray, weight: FloatArray, scale: float
    ) -> None:
        self.n_rows, self.i, self.j, self.weight, self.scale = n_rows, i, j, weight, scale

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,); O(n_pairs)."""
        result = np.zeros(self.n_rows)
        v = as_scores(v, self.n_rows)
        explicit.differences_over_pairs(self.i, self.j, self.weight, v, -1.0, result)
        result *= self.scale
        return result

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        weight = self.weight if self.weight.size else None
        wins, losses = (np.bincount(ends, weight, self.n_rows) for ends in (self.i, self.j))
        return np.asarray(self.scale * (wins + losses), dtype=np.float64)


def _code_of(family: LossFamily) -> tuple[int, float]:
    """Return the compiled code and the parameter of a loss, or `_NO_CODE`."""
    if isinstance(family, Sigmoidal) and family.value == family.slope:
        return (LOGISTIC if family.value == "logistic" else PROBIT), 0.0
    if isinstance(family, PiecewisePolynomial) and len(family.terms) == 1:
        margin, power, factor = family.terms[0]
        if factor == 1.0 and power in (1, 2):
            return (explicit.HINGE, explicit.SQUARED_HINGE)[power - 1], margin
    if isinstance(family, Squares):
        return explicit.SQUARED_TUBE, 0.0
    if isinstance(family, Tubes):
        return (explicit.TUBE, explicit.SQUARED_TUBE)[family.power - 1], family.epsilon
    return _NO_CODE, 0.0
