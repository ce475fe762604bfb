"""What Lee & Lin 2014 compare in Sections 2.3 and 3, written anew for numba: AA trees and PRSVM+.

Each takes scores and levels of one query and returns the squared hinge's value and gradient from
counts, sums and sums of squares, as the paper's formulas have them (Eqs. 17 to 19).
"""

from __future__ import annotations

import numba
import numpy as np

compiled = numba.njit(cache=True, error_model="numpy")


@compiled
def double_loop(scores, level):
    """Every pair: O(rows^2)."""
    value = 0.0
    gradient = np.zeros(scores.size)
    for i in range(scores.size):
        for j in range(scores.size):
            if level[i] > level[j]:
                over = 1.0 - (scores[i] - scores[j])
                if over > 0.0:
                    value += over * over
                    gradient[i] -= 2.0 * over
                    gradient[j] += 2.0 * over
    return value, gradient


@compiled
def _renew(node, t, left, right):
    for k in range(3):
        node[t, 3 + k] = node[t, k] + node[left[t], 3 + k] + node[right[t], 3 + k]


@compiled
def _insert(root, key, x, keys, left, right, depth, node, path, size):
    """Insert x under key into an AA tree (Andersson 1993); return the root and the nodes in use."""
    n_path = 0
    t = root
    while t > 0:
        path[n_path] = t
        n_path += 1
        node[t, 3] += 1.0
        node[t, 4] += x
        node[t, 5] += x * x
        if keys[t] == key:
            node[t, 0] += 1.0
            node[t, 1] += x
            node[t, 2] += x * x
            return root, size
        t = left[t] if key < keys[t] else right[t]
    size += 1
    keys[size], left[size], right[size], depth[size] = key, 0, 0, 1
    node[size, 0], node[size, 1], node[size, 2] = 1.0, x, x * x
    node[size, 3], node[size, 4], node[size, 5] = 1.0, x, x * x
    child = size
    for at in range(n_path - 1, -1, -1):
        t = path[at]
        if key < keys[t]:
            left[t] = child
        else:
            right[t] = child
        if depth[left[t]] == depth[t]:
            up = left[t]
            left[t] = right[up]
            right[up] = t
            _renew(node, t, left, right)
            _renew(node, up, left, right)
            t = up
        if depth[right[right[t]]] == depth[t]:
            up = right[t]
            right[t] = left[up]
            left[up] = t
            depth[up] += 1
            _renew(node, t, left, right)
            _renew(node, up, left, right)
            t = up
        child = t
    return child, size


@compiled
def _beyond(root, key, above, keys, left, right, node):
    """Return count, sum and sum of squares of what lies above or below a key."""
    count, linear, square = 0.0, 0.0, 0.0
    t = root
    while t > 0:
        inside = keys[t] > key if above else keys[t] < key
        if inside:
            near = right[t] if above else left[t]
            count += node[t, 0] + node[near, 3]
            linear += node[t, 1] + node[near, 4]
            square += node[t, 2] + node[near, 5]
        t = left[t] if inside == above else right[t]
    return count, linear, square


@compiled
def _empty_tree(size):
    return (
        np.zeros(size + 1),
        np.zeros(size + 1, np.int64),
        np.zeros(size + 1, np.int64),
        np.zeros(size + 1, np.int64),
        np.zeros((size + 1, 6)),
        np.zeros(128, np.int64),
    )


@compiled
def tree_by_levels(scores, level, n_levels):
    """Rows by score, an AA tree of their levels (Section 2.3): O(rows log rows)."""
    order = np.argsort(scores)
    value = 0.0
    gradient = np.zeros(scores.size)
    for upwards in (True, False):
        keys, left, right, depth, node, path = _empty_tree(n_levels)
        root, size, entering = 0, 0, 0
        for at in range(scores.size):
            i = order[at] if upwards else order[scores.size - 1 - at]
            while entering < scores.size:
                j = order[entering] if upwards else order[scores.size - 1 - entering]
                d = scores[j] - scores[i] if upwards else scores[i] - scores[j]
                if not 1.0 - d > 0.0:
                    break
                root, size = _insert(
                    root, float(level[j]), scores[j], keys, left, right, depth, node, path, size
                )
                entering += 1
            n, x, xx = _beyond(root, float(level[i]), upwards, keys, left, right, node)
            if upwards:
                c = 1.0 + scores[i]
                gradient[i] += 2.0 * (n * c - x)
                value += n * c * c - 2.0 * c * x + xx
            else:
                gradient[i] -= 2.0 * (n * (1.0 - scores[i]) + x)
    return value, gradient


@compiled
def tree_by_scores(scores, level, n_levels):
    """Rows by level, an AA tree of their scores (end of Section 2.3): O(rows log rows)."""
    order = np.argsort(level)
    m = scores.size
    value = 0.0
    gradient = np.zeros(m)
    for upwards in (True, False):
        keys, left, right, depth, node, path = _empty_tree(m)
        root, size, start = 0, 0, 0
        while start < m:
            first = order[start] if upwards else order[m - 1 - start]
            end = start
            while end < m:
                i = order[end] if upwards else order[m - 1 - end]
                if level[i] != level[first]:
                    break
                c = 1.0 - scores[i] if upwards else 1.0 + scores[i]
                key = -c if upwards else c
                n, x, xx = _beyond(root, key, upwards, keys, left, right, node)
                if upwards:
                    gradient[i] -= 2.0 * (n * c + x)
                    value += n * c * c + 2.0 * c * x + xx
                else:
                    gradient[i] += 2.0 * (n * c - x)
                end += 1
            for at in range(start, end):
                j = order[at] if upwards else order[m - 1 - at]
                root, size = _insert(
                    root, scores[j], scores[j], keys, left, right, depth, node, path, size
                )
            start = end
    return value, gradient


@compiled
def prsvm_plus(scores, level, n_levels):
    """A sweep over two levels, r and above, for every r (Chapelle & Keerthi): O(rows * levels)."""
    order = np.argsort(scores)
    m = scores.size
    value = 0.0
    gradient = np.zeros(m)
    for r in range(n_levels - 1):
        n, x, xx, entering = 0.0, 0.0, 0.0, 0
        for at in range(m):
            i = order[at]
            if level[i] != r:
                continue
            while entering < m and 1.0 - (scores[order[entering]] - scores[i]) > 0.0:
                j = order[entering]
                if level[j] > r:
                    n += 1.0
                    x += scores[j]
                    xx += scores[j] * scores[j]
                entering += 1
            c = 1.0 + scores[i]
            gradient[i] += 2.0 * (n * c - x)
            value += n * c * c - 2.0 * c * x + xx
        n, x, entering = 0.0, 0.0, m - 1
        for at in range(m - 1, -1, -1):
            i = order[at]
            if level[i] <= r:
                continue
            while entering >= 0 and 1.0 - (scores[i] - scores[order[entering]]) > 0.0:
                j = order[entering]
                if level[j] == r:
                    n += 1.0
                    x += scores[j]
                entering -= 1
            gradient[i] -= 2.0 * (n * (1.0 - scores[i]) + x)
    return value, gradient
