"""RankSVM by order-statistic trees as the paper has them: an AA tree beside a selection tree."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.optimize import minimize

AA, SELECTION = "aa", "selection"
TREES = (AA, SELECTION)

DEPTH, KEY = 2, 3
"""Columns of an AA tree's nodes, after the left and the right child; node 0 is no node."""

DEEPEST = 128
"""More than the depth of any AA tree in memory, which is at most twice the binary logarithm."""


class Step(NamedTuple):
    """A point of a descent, with what pairrank's own steps have."""

    seconds: float
    value: float
    gradient_norm: float
    coef: Any
    gap: float = float("nan")


@njit(cache=True)
def refresh(nodes: Any, sums: Any, node: Any) -> None:
    """Set a node's sums over its subtree: its own (columns 0, 1) and its children's (2, 3)."""
    for at in range(2):
        below = sums[nodes[node, 0], 2 + at] + sums[nodes[node, 1], 2 + at]
        sums[node, 2 + at] = sums[node, at] + below


@njit(cache=True)
def balance(nodes: Any, sums: Any, node: Any) -> Any:
    """Return the root of a subtree after Andersson's skew (to the left) and split."""
    for side in range(2):
        child = nodes[node, side]
        level_with = child if side == 0 else nodes[child, side]
        if child and nodes[level_with, DEPTH] == nodes[node, DEPTH]:
            nodes[node, side], nodes[child, 1 - side] = nodes[child, 1 - side], node
            nodes[child, DEPTH] += side
            refresh(nodes, sums, node)
            refresh(nodes, sums, child)
            node = child
    return node


@njit(cache=True, inline="always")
def insert(nodes: Any, sums: Any, path: Any, root: Any, n_nodes: Any, level: Any, x: Any) -> Any:
    """Insert a row; return the root and the number of nodes. A level has one node."""
    n_above, node = 0, root
    while node and nodes[node, KEY] != level:
        sums[node, 2] += 1.0
        sums[node, 3] += x
        path[n_above] = node
        n_above += 1
        node = nodes[node, int(level > nodes[node, KEY])]
    if node:
        for at, own in enumerate((1.0, x)):
            sums[node, at] += own
            sums[node, 2 + at] += own
        return root, n_nodes
    below = n_nodes + 1
    nodes[below, 0] = nodes[below, 1] = 0
    nodes[below, DEPTH], nodes[below, KEY] = 1, level
    sums[below, 0] = sums[below, 2] = 1.0
    sums[below, 1] = sums[below, 3] = x
    for at in range(n_above - 1, -1, -1):
        above = path[at]
        nodes[above, int(level > nodes[above, KEY])] = below
        below = balance(nodes, sums, above)
    return below, n_nodes + 1


@njit(cache=True, inline="always")
def beyond(nodes: Any, sums: Any, node: Any, level: Any, larger: Any) -> Any:
    """Return count and sum of the rows of larger (else smaller) levels, from the root down."""
    n, total = 0.0, 0.0
    while node:
        outer = nodes[node, int(larger)]
        if nodes[node, KEY] == level:
            return n + sums[outer, 2], total + sums[outer, 3]
        if (nodes[node, KEY] > level) == larger:
            n += sums[node, 0] + sums[outer, 2]
            total += sums[node, 1] + sums[outer, 3]
            node = nodes[node, 1 - int(larger)]
        else:
            node = outer
    return n, total


@njit(cache=True)
def add_to_leaf(leaves: Any, at: Any, x: Any) -> None:
    """Insert a row into a selection tree: add it to its leaf and all nodes above."""
    while at > 0:
        leaves[at, 0] += 1.0
        leaves[at, 1] += x
        at //= 2


@njit(cache=True)
def beyond_leaf(leaves: Any, at: Any, larger: Any) -> Any:
    """Return the same by a selection tree, from a leaf up."""
    n, total = 0.0, 0.0
    while at > 1:
        if (at % 2 == 0) == larger:
            n += leaves[at + 1 if larger else at - 1, 0]
            total += leaves[at + 1 if larger else at - 1, 1]
        at //= 2
    return n, total


@njit(cache=True)
def sweep(by_aa: Any, starts: Any, n_levels: Any, scores: Any, level: Any, x: Any) -> Any:
    """Return count and sum of x of the rows that violate with each row (Algorithm 2).

    Parameters
    ----------
    by_aa : bool
        By an AA tree of the levels, else by a selection tree.
    starts : ndarray of int64, shape (n_queries + 1,)
    n_levels : ndarray of int64, shape (n_queries,)
    scores, level, x : ndarray of shape (n_rows,)
        Rows of a query ascend by score; its levels are 0 to n_levels - 1.

    Returns
    -------
    ndarray of shape (2, 2, n_rows)
        Of the rows of larger and of smaller levels: their number, and the sum of their x.
    """
    found = np.zeros((2, 2, len(scores)))
    most = n_levels.max()
    size = 1
    while size < most:
        size *= 2
    leaves = np.zeros((2 * size, 2))
    nodes = np.zeros((most + 1, 4), dtype=np.int64)
    sums = np.zeros((most + 1, 4))
    path = np.zeros(DEEPEST, dtype=np.int64)
    for query in range(len(starts) - 1):
        low, high = starts[query], starts[query + 1]
        leaf = 1
        while leaf < n_levels[query]:
            leaf *= 2
        for side in range(2):
            larger = side == 0
            leaves[: 2 * leaf] = 0.0
            root = n_nodes = 0
            step = 1 if larger else -1
            row = entering = low if larger else high - 1
            for _ in range(high - low):
                while low <= entering < high:
                    if not 1.0 - step * (scores[entering] - scores[row]) > 0.0:
                        break
                    if by_aa:
                        root, n_nodes = insert(
                            nodes, sums, path, root, n_nodes, level[entering], x[entering]
                        )
                    else:
                        add_to_leaf(leaves, leaf + level[entering], x[entering])
                    entering += step
                if by_aa:
                    n, total = beyond(nodes, sums, root, level[row], larger)
                else:
                    n, total = beyond_leaf(leaves, leaf + level[row], larger)
                found[side, 0, row], found[side, 1, row] = n, total
                row += step
    return found


class SquaredHinge:
    """f(w) = |w|^2 / 2 + C sum over preferred pairs of max(0, 1 - w'(x_i - x_j))^2.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    y, qid : ndarray of shape (n_rows,)
    C : float
    tree : "aa" or "selection"
    """

    def __init__(self, X: Any, y: Any, qid: Any, C: float, tree: str) -> None:
        self.X, self.C, self.by_aa = X, C, tree == AA
        self.query = np.unique(qid, return_inverse=True)[1]
        self.starts = np.concatenate(([0], np.cumsum(np.bincount(self.query))))
        labels = np.unique(y, return_inverse=True)[1]
        n_labels = labels.max() + 1
        there, level = np.unique(self.query * n_labels + labels, return_inverse=True)
        first = np.searchsorted(there, n_labels * np.arange(self.starts.size))
        self.level, self.n_levels = level - first[self.query], np.diff(first)
        self.w: Any = None

    def value_and_gradient(self, w: Any) -> tuple[float, Any]:
        """Return f and its gradient: the sums at X w, of X w itself (Section 2.3)."""
        self._sort(w)
        (n_larger, larger), (n_smaller, smaller) = self._sums(self.scores)
        self.n = n_larger + n_smaller
        pull = self.n * self.scores - larger - smaller
        offset = n_larger - n_smaller
        loss = self.scores @ pull + 2.0 * (self.scores @ offset) + n_larger.sum()
        gradient = w + 2.0 * self.C * (self.X.T @ (pull + offset))
        return float(0.5 * w @ w + self.C * loss), gradient

    def product(self, w: Any, v: Any) -> Any:
        """Return the generalised Hessian at w times v."""
        if self.w is None or not np.array_equal(w, self.w):
            self.value_and_gradient(w)
        u = self.X @ v
        (_, larger), (_, smaller) = self._sums(u)
        return v + 2.0 * self.C * (self.X.T @ (self.n * u - larger - smaller))

    def _sort(self, w: Any) -> None:
        self.w, self.scores = w.copy(), self.X @ w
        self.order = np.lexsort((self.scores, self.query))

    def _sums(self, x: Any) -> Any:
        """Return the sums of x over violating rows, in the order of the rows."""
        order = self.order
        found = sweep(
            self.by_aa, self.starts, self.n_levels, self.scores[order], self.level[order], x[order]
        )
        back = np.empty_like(found)
        back[:, :, order] = found
        return back


def minimise(rows: Any, C: float, tree: str, tol: float, longest: float) -> list[Step]:
    """Return the steps of a descent from 0, until the gradient is `tol` of its first norm.

    It is SciPy's trust region Newton method without a preconditioner, the same for both trees.
    """
    start = time.perf_counter()
    objective = SquaredHinge(rows.X, rows.y, rows.qid, C, tree)
    w = np.zeros(rows.X.shape[1])
    norm = float(np.linalg.norm(objective.value_and_gradient(w)[1]))
    passed: list[tuple[float, Any]] = [(time.perf_counter() - start, w)]

    def keep(w: Any) -> None:
        passed.append((time.perf_counter() - start, w.copy()))
        if passed[-1][0] > longest:
            raise StopIteration

    with suppress(StopIteration):
        minimize(
            objective.value_and_gradient,
            w,
            jac=True,
            hessp=objective.product,
            method="trust-ncg",
            callback=keep,
            options={
                "gtol": tol * norm,
                "initial_trust_radius": norm,
                "max_trust_radius": 1e10 * norm,
            },
        )
    steps = []
    for seconds, w in passed:
        value, gradient = objective.value_and_gradient(w)
        steps.append(Step(seconds, value, float(np.linalg.norm(gradient)), w))
    return steps
