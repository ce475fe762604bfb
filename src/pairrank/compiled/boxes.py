"""Box sums: moments of points in boxes, products between boxes, and series at points.

A box has width H and P moments, the Chebyshev polynomials of v in [-1, 1); box 0 begins at 0, so
that moments of parts of the points add. An entry is a box of the points of one code; entries are
sorted by code, then by key, and lists of boxes by key. Arrays of moments are flat.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating

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
def add_moments(points, entry, keys, weight, shift, per_width, degree, part, total):
    """Add the moments of points to those of their entries, O(points * P).

    entry (n,) int32: the entry of each point. keys (n_entries,): of the entries' boxes. The weights
    are weight - shift, or 1 - shift if `weight` is empty. part, total (n_entries * P,): `part` is
    scratch memory, zeros.
    """
    stretch = max(8 * len(total), _STRETCH)
    for start in range(0, len(points), stretch):
        for i in range(start, min(start + stretch, len(points))):
            at = np.int64(entry[i])
            twice = 4.0 * (points[i] * per_width - keys[at]) - 2.0
            q = (weight[i] if len(weight) else 1.0) - shift
            moments = part[at * degree : at * degree + degree]
            before, here = q * 0.5 * twice, q
            for k in range(degree):
                moments[k] += here
                before, here = here, twice * here - before
        for k in range(len(total)):
            total[k] += part[k]
            part[k] = 0.0


@compiled
def _series(coefficients, twice):
    """Return a Chebyshev series at v = twice/2, by Clenshaw's recurrence."""
    later, here = 0.0, 0.0
    for k in range(len(coefficients) - 1, 0, -1):
        later, here = here, coefficients[k] + twice * here - later
    return coefficients[0] + 0.5 * twice * here - later


@compiled
def add_series(points, entry, keys, weight, v, shift, factor, per_width, degree, one, less, result):
    """Add series of the entries, at the points, to `result` (n,), O(points * P).

    A point gets factor * weight * one; with `v` (n,) not empty, factor * weight *
    ((v - shift) * one - less). one, less (n_entries * P,); the rest is as for `add_moments`.
    """
    for i in range(len(points)):
        at = np.int64(entry[i])
        twice = 4.0 * (points[i] * per_width - keys[at]) - 2.0
        found = _series(one[at * degree : at * degree + degree], twice)
        if len(v):
            found = (v[i] - shift) * found
            found -= _series(less[at * degree : at * degree + degree], twice)
        result[i] += factor * (weight[i] * found if len(weight) else found)


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
        if high == low:
            continue
        first = np.int64(sources[low] - key) + near
        if sources[high - 1] - sources[low] == high - 1 - low:
            here = moments[low * degree : high * degree]
            begin = first * degree
            for k in range(degree):
                series[k] = _dot(blocks[k, begin : begin + len(here)], here)
        else:
            for other in range(low, high):
                here = moments[other * degree : other * degree + degree]
                begin = (np.int64(sources[other] - key) + near) * degree
                for k in range(degree):
                    series[k] += _dot(blocks[k, begin : begin + degree], here)
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
def _add_codes(codes, start, box, moments, degree, result):
    """Add the moments of some codes to those of all boxes."""
    for code in codes:
        _add_code(code, start, box, moments, degree, result)


@compiled
def _add_code(code, start, box, moments, degree, result):
    for entry in range(start[code], start[code + 1]):
        at = box[entry] * degree
        _add(moments[entry * degree : entry * degree + degree], result[at : at + degree])


@compiled
def meet(
    keys, start, box, moments, above, codes, code_start, blocks, limits, width, lowered,
    result,
):  # fmt: skip
    """Write the series of each code's entries over the entries of the codes that it meets.

    keys (n_boxes,): of all boxes. start (n_codes + 1,), box (n_entries,): where the entries of each
    code begin, and their boxes. moments (n_entries * P,): of the sources. Code c meets the codes
    codes[code_start[c] : code_start[c + 1]]; if `code_start` is empty, all codes before it, or
    after it if `above`. blocks, limits, width: as for `product`. With `lowered`, the weight of the
    sources is subtracted, which turns sums of S into gradients. Costs O(entries * P^2) times the
    boxes within reach, and O(codes * boxes).

    Codes are added, never subtracted from a total, so a heavy code costs the others no digits.
    """
    n_codes, degree = len(start) - 1, len(blocks)
    running = np.zeros(len(keys) * degree)
    targets = np.empty(len(keys))
    for turn in range(n_codes):
        code = n_codes - 1 - turn if above else turn
        first, stop = start[code], start[code + 1]
        if len(code_start):
            for k in range(len(running)):
                running[k] = 0.0
            _add_codes(
                codes[code_start[code] : code_start[code + 1]], start, box, moments, degree, running
            )
        own = targets[: stop - first]
        for k in range(len(own)):
            own[k] = keys[box[first + k]]
        here = result[first * degree : stop * degree]
        product(own, keys, running, blocks, limits, width, here)
        if lowered:
            weight = 0.0
            for k in range(0, len(running), degree):
                weight += running[k]
            for k in range(0, len(here), degree):
                here[k] -= weight
        if not len(code_start):
            _add_code(code, start, box, moments, degree, running)
