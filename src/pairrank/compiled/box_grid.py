"""Box sums, their work by box: moments up, products between coarse boxes, series down.

The arrays are flat, as in `pairrank.compiled.boxes`; a list of boxes is sorted by key.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating


@compiled_reassociating
def _dot(x, y):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@compiled
def _add_multiple(factor, x, result):
    for k in range(len(result)):
        result[k] += factor * x[k]


@compiled
def moments_up(fine, up):
    """Return the moments of coarse boxes from those of their fine ones, O(fine boxes * 4 P).

    `up` (P, children * 4) is `pairrank.pair_sums.box_sum.children_map`.
    """
    degree, width = up.shape
    result = np.empty(len(fine) // width * degree)
    for box in range(len(fine) // width):
        moments = fine[box * width : box * width + width]
        for k in range(degree):
            result[box * degree + k] = _dot(up[k], moments)
    return result


@compiled
def series_down(coarse, up):
    """Return the polynomials of fine boxes from the series of the coarse ones."""
    degree, width = up.shape
    result = np.zeros(len(coarse) // degree * width)
    for box in range(len(coarse) // degree):
        polynomials = result[box * width : box * width + width]
        for k in range(degree):
            _add_multiple(coarse[box * degree + k], up[k], polynomials)
    return result


@compiled
def product(targets, sources, moments, blocks, limits, width, result):
    """Write the series of target boxes from the moments of source boxes.

    Parameters
    ----------
    targets, sources : ndarray of shape (n_targets,) and (n_sources,)
        Keys of the boxes, ascending.
    moments : ndarray of shape (n_sources * P,)
    blocks : ndarray of shape (P, (2W + 1) P)
        Between boxes up to W apart; see `pairrank.pair_sums.box_sum.coarse_blocks`.
    limits : ndarray of shape (4,)
        k(d) beyond: c + b d, on the left (d to minus infinity) and on the right.
    width : float
        H.
    result : ndarray of shape (n_targets * P,)

    Notes
    -----
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
        high = max(high, low)
        while high < len(sources) and sources[high] <= key + near:
            high += 1
        series = result[at * degree : at * degree + degree]
        if high == low:
            for k in range(degree):
                series[k] = 0.0
            continue
        first = np.int64(sources[low] - key) + near
        if sources[high - 1] - sources[low] == high - 1 - low:
            here = moments[low * degree : high * degree]
            begin = first * degree
            for k in range(degree):
                series[k] = _dot(blocks[k, begin : begin + len(here)], here)
        else:
            for k in range(degree):
                series[k] = 0.0
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
def _add(x, result):
    for k in range(len(result)):
        result[k] += x[k]


@compiled
def _clear(x):
    for k in range(len(x)):
        x[k] = 0.0


@compiled
def _add_codes(codes, moments, size, result):
    for at in range(len(codes)):
        _add(moments[codes[at] * size : codes[at] * size + size], result)


@compiled
def _count(moments, degree):
    total = 0.0
    for box in range(0, len(moments), degree):
        total += moments[box]
    return total


@compiled
def meet_levels(
    keys,
    moments,
    segment,
    below,
    below_start,
    above,
    above_start,
    width,
    blocks,
    limits,
    subtract_lower,
    cost_blocks,
    cost_limits,
    even_blocks,
    even_limits,
):
    """Return the series of every code over the codes that it is compared with, and the value.

    Parameters
    ----------
    keys : ndarray of shape (n_boxes,)
        Of the coarse boxes, ascending.
    moments : ndarray of shape (n_codes * n_boxes * P,)
    segment : ndarray of bool, shape (n_codes,)
        Whether a code is a segment, which is also compared with itself.
    below, below_start, above, above_start : ndarray of int64
        The codes below each code in the graph and those above: below[below_start[c] :
        below_start[c + 1]]. Of length 0 where the graph is full: all before it and after it.
    width : float
        H.
    blocks, limits : ndarray
        Of S or of phi'', as for `pairrank.compiled.box_grid.product`.
    subtract_lower : bool
        Subtract the weight of the codes below, which turns sums of S into gradients.
    cost_blocks, cost_limits, even_blocks, even_limits : ndarray
        Of phi and of its even part e. Empty blocks: the value is not computed.

    Returns
    -------
    series : ndarray of shape (n_codes * n_boxes * P,)
    value : float
        The sum of phi over all pairs of codes, and of half of e over all of each segment.

    Notes
    -----
    Codes are added, never subtracted from a total, so a heavy code costs the others no digits.
    """
    n_codes, degree = len(segment), len(blocks)
    size = len(keys) * degree
    series = np.zeros(n_codes * size)
    full = len(below_start) == 0
    running, others = np.zeros(size), np.empty(size)
    if full:
        for code in range(n_codes - 1, -1, -1):
            here = series[code * size : code * size + size]
            own = moments[code * size : code * size + size]
            _add(running, here)
            if segment[code]:
                _add(own, here)
            _add(own, running)
        _clear(running)
    value = 0.0
    for code in range(n_codes):
        here = series[code * size : code * size + size]
        own = moments[code * size : code * size + size]
        if not full:
            _clear(running)
            _add_codes(below[below_start[code] : below_start[code + 1]], moments, size, running)
            _add_codes(above[above_start[code] : above_start[code + 1]], moments, size, here)
        _add(running, here)
        _clear(others)
        if len(cost_blocks):
            if segment[code]:
                product(keys, keys, own, even_blocks, even_limits, width, others)
                value += 0.5 * _dot(others, own)
            product(keys, keys, running, cost_blocks, cost_limits, width, others)
            value += _dot(others, own)
            _clear(others)
        _add(here, others)
        product(keys, keys, others, blocks, limits, width, here)
        if subtract_lower:
            count = _count(running, degree)
            for box in range(0, size, degree):
                here[box] -= count
        if full:
            _add(own, running)
    return series, value
