"""SVRank: magnitude-preserving ranking that ignores small errors of a difference."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import ClassVar, Literal

from pairrank import _validation as validation
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._magnitude import MagnitudeRanker

_TOLERATED = 0.1
"""The default epsilon in standard deviations of the labels."""


@ranker
class SVRank(MagnitudeRanker):
    r"""SVRank: support vector regression on the differences of all pairs of rows.

    .. math:: \min_w \|w\|^2 + \sum_q \frac{C}{m_q^2} \sum_{i, j \in q} w_i w_j
              \max\bigl(0, \bigl|(s_i - s_j) - (y_i - y_j)\bigr| - \epsilon\bigr)^n,
              \qquad s = X w

    over all differences: both directions, and ties too (Cortes, Mohri & Rastogi 2007, Eq. 25, with
    queries and row weights w_i, m_q those of a query). Of `Pairs` it minimises |w|^2 + C/T times
    the sum of weight max(0, |magnitude - d| - epsilon)^n, d = s_i - s_j, T their total weight. The
    paper solves a quadratic program over all m^2 pairs; here a step sorts the residuals.

    With epsilon = 0 it is `MPRank` of the same n.

    Parameters
    ----------
    epsilon : float or None, default None
        The error of a difference of scores that costs nothing, in the unit of y. None is a tenth of
        the standard deviation of the labels of a query (of Pairs, of the root mean square of
        magnitudes, over sqrt(2)): on eight regression sets as good as any smaller one.
    n : 1 or 2, default 1
        The power of the part of an error beyond epsilon.
    solver : "auto", "bundle" or "tron", default "auto"
        "bundle", cutting planes, for n = 1; "tron", trust region Newton, for n = 2. "auto" is the
        first, or Newton with a line search.
    tol : float, default 1e-4
        For n = 1, stop when the duality gap is at most tol times the objective, or times
        \|gradient at 0\|^2/4 if that is less. For n = 2, stop when
        \|gradient\| <= tol \|gradient at 0\|.

    Attributes
    ----------
    epsilon_ : float
        The epsilon that was used.

    Notes
    -----
    An iteration costs two products with X and O(m log m) for m rows, of Pairs O(n_pairs). For n = 2
    a product with the Hessian costs two products with X and O(m). Where a small factorisation
    solves least squares over the same pairs (`MPRank`), its solution is the start. float32 X stays
    float32. Where no labels differ by more than epsilon, all scores are equal.

    On RowBlocks an iteration is one pass, or two where queries cross blocks; the start takes one
    more. The default C and epsilon are exact.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, "Magnitude-preserving ranking algorithms", technical report
    TR2007-887, Courant Institute, 2007. (The dual in its Section 3.2 should have -1/4 for +1/2
    before the quadratic term, epsilon times the sum of alpha* + alpha, and C/m^2 for C in the box;
    for the stability bounds see `pairrank.metrics.stability_bound`.)

    Examples
    --------
    >>> from pairrank import SVRank
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [10, 12, 14, 16]
    >>> SVRank(C=100, epsilon=0.3, n=2).fit(X, y).coef_.round(2)
    array([1.88])
    """

    _solves_kernels = False
    _solvers: ClassVar = {1: ("bundle",), 2: ("tron",)}
    epsilon: float | None = None
    _: KW_ONLY
    n: Literal[1, 2] = 1
    solver: Literal["auto", "bundle", "tron"] = "auto"

    def _derive(self, size: float, spread: float) -> None:
        super()._derive(size, spread)
        self.epsilon_ = _TOLERATED * spread if self.epsilon is None else float(self.epsilon)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.epsilon is not None:
            validation.check_number(self.epsilon, "epsilon", inclusive=True)
