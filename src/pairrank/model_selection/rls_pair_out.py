"""What RankRLS predicts for any two rows, or any comparison, left out of its training."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from pairrank.exceptions import PairrankWarning
from pairrank.model_selection.rls_rows import CentredRows
from pairrank.model_selection.rls_shortcuts import LEAST_LEFT, TIE_BITS, Spectrum

FloatArray = NDArray[np.float64]

_ENTRIES = 1 << 19
_ALONE = 1e-10


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

    Warns
    -----
    PairrankWarning
        Where digits are lost to a feature of large scale that two rows have to themselves.

    Notes
    -----
    Costs O(m_q^2 min(m, d)) for each query and alpha, and O(m_q min(m, d)) memory: for small data.

    References
    ----------
    Pahikkala et al. 2009, leave-pair-out.
    """
    problem = spectrum.problem
    assert isinstance(problem, CentredRows)
    least = 1.0
    right = np.zeros((alphas.size, problem.b.shape[1]))
    total = np.zeros(problem.b.shape[1])
    for query in range(problem.query_start.size - 1):
        rows = slice(*map(int, problem.query_start[query : query + 2]))
        F, y, root = spectrum.factor_of(query), problem.y[rows], problem.root[rows]
        total += [_pair_weight(labels, root**2) for labels in y.T]
        factors = zip(spectrum.shrinkage(alphas), spectrum.remainder(alphas), strict=True)
        for place, factor in enumerate(factors):
            more, left = _right_weights(spectrum, F, (y, problem.b[rows], root), *factor)
            right[place] += more
            least = min(least, left)
    if least < _ALONE:
        warnings.warn(
            "some feature belongs almost to two rows alone (all others have "
            f"{least:.0e} of it), so that digits are lost where they are left out: scale the "
            "features, or raise the least alpha",
            PairrankWarning,
            stacklevel=2,
        )
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
    Costs O(n_pairs min(n_pairs, d)) an alpha; a comparison that is learnt from almost alone, so
    that 1 - H has lost its digits, takes an eigendecomposition of its own.
    """
    problem = spectrum.problem
    result = np.empty((alphas.size, problem.root.size))
    alone = np.zeros(problem.root.size, dtype=bool)
    shrink, remain = spectrum.shrinkage(alphas), spectrum.remainder(alphas)
    for part, F in spectrum.factors():
        squares = np.square(F).T
        own = problem.b[part, 0] * (shrink @ squares)
        left = spectrum.base + remain @ squares
        alone[part] = (left < LEAST_LEFT).any(axis=0) & (spectrum.base > 0)
        left[:, alone[part]] = 1.0
        result[:, part] = ((shrink * spectrum.moments[:, 0]) @ F.T - own) / left
    for equation in np.flatnonzero(alone).tolist():
        left_out = np.arange(alone.size) == equation
        row = next(problem.without(~left_out).blocks())[1]
        result[:, equation] = Spectrum(problem.without(left_out)).coefs(alphas)[:, 0] @ row[0]
    return result / problem.root


def _right_weights(
    spectrum: Spectrum,
    F: FloatArray,
    rows: tuple[FloatArray, FloatArray, FloatArray],
    shrink: FloatArray,
    remain: FloatArray,
) -> tuple[FloatArray, float]:
    """Return the weight of the pairs of one query ordered rightly at one alpha, a target each.

    And the least that I - u u' - H keeps of a pair, about its smaller eigenvalue there.

    With Q = (I - H)_{ij,ij}, whose off-diagonal is -H_ij, and t = u' Q^-1 r / (1 - u' Q^-1 u), r
    the residuals, the margin is z' Q^-1 (H b - H_{ij,ij} (b + t u)), z = (1/sqrt v_i, -1/sqrt v_j):
    z' u = 0, so that nothing larger than H is subtracted and ties stay ties. `rows` are y, b and
    sqrt v.
    """
    from pairrank.sums.left_pairs import right_weight

    y, b, root = rows
    shrunk, squares = F * shrink, np.square(F)
    predicted = shrunk @ spectrum.moments
    residual = spectrum.base * b + (F * remain) @ spectrum.moments
    leverage, left = squares @ shrink, spectrum.base + squares @ remain
    unit = root / np.linalg.norm(root) if root.size > 2 else np.zeros(root.size)
    result, least = np.zeros(b.shape[1]), 1.0
    step = max(1, _ENTRIES // root.size)
    for first in range(0, root.size, step):
        H = shrunk[first : first + step] @ F.T
        for target in range(result.size):
            p, r, at, labels = (
                np.ascontiguousarray(values[:, target]) for values in (predicted, residual, b, y)
            )
            weight, kept = right_weight(
                H, first, p, r, at, left, leverage, unit, root, labels, 2.0**-TIE_BITS
            )
            result[target] += weight
            least = min(least, kept)
    return result, least


def _pair_weight(labels: FloatArray, weight: FloatArray) -> float:
    """Return the weight of the pairs of unequal labels."""
    levels = np.unique(labels, return_inverse=True)[1]
    of_level = np.bincount(levels, weight)
    return float(of_level @ (np.cumsum(of_level) - of_level))
