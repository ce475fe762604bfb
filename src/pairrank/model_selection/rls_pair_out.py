"""What RankRLS predicts for any two rows, or any comparison, left out of its training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank.model_selection.rls_rows import CentredRows
from pairrank.model_selection.rls_shortcuts import TIE_BITS, Spectrum

FloatArray = NDArray[np.float64]

_ENTRIES = 1 << 19


def leave_pair_out(spectrum: Spectrum, alphas: FloatArray) -> FloatArray:
    r"""Return the share of pairs of rows ordered rightly by weights learnt without both rows.

    For rows i, j of a query, e, the residuals under the weights (and the query's mean) learnt
    without both, solve a system of two equations:

    .. math:: (I - u u' - H)_{ij,ij} \, e = (b - H b)_{ij}

    with u the query's unit vector, sqrt(v_i / n_q); the margin is (y_i - y_j) less the difference
    of e / sqrt(v). A query of two rows goes as a whole. Pairs of equal labels are not counted; a
    margin that is 0 but for rounding counts half; a pair weighs the product of its rows' weights.

    Parameters
    ----------
    spectrum : Spectrum
        Of `CentredRows`.
    alphas : float64 array of shape (n_alphas,)

    Returns
    -------
    float64 array of shape (n_alphas, n_targets)
        NaN for a target without a pair of unequal labels.

    Notes
    -----
    Costs O(m_q^2 min(m, d)) for each query and alpha, and O(m_q min(m, d)) memory: for small data.

    References
    ----------
    Pahikkala et al. 2009, leave-pair-out.
    """
    problem = spectrum.problem
    assert isinstance(problem, CentredRows)
    right = np.zeros((alphas.size, problem.b.shape[1]))
    total = np.zeros(problem.b.shape[1])
    for query in range(problem.query_start.size - 1):
        rows = slice(*map(int, problem.query_start[query : query + 2]))
        F, y = spectrum.factor_of(query), problem.y[rows]
        b, root = problem.b[rows], problem.root[rows]
        weight = root**2
        total += [weight @ (np.less.outer(t, t) @ weight) for t in y.T]
        for place, (shrink, remain) in enumerate(
            zip(spectrum.shrinkage(alphas), spectrum.remainder(alphas), strict=True)
        ):
            two = _TwoRows(F, b, root, shrink, remain, spectrum)
            for target, labels in enumerate(y.T):
                right[place, target] += two.right_weight(labels, target)
    with np.errstate(invalid="ignore"):
        return right / total


def leave_comparison_out(spectrum: Spectrum, alphas: FloatArray) -> FloatArray:
    """Return the margin of each comparison under the weights learnt from all others.

    Parameters
    ----------
    spectrum : Spectrum
        Of `Comparisons`.
    alphas : float64 array of shape (n_alphas,)

    Returns
    -------
    float64 array of shape (n_alphas, n_equations)

    Notes
    -----
    Costs O(n_pairs min(n_pairs, d)) an alpha.
    """
    problem = spectrum.problem
    result = np.empty((alphas.size, problem.root.size))
    shrink, remain = spectrum.shrinkage(alphas), spectrum.remainder(alphas)
    for part, F in spectrum.factors():
        squares = np.square(F).T
        own = problem.b[part, 0] * (shrink @ squares)
        left = spectrum.base + remain @ squares
        result[:, part] = ((shrink * spectrum.moments[:, 0]) @ F.T - own) / left
    return result / problem.root


class _TwoRows:
    """One query at one alpha, any two of its rows left out.

    With Q = (I - H)_{ij,ij}, whose off-diagonal is -H_ij, and t = u' Q^-1 r / (1 - u' Q^-1 u), r
    the residuals, the margin is z' Q^-1 (H b - H_{ij,ij} (b + t u)), z = (1/sqrt v_i, -1/sqrt v_j):
    z' u = 0, so that nothing larger than H is subtracted and ties stay ties.
    """

    def __init__(
        self,
        F: FloatArray,
        b: FloatArray,
        root: FloatArray,
        shrink: FloatArray,
        remain: FloatArray,
        spectrum: Spectrum,
    ) -> None:
        self.F, self.shrunk, self.b, self.root = F, F * shrink, b, root
        self.predicted = self.shrunk @ spectrum.moments
        self.residual = spectrum.base * b + (F * remain) @ spectrum.moments
        squares = np.square(F)
        self.leverage = squares @ shrink
        self.left = spectrum.base + squares @ remain
        self.unit = root / np.linalg.norm(root) if root.size > 2 else np.zeros(root.size)

    def right_weight(self, labels: FloatArray, target: int) -> float:
        """Return the weight of the pairs ordered rightly, ties counting half."""
        weight, result = self.root**2, 0.0
        step = max(1, _ENTRIES // self.root.size)
        for start in range(0, self.root.size, step):
            part = slice(start, min(start + step, self.root.size))
            margin, noise = self._margins(part, target)
            credit = np.where(np.abs(margin) <= noise, 0.5, margin > 0)
            credit[labels[part, None] <= labels] = 0.0
            result += float(weight[part] @ (credit @ weight))
        return result

    def _margins(self, part: slice, target: int) -> tuple[FloatArray, FloatArray]:
        """Return the margins of the rows of a part over all rows, and what is rounding in them."""
        b, p, r = self.b[:, target], self.predicted[:, target], self.residual[:, target]
        u, root, h, left = self.unit, self.root, self.leverage, self.left
        H = self.shrunk[part] @ self.F.T
        inverse = left[part, None] * left - H**2
        inverse[np.arange(H.shape[0]), np.arange(part.start, part.stop)] = 1.0
        np.divide(1.0, inverse, out=inverse)
        to_i, to_j = self._solved(H, inverse, part, u[part, None], u)
        others = 1.0 - (to_i * u[part, None] + to_j * u)
        others[np.arange(H.shape[0]), np.arange(part.start, part.stop)] = 1.0
        pull = (to_i * r[part, None] + to_j * r) / others
        at_i, at_j = b[part, None] + pull * u[part, None], b + pull * u
        g_i = p[part, None] - h[part, None] * at_i - H * at_j
        g_j = p - h * at_j - H * at_i
        to_i, to_j = self._solved(H, inverse, part, 1.0 / root[part, None], -1.0 / root)
        size = (np.abs(p) + h * np.abs(b).max(initial=0.0)) / root
        return to_i * g_i + to_j * g_j, 2.0**-TIE_BITS * (size[part, None] + size)

    def _solved(
        self, H: FloatArray, inverse: FloatArray, part: slice, x_i: FloatArray, x_j: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return Q^-1 x for every pair; `inverse` is that of the determinants."""
        first = (self.left * x_i + H * x_j) * inverse
        return first, (self.left[part, None] * x_j + H * x_i) * inverse
