"""Normal equations of squares from centred blocks of rows: X'LX, LK, and their objective."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank import threads
from pairrank._protocols import FloatArray, Objective, Point
from pairrank.design import Design
from pairrank.preferences import Differences, Pairs
from pairrank.preferences._codes import counting_order

_BLOCK_ENTRIES = 1 << 21


def block_rows(width: int) -> int:
    """Return the number of rows of a block, for rows of `width` numbers."""
    return max(1, _BLOCK_ENTRIES // max(1, width))


def dense(rows: Any) -> FloatArray:
    """Return a copy of rows as a dense float64 array."""
    dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    return dense.astype(np.float64)


def whole_queries(
    query_start: NDArray[np.int64], limit: int
) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """Yield parts of whole queries, each of at most `limit` equations or one longer query.

    The second value has the starts of the part's queries, counted from the part's start.
    """
    start, last = 0, query_start.size - 1
    while start < last:
        furthest = query_start[start] + limit
        stop = max(start + 1, int(np.searchsorted(query_start, furthest, "right")) - 1)
        first = int(query_start[start])
        yield slice(first, int(query_start[stop])), query_start[start : stop + 1] - first
        start = stop


def centred(values: FloatArray, root: FloatArray, starts: NDArray[np.int64]) -> FloatArray:
    """Centre whole queries by their weighted means in place, and multiply rows by `root`.

    The first row is subtracted before the mean, so values that are constant within a query become
    exactly 0, and an offset costs no digits.
    """
    lengths = np.diff(starts)
    values -= np.repeat(values[starts[:-1]], lengths, axis=0)
    weight, equal = root**2, bool((root == 1.0).all())
    total = np.add.reduceat(weight, starts[:-1])[:, None]
    weighted = values if equal else values * weight[:, None]
    values -= np.repeat(np.add.reduceat(weighted, starts[:-1], axis=0) / total, lengths, axis=0)
    if not equal:
        values *= root[:, None]
    return values


def centred_blocks(
    X: Any, row_of: NDArray[Any] | None, root: FloatArray, query_start: NDArray[np.int64]
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield (equations, root (x - mean of the query)): whole queries, and a long query in pieces.

    `row_of` has the row of each equation, query by query; None: the rows of X in order. `root` has
    the square roots of the weights, by which the means are weighted too. `query_start` has where
    each query's equations begin, and their end.
    """
    limit = block_rows(X.shape[1])
    for part, starts in whole_queries(query_start, limit):
        if part.stop - part.start > limit:
            yield from centred_query(X, row_of, root, part)
        else:
            yield part, centred(_rows(X, row_of, part), root[part], starts)


def centred_query(
    X: Any, row_of: NDArray[Any] | None, root: FloatArray, part: slice
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the pieces of one query; a first pass computes its mean."""
    pieces = threads.blocks(part.stop, block_rows(X.shape[1]), part.start)
    origin = _rows(X, row_of, slice(part.start, part.start + 1))
    total = np.zeros(X.shape[1])
    for piece in pieces:
        block = _rows(X, row_of, piece)
        block -= origin
        total += root[piece] ** 2 @ block
    mean = total / np.square(root[part]).sum()
    for piece in pieces:
        block = _rows(X, row_of, piece)
        block -= origin
        block -= mean
        block *= root[piece, None]
        yield piece, block


def _rows(X: Any, row_of: NDArray[Any] | None, part: slice) -> FloatArray:
    return dense(X[part if row_of is None else row_of[part]])


def primal_matrix(design: Design, preferences: Differences | Pairs) -> FloatArray:
    """Return 2 X'LX (Eq. 6), or 2 X'M D M'X of comparisons, (n_features, n_features) float64.

    Rows are centred in blocks before they are multiplied, so a large common offset of a feature
    costs no digits, unlike in X'X - n mean mean'. O(n_rows n_features^2) time, for comparisons
    O(n_pairs n_features^2), and one block of memory beside the result.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(preferences, Differences):
            no_targets = np.empty((design.n_rows, 0))
            return 2.0 * centred_sums(design.X, no_targets, preferences).products
        result = np.zeros((design.n_features, design.n_features))
        i, j, weight = preferences.i, preferences.j, preferences.weight
        for part in threads.blocks(i.size, block_rows(design.n_features)):
            block = dense(design.X[i[part]]) - dense(design.X[j[part]])
            if weight is not None:
                block *= np.sqrt(weight[part, None])
            result += block.T @ block
        return 2.0 * preferences.pair_scale * result


class CentredSums(NamedTuple):
    """Sums of products of the columns of [X, targets], centred by query."""

    products: FloatArray
    """A'A for the weighted, centred rows A of [X, targets]."""
    query: NDArray[np.intp]
    """The queries with rows of positive weight, ascending."""
    mean: FloatArray
    """The mean row of [X, targets] of each, (n_queries, n_features + n_targets)."""


def centred_sums(X: Any, targets: FloatArray, differences: Differences) -> CentredSums:
    """Return the sums of products of [X, targets], both centred by query.

    `targets` are (n_rows, n_targets); the labels of `differences` are ignored. Costs
    O(n_rows (n_features + n_targets)^2), in blocks of centred rows.
    """
    rows, starts = _by_query(differences)
    n_features, width = X.shape[1], X.shape[1] + targets.shape[1]
    row_of = np.arange(starts[-1]) if rows is None else rows
    if not row_of.size:
        return CentredSums(np.zeros((width, width)), row_of, np.zeros((0, width)))
    root, first = np.sqrt(differences.weight[row_of]), row_of[starts[:-1]]
    labels = centred(targets[row_of], root, starts)
    products, mean = np.zeros((width, width)), np.empty((first.size, width))
    mean[:, n_features:] = targets[first] - labels[starts[:-1]] / root[starts[:-1], None]
    with np.errstate(over="ignore", invalid="ignore"):
        for part, block in centred_blocks(X, rows, root, starts):
            inside = slice(*np.searchsorted(starts[:-1], (part.start, part.stop)))
            begins = starts[:-1][inside]
            off = block[begins - part.start] / root[begins, None]
            mean[inside, :n_features] = dense(X[row_of[begins]]) - off
            both = np.hstack((block, labels[part])) if targets.shape[1] else block
            products += both.T @ both
    return CentredSums(products, differences.query_of[first].astype(np.intp), mean)


def dual_matrix(design: Design, preferences: Differences | Pairs) -> FloatArray:
    """Return X X' with X's columns centred by query, (n_rows, n_rows) float64.

    A shift that is constant within a query changes no difference, so the matrix can be the kernel
    in Eq. 7. O(n_rows^2 n_features) for dense X, in blocks of columns; for sparse X, the product is
    centred instead.
    """
    query_of = np.zeros(design.n_rows, dtype=np.int32)
    if isinstance(preferences, Differences):
        query_of = preferences.query_of
    averaging = _averaging(query_of)
    with np.errstate(over="ignore", invalid="ignore"):
        if design.is_sparse:
            X = design.X.astype(np.float64, copy=False)
            half = _less_means(np.asarray((X @ X.T).todense()), averaging, query_of)
            return _less_means(np.ascontiguousarray(half.T), averaging, query_of)
        result = np.zeros((design.n_rows, design.n_rows))
        step = block_rows(design.n_rows)
        for start in range(0, design.n_features, step):
            columns = design.X[:, start : start + step].astype(np.float64)
            columns = _less_means(columns, averaging, query_of)
            result += columns @ columns.T
    return result


def _averaging(query_of: NDArray[np.int32]) -> Any:
    """Return the matrix (n_queries, n_rows) that takes each query's mean."""
    sizes = np.bincount(query_of)
    rows = np.arange(query_of.size)
    return sparse.csr_array((1.0 / sizes[query_of], (query_of, rows)))


def _less_means(columns: FloatArray, averaging: Any, query_of: NDArray[np.int32]) -> FloatArray:
    """Subtract each column's mean by query, twice, so that offsets leave no rounding."""
    for _ in range(2):
        columns = columns - (averaging @ columns)[query_of]
    return columns


def _by_query(differences: Differences) -> tuple[NDArray[np.intp] | None, NDArray[np.intp]]:
    """Return the rows of positive weight by query (None: all in order) and each query's start."""
    weight, query_of = differences.weight, differences.query_of
    n_queries = differences.query_weight.size
    if n_queries == 1 and (weight > 0).all():
        return None, np.array([0, differences.n_rows])
    rows = counting_order(query_of, n_queries)[0].astype(np.intp)
    rows = rows[weight[rows] > 0]
    starts = np.flatnonzero(np.diff(query_of[rows], prepend=-1))
    return rows, np.append(starts, rows.size)


@dataclass(eq=False)
class Quadratic(Objective):
    r"""factor \|A w - b\|^2 from A'A, A'b and b'b; penalty/2 \|w\|^2 is left to the solver.

    An evaluation costs O(n_features^2) and no product with A.
    """

    gram: FloatArray
    moment: FloatArray
    square: float
    penalty: float
    factor: float = 1.0
    precision: float = 1e-12

    def __post_init__(self) -> None:
        self.n_features = int(self.moment.size)

    def at(self, w: FloatArray, scores: FloatArray | None = None) -> Point:
        """Return value, gradient and Hessian at `w`."""
        with np.errstate(over="ignore", invalid="ignore"):
            product = self.gram @ w
            off = product - self.moment
            value = float(w @ (off - self.moment)) + self.square
            gradient = 2.0 * self.factor * off
        return Point(
            value=self.factor * max(value, 0.0) if np.isfinite(value) else value,
            gradient=gradient,
            scores=w,
            hessian=lambda: self,
            preconditioner=lambda: None,
            rounding=lambda: np.zeros(self.n_features),
            score_norm=0.0,
        )

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian, penalty included, times `v`."""
        return np.asarray(self.penalty * v + 2.0 * self.factor * (self.gram @ v))
