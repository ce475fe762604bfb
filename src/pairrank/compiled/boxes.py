"""Box sums: moments of points in boxes, products between boxes, and series at points.

A box has width H and P moments, the Chebyshev polynomials of v in [-1, 1); box 0 begins at 0, so
that moments of parts of the points add. An entry is a box of the points of one code; entries are
sorted by code, then by key, and lists of boxes by key. Products take flat arrays of moments.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating

STEP = 4
"""Numbers of moments are multiples of this one. With T the Chebyshev polynomials,
T_(k+4) = 2 T_4 T_k - T_(k-4), so that four are computed at a time."""
_STRETCH = 1024
"""So many points are summed before they are added to the total, to keep rounding small."""


@compiled_reassociating
def _dot(x, y):
    """Return the inner product of two arrays of one length."""
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@compiled_reassociating
def _add(x, result):
    for k in range(len(result)):
        result[k] += x[k]


@compiled
def find_boxes(points, code, per_width, first, n_boxes, place, is_used):
    """Write code * n_boxes + box - first of each point (n,) int32, and mark the places used."""
    for i in range(len(points)):
        box = np.int64(np.floor(points[i] * per_width) - first)
        at = box + np.int64(n_boxes) * np.int64(code[i]) if len(code) else box
        place[i] = at
        if not is_used[at]:  # threads that write to one line of the cache wait for one another
            is_used[at] = True


@compiled
def renumber(number, place):
    """Replace each place (n,) by its number."""
    for i in range(len(place)):
        place[i] = number[place[i]]


@compiled_reassociating
def add_moments(points, entry, keys, weight, per_width, part, total):
    """Add the moments of points to those of their entries, O(points * P).

    entry (n,) int32: the entry of each point. keys (n_entries,): of the entries' boxes. `weight`
    (n,) is empty if all are 1. part, total (n_entries, P): `part` is scratch memory, zeros.
    """
    stretch = max(8 * total.size, _STRETCH)
    for start in range(0, len(points), stretch):
        for i in range(start, min(start + stretch, len(points))):
            at = np.uint32(entry[i])
            q = weight[i] if len(weight) else 1.0
            u = 2.0 * (points[i] * per_width - keys[at]) - 1.0
            u2 = 2.0 * u * u - 1.0
            t0, t1, t2, t3 = q, q * u, q * u2, q * (2.0 * u * u2 - u)
            own = part[at]
            own[0] += t0
            own[1] += t1
            own[2] += t2
            own[3] += t3
            far = 2.0 * (2.0 * u2 * u2 - 1.0)
            b0, b1, b2, b3 = 0.5 * q * far, t3, t2, t1
            for k in range(STEP, len(own), STEP):
                t0, b0 = far * t0 - b0, t0
                t1, b1 = far * t1 - b1, t1
                t2, b2 = far * t2 - b2, t2
                t3, b3 = far * t3 - b3, t3
                own[k] += t0
                own[k + 1] += t1
                own[k + 2] += t2
                own[k + 3] += t3
        for at in range(len(total)):
            for k in range(total.shape[1]):
                total[at, k] += part[at, k]
                part[at, k] = 0.0


@compiled_reassociating
def add_series(points, entry, keys, weight, per_width, series, result):
    """Add weight times series (n_entries, P) of the entries, at the points, to `result` (n,).

    Costs O(points * P); the rest is as for `add_moments`.
    """
    for i in range(len(points)):
        at = np.uint32(entry[i])
        u = 2.0 * (points[i] * per_width - keys[at]) - 1.0
        u2 = 2.0 * u * u - 1.0
        t0, t1, t2, t3 = 1.0, u, u2, 2.0 * u * u2 - u
        own = series[at]
        sum0, sum1, sum2, sum3 = own[0], own[1] * t1, own[2] * t2, own[3] * t3
        far = 2.0 * (2.0 * u2 * u2 - 1.0)
        b0, b1, b2, b3 = 0.5 * far, t3, t2, t1
        for k in range(STEP, len(own), STEP):
            t0, b0 = far * t0 - b0, t0
            t1, b1 = far * t1 - b1, t1
            t2, b2 = far * t2 - b2, t2
            t3, b3 = far * t3 - b3, t3
            sum0 += own[k] * t0
            sum1 += own[k + 1] * t1
            sum2 += own[k + 2] * t2
            sum3 += own[k + 3] * t3
        found = (sum0 + sum1) + (sum2 + sum3)
        result[i] += weight[i] * found if len(weight) else found


@compiled
def product(targets, sources, moments, blocks, limits, width, result):
    """Write the series of target boxes from the moments of source boxes.

    targets, sources: keys of boxes, ascending. moments (n_sources * P,), result (n_targets * P,).
    blocks (P, (2W + 1) P): k between boxes up to W apart; see
    `pairrank.pair_sums.box_sum.blocks_of`. limits (4,): beyond, k(d) is c + b d, (c, b) on the
    left (d to minus infinity) and on the right. width: H.

    Costs O(targets * min(sources, 2W + 1) P^2). Counts and first moments of the boxes beyond are
    carried from box to box, relative to the target's centre. With non-negative weights all terms
    are non-negative, so nothing cancels.
    """
    degree = len(blocks)
    near = (blocks.shape[1] // degree - 1) // 2
    low, high = 0, 0
    for at in range(len(targets)):
        key = targets[at]
        while low < len(sources) and sources[low] < key - near:
            low += 1
        high = high if high > low else low
        while high < len(sources) and sources[high] <= key + near:
            high += 1
        series = result[at * degree : at * degree + degree]
        for k in range(degree):
            series[k] = 0.0
        start = low
        while start < high:
            stop = start + 1
            while stop < high and sources[stop] - sources[start] == stop - start:
                stop += 1
            here = moments[start * degree : stop * degree]
            begin = (np.int64(sources[start] - key) + near) * degree
            for k in range(degree):
                series[k] += _dot(blocks[k, begin : begin + len(here)], here)
            start = stop
    _add_beyond(targets, sources, moments, degree, near, limits[2], limits[3], width, 1.0, result)
    _add_beyond(targets, sources, moments, degree, near, limits[0], limits[1], width, -1.0, result)


@compiled
def _add_beyond(targets, sources, moments, degree, near, constant, slope, width, side, result):
    """Add the sources more than W boxes to one side of each target: side 1 left, -1 right of it."""
    if constant == 0.0 and slope == 0.0:
        return
    step = 1 if side > 0.0 else -1
    source = 0 if side > 0.0 else len(sources) - 1
    count, lost, distance = 0.0, 0.0, 0.0
    last = 0.0
    for turn in range(len(targets)):
        at = turn if side > 0.0 else len(targets) - 1 - turn
        key = targets[at]
        if slope != 0.0 and turn:
            distance += count * (side * (key - last) * width)
        last = key
        while 0 <= source < len(sources) and side * (key - sources[source]) > near:
            n = moments[source * degree]
            if slope != 0.0:
                away = side * (key - sources[source]) * width
                distance += n * away - side * 0.5 * width * moments[source * degree + 1]
            new = count + n
            back = new - count
            lost += (count - (new - back)) + (n - back)
            count = new
            source += step
        total = count + lost
        result[at * degree] += constant * total
        if slope != 0.0:
            result[at * degree] += slope * side * distance
            result[at * degree + 1] += slope * 0.5 * width * total


@compiled
def _distinct(keys, start, first, stop, found, spare):
    """Write the distinct keys of the entries of some codes, ascending; return their number."""
    n = 0
    for code in range(first, stop):
        i, k, size = 0, start[code], 0
        while i < n or k < start[code + 1]:
            if k >= start[code + 1] or (i < n and found[i] <= keys[k]):
                k += k < start[code + 1] and keys[k] == found[i]
                spare[size] = found[i]
                i += 1
            else:
                spare[size] = keys[k]
                k += 1
            size += 1
        n = size
        for at in range(n):
            found[at] = spare[at]
    return n


@compiled
def _add_code(code, keys, start, moments, degree, boxes, result):
    """Add the moments of a code to those of all boxes of its query."""
    at = 0
    for entry in range(start[code], start[code + 1]):
        while boxes[at] < keys[entry]:
            at += 1
        _add(
            moments[entry * degree : entry * degree + degree],
            result[at * degree : at * degree + degree],
        )


@compiled
def meet(
    query_code, keys, start, moments, above, code_start, codes, blocks, limits, width, lowered,
    spare, running, result,
):  # fmt: skip
    """Write the series of each code's entries over the entries of the codes that it meets.

    query_code (n_queries + 1,): where the codes of each query begin. keys (n_entries,), start
    (n_codes + 1,): the boxes of entries, and where those of each code begin. moments
    (n_entries * P,): of the sources. Code c meets the codes
    codes[code_start[c] : code_start[c + 1]]; if `code_start` is empty, all codes of its query
    before it, or after it if `above`. blocks, limits, width: as for `product`. With `lowered`, the
    weight of the sources is subtracted, which turns sums of S into gradients. spare
    (2, n_entries), running (n_entries * P,): scratch memory. Costs O(entries * P^2) times the boxes
    within reach, and O(codes * boxes) of a query.
    """
    degree = len(blocks)
    for query in range(len(query_code) - 1):
        first, stop = query_code[query], query_code[query + 1]
        boxes = spare[0, : _distinct(keys, start, first, stop, spare[0], spare[1])]
        _meet_in_query(
            first, stop, boxes, keys, start, moments, above, code_start, codes, blocks, limits,
            width, lowered, running[: len(boxes) * degree], result,
        )  # fmt: skip


@compiled
def _meet_in_query(
    first_code, last_code, boxes, keys, start, moments, above, code_start, codes, blocks, limits,
    width, lowered, total, result,
):  # fmt: skip
    """Do this for the codes of a query, `boxes` of which have entries.

    Codes are added, never subtracted from a total, so a heavy code costs the others no digits.
    """
    degree = len(blocks)
    for k in range(len(total)):
        total[k] = 0.0
    for turn in range(last_code - first_code):
        code = last_code - 1 - turn if above else first_code + turn
        if len(code_start):
            for k in range(len(total)):
                total[k] = 0.0
            for at in range(code_start[code], code_start[code + 1]):
                _add_code(codes[at], keys, start, moments, degree, boxes, total)
        here = result[start[code] * degree : start[code + 1] * degree]
        own = keys[start[code] : start[code + 1]]
        product(own, boxes, total, blocks, limits, width, here)
        if lowered:
            weight = 0.0
            for k in range(0, len(total), degree):
                weight += total[k]
            for k in range(0, len(here), degree):
                here[k] -= weight
        if not len(code_start):
            _add_code(code, keys, start, moments, degree, boxes, total)
