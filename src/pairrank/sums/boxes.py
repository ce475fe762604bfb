"""Box sums, their work by row: rows to boxes, moments of boxes, polynomials at rows.

A fine box has width h and four moments, the powers of u in [-1/2, 1/2); a coarse box has width H
and P moments, the Chebyshev polynomials of v in [-1, 1). All boxes are anchored at 0, so that
moments of parts of the rows add. Rows may carry a code: each code has boxes of its own. Boxes lie
flat in memory: code, then box, then moment.
"""

from __future__ import annotations

import numpy as np

from pairrank.sums._jit import compiled

_FIRST_TABLE = 1024
_STRETCH = 1 << 15
"""So many rows are summed up before they are added to the total: fewer roundings in a row."""


@compiled
def least_and_greatest(values):
    """Return the extremes, O(m)."""
    low, high = np.inf, -np.inf
    for i in range(len(values)):
        low = min(low, values[i])
        high = max(high, values[i])
    return low, high


@compiled
def occupied_boxes(scores, per_width, most, slot):
    """Write each row's place in a sorted list of boxes to `slot` (m,) int32; return their keys.

    A key is floor(score / width), as float64. Up to `most` boxes between the extremes, the list is
    all of them; above, only those that hold rows, found by a hash table: O(m + boxes log boxes).
    """
    low, high = least_and_greatest(scores)
    low, high = np.floor(low * per_width), np.floor(high * per_width)
    if high - low < most:
        for i in range(len(scores)):
            slot[i] = np.int32(np.floor(scores[i] * per_width) - low)
        return low + np.arange(np.int64(high - low) + 1)
    size = _FIRST_TABLE
    table = np.full(size, -1, np.int32)
    keys = np.empty(size, np.float64)
    found = 0
    for i in range(len(scores)):
        key = np.floor(scores[i] * per_width)
        at = _first_place(key, size)
        while table[at] >= 0 and keys[table[at]] != key:
            at = (at + 1) & (size - 1)
        if table[at] < 0:
            table[at] = found
            keys[found] = key
            found += 1
        slot[i] = table[at]
        if 2 * found > size:
            size *= 4
            wider = np.empty(size, np.float64)
            wider[:found] = keys[:found]
            keys = wider
            table = np.full(size, -1, np.int32)
            for known in range(found):
                at = _first_place(keys[known], size)
                while table[at] >= 0:
                    at = (at + 1) & (size - 1)
                table[at] = known
    ordered = keys[:found].copy()
    _heap_sort(ordered)
    rank = np.empty(found, np.int32)
    for known in range(found):
        rank[known] = np.searchsorted(ordered, keys[known])
    for i in range(len(scores)):
        slot[i] = rank[slot[i]]
    return ordered


@compiled
def _heap_sort(values):
    """Sort in place; short, so that it compiles fast."""
    n = len(values)
    for step in range(n // 2 + n):
        if step < n // 2:
            root, end = n // 2 - 1 - step, n
        else:
            root, end = 0, n - 1 - (step - n // 2)
            values[0], values[end] = values[end], values[0]
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and values[child + 1] > values[child]:
                child += 1
            if values[root] >= values[child]:
                break
            values[root], values[child] = values[child], values[root]
            root = child


@compiled
def _first_place(key, size):
    """Return where in a table of a power of two to look first."""
    bits = np.float64(key + 0.0).view(np.uint64)
    mixed = bits * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    return np.int64((mixed >> np.uint64(32)) & np.uint64(size - 1))


@compiled
def fine_moments(scores, code, weight, n_codes, per_width, first, n_boxes):
    """Return the moments of fine boxes, (n_codes * n_boxes * 4,), O(m + boxes).

    Parameters
    ----------
    scores : ndarray of shape (m,)
    code : ndarray of int32, shape (m,) or (0,)
        Empty: every row has code 0.
    weight : ndarray of shape (m,) or (0,)
        Empty: 1 each.
    n_codes : int
    per_width : float
        1/h.
    first : float
        The key of the first box.
    n_boxes : int
        Of each code.

    Notes
    -----
    Rows go to four tables in turn, so that equal scores need not wait for the sum before theirs.
    """
    size = n_codes * n_boxes * 4
    total = np.zeros(size)
    tables = np.zeros(4 * size)
    stretch = max(_STRETCH, 4 * size)
    for start in range(0, len(scores), stretch):
        stop = min(start + stretch, len(scores))
        _add_powers(
            scores[start:stop],
            code[start:stop],
            weight[start:stop],
            n_boxes,
            per_width,
            first,
            size,
            tables,
        )
        for k in range(size):
            total[k] += (tables[k] + tables[size + k]) + (
                tables[2 * size + k] + tables[3 * size + k]
            )
        tables[:] = 0.0
    return total


@compiled
def _add_powers(scores, code, weight, n_boxes, per_width, first, size, tables):
    for i in range(len(scores)):
        x = scores[i] * per_width
        below = np.floor(x)
        u = x - below - 0.5
        box = np.int64(below - first)
        if len(code):
            box += np.int64(code[i]) * n_boxes
        at = np.uint64((i & 3) * size + 4 * box)
        q = weight[i] if len(weight) else 1.0
        qu = q * u
        quu = qu * u
        tables[at] += q
        tables[at + np.uint64(1)] += qu
        tables[at + np.uint64(2)] += quu
        tables[at + np.uint64(3)] += quu * u


@compiled
def add_fine(scores, code, weight, v, n_boxes, per_width, first, factor, one, other, result):
    """Add polynomials of fine boxes, at the rows, to `result` (m,), O(m).

    A row gets factor * weight * one(u); with `v` (m,) not empty, factor * weight * (v * one(u) -
    other(u)). `one` and `other` are laid out as moments are.
    """
    for i in range(len(scores)):
        x = scores[i] * per_width
        below = np.floor(x)
        u = x - below - 0.5
        box = np.int64(below - first)
        if len(code):
            box += np.int64(code[i]) * n_boxes
        at = np.uint64(4 * box)
        b, c, d = at + np.uint64(1), at + np.uint64(2), at + np.uint64(3)
        found = one[at] + u * (one[b] + u * (one[c] + u * one[d]))
        if len(v):
            found = v[i] * found - (other[at] + u * (other[b] + u * (other[c] + u * other[d])))
        w = factor * weight[i] if len(weight) else factor
        result[i] += w * found


@compiled
def coarse_moments(scores, code, weight, slot, n_codes, per_width, n_boxes, degree):
    """Return the moments of coarse boxes, (n_codes * n_boxes * P,), straight from the rows.

    `slot` is each row's place in the list of boxes, `per_width` 1/H; O(m P + boxes).
    """
    total = np.zeros(n_codes * n_boxes * degree)
    for i in range(len(scores)):
        x = scores[i] * per_width
        twice = 4.0 * (x - np.floor(x)) - 2.0
        box = np.int64(slot[i])
        if len(code):
            box += np.int64(code[i]) * n_boxes
        q = weight[i] if len(weight) else 1.0
        moments = total[box * degree : box * degree + degree]
        before, here = q * 0.5 * twice, q
        for k in range(len(moments)):
            moments[k] += here
            before, here = here, twice * here - before
    return total


@compiled
def add_coarse(
    scores, code, weight, v, slot, per_width, n_boxes, degree, factor, one, other, result
):
    """Add series of coarse boxes, at the rows, to `result` (m,), O(m P); see `add_fine`."""
    for i in range(len(scores)):
        x = scores[i] * per_width
        twice = 4.0 * (x - np.floor(x)) - 2.0
        box = np.int64(slot[i])
        if len(code):
            box += np.int64(code[i]) * n_boxes
        found = _series(one[box * degree : box * degree + degree], twice)
        if len(v):
            found = v[i] * found - _series(other[box * degree : box * degree + degree], twice)
        w = factor * weight[i] if len(weight) else factor
        result[i] += w * found


@compiled
def _series(coefficients, twice):
    """Return a Chebyshev series at v = twice/2, by Clenshaw's recurrence."""
    later, here = 0.0, 0.0
    for k in range(len(coefficients) - 1, 0, -1):
        later, here = here, coefficients[k] + twice * here - later
    return coefficients[0] + 0.5 * twice * here - later
