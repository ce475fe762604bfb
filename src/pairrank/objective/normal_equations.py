"""The matrices of RankRLS's closed forms, from centred blocks of rows: X'LX and LK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray
from pairrank.design import Design
from pairrank.objective.row_blocks import block_rows, centred, centred_blocks, cut, dense
from pairrank.preferences import Differences, Pairs
from pairrank.preferences._codes import counting_order


def primal_matrix(design: Design, preferences: Differences | Pairs) -> FloatArray:
    """Return 2 X'LX (Eq. 6), or 2 X'M D M'X of comparisons, (n_features, n_features) float64.

    Rows are centred in blocks before they are multiplied, so a large common offset of a feature
    costs no digits, unlike in X'X - n mean mean'. O(n_rows n_features^2) time, for comparisons
    O(n_pairs n_features^2), and one block of memory beside the result.
    """
    result = np.zeros((design.n_features, design.n_features))
    with np.errstate(over="ignore", invalid="ignore"):
        for block in _blocks(design.X, preferences):
            result += block.T @ block
        result *= 2.0
    return result


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
    weight = np.ones(row_of.size) if differences.weight is None else differences.weight[row_of]
    root, first = np.sqrt(weight), row_of[starts[:-1]]
    labels = centred(targets[row_of], root, starts)
    products, mean = np.zeros((width, width)), np.empty((first.size, width))
    mean[:, n_features:] = targets[first] - labels[starts[:-1]] / root[starts[:-1], None]
    with np.errstate(over="ignore", invalid="ignore"):
        for part, block in centred_blocks(X, rows, root, starts):
            inside = slice(*np.searchsorted(starts[:-1], (part.start, part.stop)))
            begins = starts[:-1][inside]
            off = block[begins - part.start] / root[begins, None]
            mean[inside, :n_features] = dense(X[row_of[begins]]) - off
            both = np.hstack((block, labels[part]))
            products += both.T @ both
    query_of = differences.query_of
    query = np.zeros(1, dtype=np.intp) if query_of is None else query_of[first].astype(np.intp)
    return CentredSums(products, query, mean)


def dual_matrix(design: Design, preferences: Differences | Pairs) -> FloatArray:
    """Return X X' with X's columns centred by query, (n_rows, n_rows) float64.

    A shift that is constant within a query changes no difference, so the matrix can be the kernel
    in Eq. 7. O(n_rows^2 n_features) for dense X, in blocks of columns; for sparse X, the product is
    centred instead.
    """
    query_of = preferences.query_of if isinstance(preferences, Differences) else None
    if query_of is None:
        query_of = np.zeros(design.n_rows, dtype=np.int32)
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


def _blocks(X: Any, preferences: Differences | Pairs) -> Iterator[FloatArray]:
    """Yield blocks of a matrix A such that |A w|^2 is the pair sum of the scores X w."""
    if isinstance(preferences, Pairs):
        return _pair_blocks(X, preferences)
    rows, starts = _by_query(preferences)
    weight = np.ones(starts[-1])
    if preferences.weight is not None:
        weight = preferences.weight if rows is None else preferences.weight[rows]
    return (block for _, block in centred_blocks(X, rows, np.sqrt(weight), starts))


def _pair_blocks(X: Any, pairs: Pairs) -> Iterator[FloatArray]:
    """Yield blocks of x_i - x_j times the square root of each comparison's weight."""
    for part in cut(slice(0, pairs.n_pairs), block_rows(X.shape[1])):
        block = dense(X[pairs.i[part]])
        block -= dense(X[pairs.j[part]])
        if pairs.weight is not None:
            block *= np.sqrt(pairs.weight[part])[:, None]
        if pairs.pair_scale != 1.0:
            block *= np.sqrt(pairs.pair_scale)
        yield block


def _by_query(differences: Differences) -> tuple[NDArray[np.intp] | None, NDArray[np.intp]]:
    """Return the rows of positive weight by query (None: all in order) and each query's start."""
    weight, query_of = differences.weight, differences.query_of
    whole = weight is None or bool((weight > 0).all())
    if query_of is None:
        if whole:
            return None, np.array([0, differences.n_rows])
        rows = np.flatnonzero(np.asarray(weight) > 0)
        return rows, np.unique([0, rows.size])
    rows = counting_order(query_of, differences.query_weight.size)[0].astype(np.intp)
    if not whole:
        rows = rows[np.asarray(weight)[rows] > 0]
    starts = np.flatnonzero(np.diff(query_of[rows], prepend=-1))
    return rows, np.append(starts, rows.size)
