"""Leave-pair-out accuracy of RankRLS from residuals."""

from __future__ import annotations

import warnings
from typing import NamedTuple, Self

import numpy as np
from scipy import linalg

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankWarning
from pairrank.model_selection.rls_equations import CentredRows
from pairrank.model_selection.rls_shortcuts import LEAST_LEFT, NOISE_BITS, TIE_BITS, Spectrum

_ENTRIES = 1 << 19
_ALONE = 1e-10
_TIES = (2.0**-TIE_BITS, 2.0**-NOISE_BITS)
_ROUNDING = 1e-9
_CLOSE = 1e-3
"""An alpha so small beside the largest eigenvalue leaves little of I - H beside u u'."""


def leave_pair_out(spectrum: Spectrum, alphas: FloatArray) -> FloatArray:
    r"""Return the share of pairs of rows in the right order by weights learnt without both rows.

    The residuals e of rows i, j of a query, by the weights (and the query's mean) learnt without
    both, solve a system of two equations:

    .. math:: (I - u u' - H)_{ij,ij} \, e = (b - H b)_{ij}

    with u the query's unit vector, sqrt(v_i / n_q). The margin is (y_i - y_j) less the difference
    of e / sqrt(v). A query of two rows is left out as a whole. Pairs of equal labels do not count,
    a margin that is 0 up to rounding counts half, and a pair weighs the product of its rows'
    weights. The result has shape (n_alphas, n_targets), with NaN for a target without unequal
    labels. A warning says if digits are lost, because only two rows have a feature of large scale.

    Costs O(m_q^2 min(m, d)) for each query and alpha, and O(m_q min(m, d)) memory: for small data.
    Wide rows have their eigenvectors rotated first, O(m^3) time and O(m^2) memory. Pahikkala et al.
    2009, leave-pair-out.
    """
    problem = spectrum.problem
    assert isinstance(problem, CentredRows)
    least, centred = 1.0, _Centred.of(spectrum)
    right = np.zeros((alphas.size, problem.b.shape[1]))
    total = np.zeros(problem.b.shape[1])
    for query in range(problem.query_start.size - 1):
        rows = problem.equations_of(query)
        F, y, root = spectrum.factor_of(query), problem.y[rows], problem.root[rows]
        total += [_pair_weight(labels, root**2) for labels in y.T]
        part = None if centred is None or root.size <= 2 else centred.rows(rows)
        for place, alpha in enumerate(alphas):
            close = None
            if part is not None and alpha <= _CLOSE * spectrum.values[-1]:
                close = part.at(alpha)
            at = spectrum.shrinkage(alphas[[place]])[0], spectrum.remainder(alphas[[place]])[0]
            more, left = _right_weights(spectrum, F, (y, problem.b[rows], root), *at, close)
            right[place] += more
            least = min(least, left)
    if least < _ALONE:
        warnings.warn(
            f"two rows hold almost all of some feature (the others have {least:.0e} of it), so "
            "that digits are lost where the two are left out: scale the features, or raise the "
            "smallest alpha",
            PairrankWarning,
            stacklevel=2,
        )
    with np.errstate(invalid="ignore"):
        return right / total


def leave_comparison_out(spectrum: Spectrum, alphas: FloatArray) -> FloatArray:
    """Return the margin of each comparison by the weights learnt from all others.

    The shape is (n_alphas, n_equations). Costs O(n_pairs min(n_pairs, d)) per alpha. If almost only
    one comparison has some feature, 1 - H has lost its digits; that comparison then gets its own
    eigendecomposition.
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
    close: tuple[FloatArray, FloatArray, FloatArray] | None,
) -> tuple[FloatArray, float]:
    """Return the weight of one query's pairs in the right order at one alpha, for each target.

    Also return the least that I - u u' - H keeps of a pair: about its smaller eigenvalue there.

    With Q = (I - H)_{ij,ij}, whose off-diagonal is -H_ij, and t = u' Q^-1 r / (1 - u' Q^-1 u), r
    the residuals, the margin is z' Q^-1 (H b - H_{ij,ij} (b + t u)), z = (1/sqrt v_i, -1/sqrt v_j):
    z' u = 0, so that nothing larger than H is subtracted and ties stay ties. `rows` are y, b and
    sqrt v. `close` has two factors of I - u u' - H and the residuals, if alpha is so small that the
    matrix itself must be used.
    """
    from pairrank.compiled.left_pairs import right_weight

    y, b, root = rows
    shrunk, squares = F * shrink, np.square(F)
    predicted = shrunk @ spectrum.moments
    residual = spectrum.base * b + (F * remain) @ spectrum.moments
    leverage, left = squares @ shrink, spectrum.base + squares @ remain
    unit = root / np.linalg.norm(root) if root.size > 2 else np.zeros(root.size)
    scaled = other = np.empty((root.size, 0))
    if close is not None:
        scaled, other, residual = close
        left = np.einsum("ik,ik->i", scaled, other)
    result, least = np.zeros(b.shape[1]), 1.0
    step = max(1, _ENTRIES // root.size)
    for first in range(0, root.size, step):
        part = slice(first, first + step)
        H = shrunk[part] @ F.T
        M = np.empty((0, 0)) if close is None else scaled[part] @ other.T
        for target, columns in enumerate(zip(predicted.T, residual.T, b.T, y.T, strict=True)):
            p, r, at, labels = map(np.ascontiguousarray, columns)
            weight, kept = right_weight(
                H, M, first, p, r, at, left, leverage, unit, root, labels, _TIES
            )
            result[target] += weight
            least = min(least, kept)
    return result, least


class _Centred(NamedTuple):
    """Rows G of the eigenvectors orthogonal to the queries' unit vectors u; dual problems only.

    They give I - u u' - H = G (alpha / (S + alpha)) G' with all digits, also if alpha is so small
    beside S that the difference of 1 - u_i^2 and H_ii would lose them.
    """

    G: FloatArray
    values: FloatArray
    moments: FloatArray

    @classmethod
    def of(cls, spectrum: Spectrum) -> Self | None:
        """Rotate the eigenvectors of 0 so that they include the u; None where they cannot."""
        problem = spectrum.problem
        sizes = np.diff(problem.query_start)
        if not spectrum.is_dual or sizes.max() <= 2:
            return None
        empty = spectrum.values == 0
        length = np.sqrt(np.bincount(problem.query_of, problem.root**2))
        units = np.zeros((problem.root.size, sizes.size))
        units[np.arange(problem.root.size), problem.query_of] = problem.root
        units = (units / length)[:, sizes > 2]
        held = spectrum.vectors[:, empty].T @ units
        if (np.linalg.norm(held, axis=0) < 1 - _ROUNDING).any():
            return None
        turned = spectrum.vectors[:, empty] @ linalg.qr(held)[0][:, units.shape[1] :]
        G = np.hstack((spectrum.vectors[:, ~empty], turned))
        values = np.append(spectrum.values[~empty], np.zeros(turned.shape[1]))
        return cls(G, values, G.T @ problem.b)

    def rows(self, part: slice) -> Self:
        """Return the same of some equations."""
        return self._replace(G=self.G[part])

    def at(self, alpha: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return G E, G and the residuals b - H b at an alpha."""
        scaled = self.G * (alpha / (self.values + alpha))
        return scaled, self.G, scaled @ self.moments


def _pair_weight(labels: FloatArray, weight: FloatArray) -> float:
    """Return the weight of the pairs of unequal labels."""
    levels = np.unique(labels, return_inverse=True)[1]
    of_level = np.bincount(levels, weight)
    return float(of_level @ (np.cumsum(of_level) - of_level))
