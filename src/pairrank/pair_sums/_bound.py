"""What pair sums share: checked scores, products with many vectors, bands of levels."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pairrank import threads
from pairrank._protocols import Curvature, Evaluated, FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences import Levels
from pairrank.preferences._codes import query_of_groups

_FEW_ROWS = 4096
"""A product with fewer rows takes about as long as what Python does around it."""


def as_scores(scores: FloatArray, n_rows: int) -> FloatArray:
    """Return scores as contiguous float64, (n_rows,); raise an error for another shape."""
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    if scores.shape != (n_rows,):
        raise PairrankError(f"scores have shape {scores.shape}, but there are {n_rows} rows")
    return scores


def range_of(scores: FloatArray) -> tuple[float, float]:
    """Return the least and the greatest score, NaN where one is NaN; zeros if there is none."""
    if not scores.size:
        return 0.0, 0.0
    return float(scores.min()), float(scores.max())


def no_curvature() -> NoReturn:
    """Raise the error that a loss with a kink has no Hessian."""
    raise PairrankError(
        "the loss has a kink and so no curvature to solve with: use cutting planes, or a smooth "
        "loss such as the squared hinge"
    )


def outside(n_rows: int, most: float, error: float = 0.0) -> Evaluated:
    """Return what a sum says of scores that are not finite, or greater than `most`."""
    refuse = functools.partial(refuse_scores, most)
    return Evaluated(np.inf, np.full(n_rows, np.nan), error, refuse, 2.0 * error)


def refuse_scores(most: float) -> NoReturn:
    """Raise the error for scores that are not finite, or greater than `most`."""
    raise PairrankError(
        f"scores must be finite numbers between {-most:g} and {most:g} here; scale the features "
        "down"
    )


MOST = float(np.finfo(np.float64).max)
"""The greatest finite number."""


class BoundSum(ABC):
    """A pair sum with a value, a gradient and a curvature; exact unless it says otherwise."""

    n_rows: int
    error = 0.0
    smooth = True
    """Whether the loss has a curvature to solve with."""
    most = MOST
    """The greatest absolute value that a score may have."""

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores.

        Scores that are not finite, or beyond `most`, give the value infinity and a gradient of NaN.
        """
        scores = as_scores(scores, self.n_rows)
        if not self._in_range(scores):
            return outside(self.n_rows, self.most, self.error)
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = self._value_and_gradient(scores)
        value = np.inf if np.isnan(value) else float(value)
        curvature: Callable[[], Curvature] = no_curvature
        if self.smooth:
            curvature = functools.partial(self._curvature, scores)
        return Evaluated(value, gradient, self.error, curvature, 2.0 * self.error)

    def sharpen(self) -> bool:
        """Return False: the sum is exact."""
        return False

    def _in_range(self, scores: FloatArray) -> bool:
        """Return whether no score is NaN or greater than this sum can take."""
        low, high = range_of(scores)
        return -self.most <= low and high <= self.most

    @abstractmethod
    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all pairs and its gradient at finite scores, (n_rows,)."""

    @abstractmethod
    def _curvature(self, scores: FloatArray) -> Curvature:
        """Return the (generalised) Hessian at these scores, from known results if possible."""


class OneByOne(ABC):
    """A Hessian that many vectors are multiplied by one by one, in several threads."""

    @abstractmethod
    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""

    def matmat(self, vectors: FloatArray) -> FloatArray:
        """Return the Hessian times each row of `vectors`, both (n_vectors, n_rows) in C order."""
        result = np.empty_like(vectors, dtype=np.float64)

        def multiply(rows: slice) -> None:
            for vector, product in zip(vectors[rows], result[rows], strict=True):
                product[:] = self.matvec(vector)

        n_vectors, n_rows = vectors.shape
        threads.run(multiply, threads.blocks(n_vectors, n_vectors if n_rows < _FEW_ROWS else 1))
        return result


IntArray = NDArray[np.int64]
Terms = tuple[tuple[float, int, float], ...]
"""The margins, powers and factors of a piecewise polynomial loss."""
Links = tuple[IntArray, IntArray, IntArray, IntArray]
"""(below_start, below, above_start, above): code k is preferred to the codes
below[below_start[k] : below_start[k + 1]], and the codes of `above` are preferred to it. All are
empty where every higher code of a query is preferred to every lower one."""

_NONE = np.empty(0, dtype=np.int64)
FULL: Links = (_NONE, _NONE, _NONE, _NONE)


def links_of(edges: IntArray | None, n_codes: int) -> Links:
    """Return the links of edges (low code, high code), (n, 2); None: every pair of codes."""
    if edges is None:
        return FULL
    low, high = edges.T
    found = []
    for own, others in ((high, low), (low, high)):
        start = np.concatenate(([0], np.cumsum(np.bincount(own, minlength=n_codes))))
        found += [start, np.ascontiguousarray(others[np.argsort(own, kind="stable")])]
    return found[0], found[1], found[2], found[3]


def borders_of(levels: Levels, chosen: NDArray[np.bool_], rows: int) -> IntArray:
    """Return the first group of each band, and the end of all groups.

    Under the full graph a band of a chosen query is a level, or a run of successive levels of
    fewer than half of `rows` rows each, with fewer than 1.5 `rows` rows together. Under another
    graph it is a level. Every other query is one band. Costs O(groups).
    """
    query, first = query_of_groups(levels.query_group), levels.query_group[:-1]
    begins = np.ones(query.size, dtype=bool)
    if levels.edges is None:
        sizes, start = np.diff(levels.group_start), levels.group_start[:-1]
        large = 2 * sizes >= rows
        stretch = (start - levels.query_start[query]) // rows
        begins[1:] = (np.diff(stretch) != 0) | large[1:] | large[:-1]
    begins &= chosen[query]
    begins[first] = True
    return np.append(np.flatnonzero(begins), query.size)


def within_bands(levels: Levels, chosen: NDArray[np.bool_], borders: IntArray) -> Levels:
    """Return the preferences within bands, one query each, with all those of queries not chosen."""
    query, edges = query_of_groups(levels.query_group), levels.edges
    if edges is not None:
        edges = edges[~chosen[query[edges[:, 0]]]]
    scale = np.broadcast_to(levels.pair_scale, levels.n_queries)[query[borders[:-1]]]
    return replace(
        levels,
        query_group=borders,
        edges=edges,
        pair_scale=np.ascontiguousarray(scale, dtype=np.float64),
    )


def by_user(
    row_of: NDArray[np.int32], *arrays: NDArray[Any]
) -> tuple[slice | NDArray[np.int32], list[NDArray[Any]]]:
    """Return the user's rows, as a slice where they are successive, and arrays in their order.

    `row_of` (n,) and the arrays (n,) are by place; empty arrays remain as they are.
    """
    low, high = int(row_of.min()), int(row_of.max())
    if high - low + 1 > row_of.size:
        order = np.argsort(row_of, kind="stable")
        return row_of[order], [each[order] if each.size else each for each in arrays]
    place, moved = row_of - np.int32(low), [np.empty_like(each) for each in arrays]
    for each, result in zip(arrays, moved, strict=True):
        if each.size:
            result[place] = each
    return slice(low, high + 1), moved
