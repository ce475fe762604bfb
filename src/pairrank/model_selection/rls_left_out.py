"""RankRLS at all alphas from one eigendecomposition; scores of queries or pairs left out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from scipy import linalg

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.model_selection.rls_equations import CentredRows, Equations

_LARGEST = 20_000
_ENTRIES = 1 << 22
TIE_BITS, _FLOOR_BITS = 36, 10
"""Scores that agree to 2^-36 of the largest of a query, or to 2^-46 of the largest of all, count as
tied: the rest is rounding."""
LEAST_LEFT = 1e-6
"""The smallest eigenvalue of (I - H)_qq at which 1 - H still has enough digits."""
_PAIR_ENTRIES = 1 << 19
_ALONE = 1e-10
_NOISE = 2.0**-44
"""A margin below this part of its terms is 0 up to rounding."""


class Spectrum:
    r"""The eigendecomposition of A'A or of A A', whichever is smaller, of some `Equations`.

    With S the eigenvalues, the weights are U (S + alpha)^-1 U' A' b or A' V (S + alpha)^-1 V' b.
    The quantities of equations q have one form in both, where F_q are their rows of A U or of V:

    .. math:: H_{qq} = F_q D F_q', \quad (I - H)_{qq} = c I + F_q E F_q',
        \quad b_q - (H b)_q = c \, b_q + F_q E \mu

    where H = A (A'A + alpha)^-1 A'. In the first D = -E = (S + alpha)^-1, c = 1 and mu = U' A' b;
    in the second D = S/(S + alpha), E = alpha/(S + alpha), c = 0 and mu = V' b, so that no digits
    are lost where alpha is small beside S. A A' is 0 along the queries' unit vectors, and so is b;
    `shift` is added there (`CentredRows.lift_means`): H then differs along them only.

    Costs O(m d min(m, d) + min(m, d)^3) time and O(min(m, d)^2) memory for m equations of d
    features; the weights at each alpha then cost O(min(m, d)^2), and O(m d) where m < d. If both
    sides of A are too long for a dense matrix, or products overflow, a PairrankError says so.
    Airola et al. 2010, Eqs. 6 and 7.
    """

    def __init__(self, problem: Equations) -> None:
        self.problem = problem
        n_equations, n_features = problem.root.size, problem.n_features
        self.is_dual = n_equations < n_features
        if min(n_equations, n_features) > _LARGEST:
            raise PairrankError(
                f"{n_equations} rows or comparisons of {n_features} features are too many for an "
                f"eigendecomposition (the fewer of both may be {_LARGEST}): choose RankRLS's alpha "
                'by validation rows, or take regularization="iteration"'
            )
        self.base, self.shift = (0.0 if self.is_dual else 1.0), 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            if self.is_dual:
                kernel = problem.kernel()
                if isinstance(problem, CentredRows):
                    self.shift = problem.lift_means(kernel)
                self.values, self.vectors = eigen(kernel)
                self.moments = self.vectors.T @ problem.b
            else:
                self._gram, self._target = problem.gram(), problem.moments(problem.b)
                self.values, self.vectors = eigen(self._gram)
                self.moments = self.vectors.T @ self._target

    def coefs(self, alphas: FloatArray) -> FloatArray:
        """Return the weights at every alpha, (n_alphas, n_features, n_targets)."""
        weights = _solved(self.values, self.vectors, self.moments, alphas)
        if not self.is_dual:
            return weights
        columns = self.problem.moments(np.hstack(list(weights)))
        return np.stack(np.hsplit(columns, alphas.size))

    def shrinkage(self, alphas: FloatArray) -> FloatArray:
        """Return the diagonal D at every alpha, (n_alphas, rank)."""
        return (self.values if self.is_dual else 1.0) / (self.values + alphas[:, None])

    def remainder(self, alphas: FloatArray) -> FloatArray:
        """Return the diagonal E at every alpha, (n_alphas, rank)."""
        return (alphas[:, None] if self.is_dual else -1.0) / (self.values + alphas[:, None])

    def factors(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, F): all at once, or a block at a time where F must be computed."""
        if self.is_dual:
            yield slice(0, self.problem.root.size), self.vectors
            return
        for part, block in self.problem.blocks():
            yield part, block @ self.vectors

    def factor_of(self, query: int) -> FloatArray:
        """Return F of one query, (its equations, rank)."""
        if self.is_dual:
            return self.vectors[self.problem.equations_of(query)]
        return np.vstack([block @ self.vectors for _, block in self.blocks_of(query)])

    def blocks_of(self, query: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield (equations, rows of A) of one query."""
        return self.problem.blocks(self.problem.query_start[query : query + 2])

    def coefs_without(self, query: int, alphas: FloatArray) -> FloatArray:
        """Return the weights learnt from all other queries, (n_alphas, n_features, n_targets).

        By an eigendecomposition of A'A less the query's part, O(d^3); or, if the other queries hold
        almost nothing of some feature, from their rows, O(m d^2).
        """
        if np.diff(self.problem.query_start)[query] > self.values.size:
            gram, target = self._gram.copy(), self._target.copy()
            for part, block in self.blocks_of(query):
                gram -= block.T @ block
                target -= block.T @ self.problem.b[part]
            if (gram.diagonal() >= LEAST_LEFT * self._gram.diagonal()).all():
                values, vectors = eigen(gram)
                return _solved(values, vectors, vectors.T @ target, alphas)
        return Spectrum(self.problem.without(self.problem.query_of == query)).coefs(alphas)


def leave_query_out(spectrum: Spectrum, alphas: FloatArray) -> FloatArray:
    r"""Return the predictions for each query by the weights learnt from all others.

    Leaving query q out leaves the other queries' centring and normalisation as they are, so that

    .. math:: b_q - A_q w_{-q} = ((I - H)_{qq})^{-1} (b - H b)_q

    is exact for any row weights. For rows these are centred scores, for comparisons margins, of
    shape (n_alphas, n_equations, n_targets).

    Costs O(m d min(m, d)) and, for each alpha, the sum over queries of m_q^2 min(m, d) + m_q^3;
    O(m_q d^2 + d^3) for a query of more rows than there are features, every alpha included.
    Pahikkala et al. 2009 have it for one graph; the block of a query with the 1/(2 n_q) of Airola
    et al. 2010, Eq. 3, is worked out here.
    """
    problem = spectrum.problem
    result = np.zeros((alphas.size, *problem.b.shape))
    starts, sizes = problem.query_start, np.diff(problem.query_start)
    for query, size in enumerate(sizes.tolist()):
        found, rows = None, problem.equations_of(query)
        if size <= spectrum.values.size:
            try:
                found = _without_block(spectrum, spectrum.factor_of(query), problem.b[rows], alphas)
            except np.linalg.LinAlgError:
                raise PairrankError(
                    f"left-out scores cannot be computed in float64 at alpha = {alphas.min():g}: "
                    "leave out such small alphas, or scale the features"
                ) from None
        if found is None:
            weights = spectrum.coefs_without(query, alphas)
            blocks = [block @ weights for _, block in spectrum.blocks_of(query)]
            found = np.concatenate(blocks, axis=1)
        result[:, rows] = found
    result /= problem.root[:, None]
    largest = np.maximum.reduceat(np.abs(result), starts[:-1], axis=1)
    largest = np.maximum(largest, 2.0**-_FLOOR_BITS * largest.max(axis=1, keepdims=True))
    unit = np.ldexp(1.0, np.frexp(np.where(largest > 1e-290, largest, 1.0))[1] - TIE_BITS)
    unit = np.repeat(unit, sizes, axis=1)
    return np.rint(result / unit) * unit


def _without_block(
    spectrum: Spectrum, F: FloatArray, b: FloatArray, alphas: FloatArray
) -> FloatArray | None:
    """Return A_q w_{-q} at every alpha, from the rows F of query q; O(m_q^2 rank + m_q^3) each.

    None where a feature is learnt from this query almost alone: 1 - H has then lost its digits.
    """
    if not spectrum.is_dual:
        weighted = F * spectrum.remainder(alphas.min(keepdims=True))
        left = np.linalg.eigvalsh(np.eye(b.shape[0]) + weighted @ F.T)
        if left[0] < LEAST_LEFT:
            return None
    result = np.empty((alphas.size, *b.shape))
    step = max(1, _ENTRIES // max(F.size, b.shape[0] ** 2))
    for start in range(0, alphas.size, step):
        some = alphas[start : start + step]
        weighted = F * spectrum.remainder(some)[:, None, :]
        left = weighted @ F.T
        left += spectrum.base * np.eye(b.shape[0])
        residual = np.linalg.solve(left, weighted @ spectrum.moments + spectrum.base * b)
        others = spectrum.moments - F.T @ residual
        result[start : start + step] = F @ (spectrum.shrinkage(some)[:, :, None] * others)
    return result


def _solved(
    values: FloatArray, vectors: FloatArray, target: FloatArray, alphas: FloatArray
) -> FloatArray:
    """Return vectors (values + alpha)^-1 target at every alpha, (n_alphas, rows, n_targets)."""
    return vectors @ (target / (values + alphas[:, None])[:, :, None])


def eigen(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues, 0 where they are rounding, and eigenvectors of a semidefinite matrix.

    With an alpha far below the largest eigenvalue, rounding would not act as 0.
    """
    if not np.isfinite(matrix).all():
        raise PairrankError("products of features overflow: scale the features down")
    values, vectors = linalg.eigh(matrix, driver="evd", check_finite=False)
    noise = values.size * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)
    return np.where(values > noise, values, 0.0), vectors


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
    sums, least = np.zeros((2, alphas.size, problem.y.shape[1])), 1.0
    middles = spectrum.remainder(alphas)
    for query in range(problem.query_start.size - 1):
        rows = problem.equations_of(query)
        y, b, root = problem.y[rows], problem.b[rows], problem.root[rows]
        unit = root / np.linalg.norm(root) if root.size > 2 else np.zeros(root.size)
        F = spectrum.factor_of(query)
        for place, (alpha, middle) in enumerate(zip(alphas, middles, strict=True)):
            scaled = F * middle
            less = np.sqrt(alpha / (spectrum.shift + alpha)) * unit
            residual = spectrum.base * b + scaled @ spectrum.moments
            diagonal = spectrum.base + np.einsum("ik,ik->i", scaled, F) - less**2
            more, kept = _weights_of_pairs((scaled, F, less), diagonal, residual, y, root)
            sums[:, place] += more
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
        return sums[0] / sums[1]


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
        result[:, equation] = Spectrum(problem.without(left_out)).coefs(alphas)[:, :, 0] @ row[0]
    return result / problem.root


def _weights_of_pairs(
    parts: tuple[FloatArray, FloatArray, FloatArray],
    diagonal: FloatArray,
    residual: FloatArray,
    y: FloatArray,
    root: FloatArray,
) -> tuple[FloatArray, float]:
    """Return the weight of one query's pairs in the right order at one alpha, and of all its pairs.

    The shape is (2, n_targets). `parts` are (G, F, l): the matrix M = I - u u' - H has the entries
    of G F' - l l' beside its diagonal. Also return the least smaller eigenvalue of M_ij,ij, about,
    relative to M's largest entry.
    """
    scaled, F, less = parts
    result, least, weight = np.zeros((2, y.shape[1])), 1.0, root**2
    step = max(1, _PAIR_ENTRIES // root.size)
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
            result[0, target] += weight[rows] @ np.where(counts, credit, 0.0) @ weight
            result[1, target] += weight[rows] @ counts @ weight
            least = min(least, kept[counts].min(initial=1.0))
    return result, float(least)
