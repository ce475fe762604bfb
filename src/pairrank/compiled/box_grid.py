"""The part of box sums that works box by box: moments up, products between boxes, series down.

The arrays are flat, as in `pairrank.compiled.boxes`; lists of boxes are sorted by key.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating


@compiled_reassociating
def dot(x, y):
    """Return the inner product of two arrays of one length."""
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@compiled_reassociating
def add_multiple(factor, x, result):
    """Add factor * x to `result`."""
    for k in range(len(result)):
        result[k] += factor * x[k]


def moments_up(fine, up):
    """Return the moments of coarse boxes from those of their fine ones, O(fine boxes * 4 P).

    `up` (P, children * 4) is `pairrank.pair_sums.box_sum.children_map`.
    """
    degree, width = up.shape
    result = np.empty(len(fine) // width * degree)
    _write_moments(fine, up, result)
    return result


@compiled
def _write_moments(fine, up, result):
    degree, width = up.shape
    for box in range(len(fine) // width):
        moments = fine[box * width : box * width + width]
        for k in range(degree):
            result[box * degree + k] = dot(up[k], moments)


def series_down(coarse, up):
    """Return the polynomials of fine boxes from the series of the coarse ones."""
    degree, width = up.shape
    result = np.zeros(len(coarse) // degree * width)
    _add_series(coarse, up, result)
    return result


@compiled
def _add_series(coarse, up, result):
    degree, width = up.shape
    for box in range(len(coarse) // degree):
        polynomials = result[box * width : box * width + width]
        for k in range(degree):
            add_multiple(coarse[box * degree + k], up[k], polynomials)


@compiled
def product(targets, sources, moments, blocks, limits, width, result):
    """Write the series of target boxes from the moments of source boxes.

    targets, sources: keys of boxes, ascending. moments (n_sources * P,), result (n_targets * P,).
    blocks (P, (2W + 1) P): k between boxes up to W apart; see
    `pairrank.pair_sums.box_sum.coarse_blocks`. limits (4,): beyond, k(d) is c + b d, (c, b) on the
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
                series[k] = dot(blocks[k, begin : begin + len(here)], here)
        else:
            for other in range(low, high):
                here = moments[other * degree : other * degree + degree]
                begin = (np.int64(sources[other] - key) + near) * degree
                for k in range(degree):
                    series[k] += dot(blocks[k, begin : begin + degree], here)
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
def _clear(x):
    for k in range(len(x)):
        x[k] = 0.0


@compiled
def _add_codes(codes, moments, size, result):
    for code in codes:
        add_multiple(1.0, moments[code * size : code * size + size], result)


def meet_levels(
    keys, moments, segment, below, below_start, above, above_start, width, blocks, limits, order,
    cost_blocks, cost_limits, even_blocks, even_limits,
):  # fmt: skip
    """Return the series of every code over the codes that it is compared with, and the value.

    keys (n_boxes,): of the coarse boxes, ascending. moments, series (n_codes * n_boxes * P,).
    segment (n_codes,): whether a code is a segment, which is also compared with itself.
    below[below_start[c] : below_start[c + 1]]: the codes below code c in the graph; above
    likewise. All four are empty if the graph is full: then these are all codes before and after c.
    blocks, limits: of S (order 1) or of phi'' (order 2), as for `product`. For order 1 the weight
    of the codes below is subtracted, which turns sums of S into gradients. cost_blocks,
    cost_limits, even_blocks, even_limits: of phi and of its even part e. The value is the sum of
    phi over all pairs of codes, and of half of e over all of each segment; it is 0 if the blocks
    are empty.

    Codes are added, never subtracted from a total, so a heavy code costs the others no digits.
    """
    size = len(keys) * len(blocks)
    series, work = np.zeros(len(segment) * size), np.zeros((2, size))
    value = _meet_levels(
        keys, moments, segment, below, below_start, above, above_start, width, blocks, limits,
        order, cost_blocks, cost_limits, even_blocks, even_limits, work, series,
    )  # fmt: skip
    return series, value


@compiled
def _meet_levels(
    keys, moments, segment, below, below_start, above, above_start, width, blocks, limits, order,
    cost_blocks, cost_limits, even_blocks, even_limits, work, series,
):  # fmt: skip
    n_codes, degree = len(segment), len(blocks)
    size = len(keys) * degree
    full = len(below_start) == 0
    running, others = work[0], work[1]
    if full:
        for code in range(n_codes - 1, -1, -1):
            here = series[code * size : code * size + size]
            own = moments[code * size : code * size + size]
            add_multiple(1.0, running, here)
            if segment[code]:
                add_multiple(1.0, own, here)
            add_multiple(1.0, own, running)
        _clear(running)
    value = 0.0
    for code in range(n_codes):
        here = series[code * size : code * size + size]
        own = moments[code * size : code * size + size]
        if not full:
            _clear(running)
            _add_codes(below[below_start[code] : below_start[code + 1]], moments, size, running)
            _add_codes(above[above_start[code] : above_start[code + 1]], moments, size, here)
        add_multiple(1.0, running, here)
        if len(cost_blocks):
            if segment[code]:
                product(keys, keys, own, even_blocks, even_limits, width, others)
                value += 0.5 * dot(others, own)
            product(keys, keys, running, cost_blocks, cost_limits, width, others)
            value += dot(others, own)
        for k in range(size):
            others[k] = here[k]
        product(keys, keys, others, blocks, limits, width, here)
        if order == 1:
            weight = 0.0
            for k in range(0, size, degree):
                weight += running[k]
            for k in range(0, size, degree):
                here[k] -= weight
        if full:
            add_multiple(1.0, own, running)
    return value
