"""Leave-out error of RankRLS for every candidate feature."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.model_selection.rls_equations import CentredRows, Equations

_ENTRIES = 1 << 17
_ALONE = 1e-11


class _Chosen:
    """The residuals with the chosen features S, and how each other feature would change them.

    With G = (I + A_S A_S'/alpha)^-1, it keeps C = G A with one row per feature, the residuals
    r = G b, `scale` = alpha + a_j' C_j and `moment` = a_j' r. Choosing f subtracts C_f C_f'/scale_f
    from G, which costs O(m) per feature. `order` is the order of equations.
    """

    def __init__(self, problem: Equations, alpha: float, order: NDArray[np.int64]) -> None:
        self._problem, self._order = problem, order
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        self.C = np.empty((problem.n_features, order.size))
        for part, block in problem.blocks():
            self.C[:, place[part]] = block.T
        self.r = problem.b[order]
        self.root = problem.root[order]
        self.scale = alpha + np.einsum("fm,fm->f", self.C, self.C)
        self.moment = self.C @ self.r

    def shares(self, feature: int) -> FloatArray:
        """Return the multiple of C_f that each C_j loses if feature f is chosen, (n_features,)."""
        column = self._problem.columns(slice(feature, feature + 1))[self._order, 0]
        return self.C @ column / self.scale[feature]

    def choose(self, feature: int, shares: FloatArray) -> None:
        """Update everything but C."""
        moment, scale = self.moment[feature].copy(), self.scale[feature]
        self.r -= np.outer(self.C[feature] / scale, moment)
        self.moment -= np.outer(shares, moment)
        self.scale = self.scale - shares**2 * scale

    def parts(self) -> Iterator[slice]:
        """Yield slices of features whose rows of C fit the cache."""
        step = max(1, _ENTRIES // max(1, self.r.shape[0]))
        for first in range(0, self.scale.size, step):
            yield slice(first, first + step)


class BlocksLeftOut(_Chosen):
    r"""Blocks of equations left out in turn: queries, folds of queries or of rows, comparisons.

    For a block F with M = G - U U', U the unit vectors of the queries that it splits, the residuals
    of its rows by the weights and query means of all other rows are r_F = (M_FF)^-1 (G b)_F.
    With T_j = (M_FF)^-1 C_j for every block, adding feature j changes them to

    .. math:: r_F + T_j \, \frac{C_j' r_F - a_j' G b}{\alpha + a_j' C_j - C_j' T_j}

    (products with r_F and T_j over the block), and T changes by multiples of T_f only, so that
    neither M nor its inverse is ever formed. The error is that of the centred part of r_F in each
    query. `block_of` is the block of each equation. Residuals of rows, not those of comparisons,
    are known up to a constant within a query.

    Choosing and the errors cost O(m) per feature; 16 bytes per entry of X. It keeps the O(k m n) of
    Pahikkala, Airola, Naula and Salakoski 2010; the formulas are worked out here.
    """

    def __init__(self, problem: Equations, alpha: float, block_of: NDArray[np.int64]) -> None:
        query_of = problem.query_of
        order = np.lexsort((query_of, block_of))
        super().__init__(problem, alpha, order)
        query_of, block_of = query_of[order], block_of[order]
        self._cells, self._blocks = _starts(query_of, block_of), _starts(block_of)
        self._cells_of_block = np.searchsorted(self._cells, self._blocks)
        self._lengths = np.diff(np.append(self._blocks, order.size))
        self._T, self._left = self.C.copy(), self.r.copy()
        self._unit: FloatArray | None = None
        is_centred = isinstance(problem, CentredRows)
        if is_centred and self._cells.size > problem.query_start.size - 1:
            self._cut_queries(query_of)

    @property
    def error(self) -> float:
        """The squared error on what is left out, with the chosen features."""
        return float(np.sum(self._products(self._left.T, self._left.T)))

    def errors(self) -> FloatArray:
        """Return the squared error on what is left out with each feature added, (n_features,)."""
        result = np.full(self.scale.size, self.error)
        for part in self.parts():
            C, T = self.C[part], self._T[part]
            scale = self.scale[part, None]
            spare = scale - self._sums(C * T)
            squares = self._products(T, T)
            for target, left in enumerate(self._left.T):
                moment = self.moment[part, target, None]
                step = _ratio(self._sums(C * left) - moment, spare, scale)
                result[part] += (step * (2 * self._products(T, left[None]) + step * squares)).sum(1)
        return result

    def add(self, feature: int) -> None:
        """Choose a feature."""
        u, p = self.C[feature].copy(), self._T[feature].copy()
        own = self._sums((u * p)[None])[0]
        spare = self.scale[feature] - own
        scale = self.scale[feature]
        steps = _ratio(self._sums(u * self._left.T) - self.moment[feature][:, None], spare, scale)
        self._left += (p * self._spread(steps)).T
        shares = self.shares(feature)
        self.choose(feature, shares)
        for part in self.parts():
            lost = shares[part, None]
            step = _ratio(self._sums(p * self.C[part]) - lost * scale, spare, scale)
            self._T[part] += p * self._spread(step)
            self.C[part] -= lost * u

    def _sums(self, values: FloatArray) -> FloatArray:
        """Sum each row of values over blocks."""
        return np.add.reduceat(values, self._blocks, axis=1)

    def _spread(self, of_blocks: FloatArray) -> FloatArray:
        return np.repeat(of_blocks, self._lengths, axis=1)

    def _products(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return products over blocks of rows of a with those of b, the queries' parts centred."""
        result = self._sums(a * b)
        if self._unit is None:
            return result
        means = np.add.reduceat(a * self._unit, self._cells, axis=1)
        other = means if a is b else np.add.reduceat(b * self._unit, self._cells, axis=1)
        return result - np.add.reduceat(means * other, self._cells_of_block, axis=1)

    def _cut_queries(self, query_of: NDArray[np.int64]) -> None:
        """Start from the inverse of I - U U' where blocks split queries."""
        root, cells = self.root, self._cells
        lengths = np.diff(np.append(cells, root.size))
        held = np.add.reduceat(root**2, cells)
        total = np.bincount(query_of, root**2)[query_of[cells]]
        self._unit = root / np.repeat(np.sqrt(held), lengths)
        rest = total - held
        factor = np.divide(held, rest, out=np.zeros_like(held), where=rest > 1e-12 * total)
        for values in (self._T, self._left.T):
            sums = np.add.reduceat(values * self._unit, cells, axis=1) * factor
            values += np.repeat(sums, lengths, axis=1) * self._unit


class PairsLeftOut(_Chosen):
    """Any two rows of one query left out in turn; the error is that of their difference.

    The errors cost O(m^2) per feature, and 8 m^2 bytes: for small data.
    """

    def __init__(self, problem: Equations, alpha: float) -> None:
        super().__init__(problem, alpha, np.arange(problem.root.size))
        root = problem.root
        unit = root / np.linalg.norm(root) if root.size > 2 else np.zeros(root.size)
        self._M = np.eye(root.size) - np.outer(unit, unit)

    @property
    def error(self) -> float:
        """The squared error on what is left out, with the chosen features."""
        return self._of(self._M, self.r)

    def errors(self) -> FloatArray:
        """Return the squared error on what is left out with each feature added, (n_features,)."""
        result = np.empty(self.scale.size)
        for feature, (u, scale) in enumerate(zip(self.C, self.scale, strict=True)):
            step = u / scale
            left = self.r - np.outer(step, self.moment[feature])
            result[feature] = self._of(self._M - np.outer(step, u), left)
        return result

    def add(self, feature: int) -> None:
        """Choose a feature."""
        u, shares = self.C[feature].copy(), self.shares(feature)
        self._M -= np.outer(u / self.scale[feature], u)
        self.choose(feature, shares)
        self.C -= np.outer(shares, u)

    def _of(self, M: FloatArray, r: FloatArray) -> float:
        """Return the sum of v_i v_j (error of a difference)^2 / (2 n_q) over rows i, j left out."""
        own, root, result = M.diagonal(), self.root, 0.0
        determinant = np.outer(own, own) - M**2
        np.fill_diagonal(determinant, 1.0)
        for left in r.T:
            error = (np.outer(left, own) - M * left) / determinant / root[:, None]
            result += float(
                ((np.outer(root, root) * (error - error.T) ** 2) * np.outer(root, root)).sum()
            )
        return result / (2 * float(root @ root))


def _ratio(values: FloatArray, spare: FloatArray, scale: FloatArray) -> FloatArray:
    """Return values / spare; 0 if only one block has a feature: the others give it no weight."""
    values, spare = np.broadcast_arrays(values, spare)
    return np.divide(values, spare, out=np.zeros(values.shape), where=spare > _ALONE * scale)


def _starts(*keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where runs of equal keys begin."""
    change = np.ones(keys[0].size, dtype=bool)
    change[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return np.flatnonzero(change)
