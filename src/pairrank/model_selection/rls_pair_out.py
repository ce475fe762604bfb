"""Leave-pair-out accuracy of RankRLS from residuals."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankWarning
from pairrank.model_selection.rls_equations import CentredRows
from pairrank.model_selection.rls_shortcuts import LEAST_LEFT, Spectrum, eigen

_ENTRIES = 1 << 19
_ALONE = 1e-10
_NOISE = 2.0**-44
"""A margin below this part of its terms is 0 up to rounding."""


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
    Pahikkala et al. 2009, leave-pair-out.
    """
    problem = spectrum.problem
    assert isinstance(problem, CentredRows)
    wide = _Wide.of(problem) if spectrum.is_dual else None
    moments = spectrum.moments if wide is None else wide.moments
    right, total = np.zeros((alphas.size, problem.b.shape[1])), np.zeros(problem.b.shape[1])
    least = 1.0
    for query in range(problem.query_start.size - 1):
        rows = problem.equations_of(query)
        y, b, root = problem.y[rows], problem.b[rows], problem.root[rows]
        total += [_pair_weight(labels, root**2) for labels in y.T]
        unit = root / np.linalg.norm(root) if root.size > 2 else np.zeros(root.size)
        F = spectrum.factor_of(query) if wide is None else wide.vectors[rows]
        for place, alpha in enumerate(alphas):
            if wide is None:
                base, middle, of_unit = 1.0, -1.0 / (spectrum.values + alpha), 1.0
            else:
                base, middle = 0.0, alpha / (wide.values + alpha)
                of_unit = alpha / (wide.shift + alpha)
            scaled, less = F * middle, np.sqrt(of_unit) * unit
            residual = base * b + scaled @ moments
            diagonal = base + np.einsum("ik,ik->i", scaled, F) - less**2
            more, kept = _right_weight((scaled, F, less), diagonal, residual, y, root)
            right[place] += more
            least = min(least, kept)
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


class _Wide(NamedTuple):
    """The eigendecomposition of A A' + c U U', with the queries' unit vectors u as columns of U.

    The u are eigenvectors of A A' of the value 0. With S the eigenvalues, I - u u' - H of a query
    is V alpha/(S + alpha) V' less alpha/(c + alpha) u u'. Both terms are as small as their
    difference where alpha is small, so no digits are lost.
    """

    shift: float
    values: FloatArray
    vectors: FloatArray
    moments: FloatArray

    @classmethod
    def of(cls, problem: CentredRows) -> _Wide:
        """Decompose; O(m^2 d + m^3)."""
        kernel = problem.kernel()
        shift = float(kernel.trace()) / problem.root.size or 1.0
        for query in np.flatnonzero(np.diff(problem.query_start) > 2).tolist():
            rows = problem.equations_of(query)
            unit = problem.root[rows] / np.linalg.norm(problem.root[rows])
            kernel[rows, rows] += shift * np.outer(unit, unit)
        values, vectors = eigen(kernel)
        return cls(shift, values, vectors, vectors.T @ problem.b)


def _right_weight(
    parts: tuple[FloatArray, FloatArray, FloatArray],
    diagonal: FloatArray,
    residual: FloatArray,
    y: FloatArray,
    root: FloatArray,
) -> tuple[FloatArray, float]:
    """Return the weight of one query's pairs in the right order at one alpha, for each target.

    `parts` are (G, F, l): the matrix M = I - u u' - H has the entries of G F' - l l' beside its
    diagonal. Also return the least smaller eigenvalue of M_ij,ij, about, relative to M's largest
    entry.
    """
    scaled, F, less = parts
    result, least, weight = np.zeros(y.shape[1]), 1.0, root**2
    step = max(1, _ENTRIES // root.size)
    for first in range(0, root.size, step):
        rows = slice(first, first + step)
        own = diagonal[rows, None]
        M = scaled[rows] @ F.T - np.outer(less[rows], less)
        determinant = own * diagonal - M**2
        kept = (determinant / (own + diagonal) / diagonal.max()).clip(1e-300)
        for target, (r, labels) in enumerate(zip(residual.T, y.T, strict=True)):
            difference = labels[rows, None] - labels
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                e_i = (diagonal * r[rows, None] - M * r) / determinant / root[rows, None]
                e_j = (own * r - M * r[rows, None]) / determinant / root
                margin = difference - (e_i - e_j)
                noise = _NOISE / kept * (np.abs(difference) + np.abs(e_i) + np.abs(e_j))
            credit = np.where(np.abs(margin) > noise, margin > 0.0, 0.5)
            counts = difference > 0.0
            result[target] += weight[rows] @ np.where(counts, credit, 0.0) @ weight
            least = min(least, kept[counts].min(initial=1.0))
    return result, float(least)


def _pair_weight(labels: FloatArray, weight: FloatArray) -> float:
    """Return the weight of the pairs of unequal labels."""
    levels = np.unique(labels, return_inverse=True)[1]
    of_level = np.bincount(levels, weight)
    return float(of_level @ (np.cumsum(of_level) - of_level))
