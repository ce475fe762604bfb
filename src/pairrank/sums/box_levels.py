"""Box sums between the levels of one query: moments of every level, what they make of each other.

A code is a part of a query: the rows of one level, or a segment, a run of neighbouring levels that
are each too small for boxes. The arrays are flat, code, then box, then moment.
"""

from __future__ import annotations

import numpy as np

from pairrank.sums._jit import compiled
from pairrank.sums.box_products import _dot, moments_up, product, series_down
from pairrank.sums.boxes import add_coarse, add_fine, coarse_moments, fine_moments, occupied_boxes

_FEW = 1024
"""Up to so many boxes are never too many."""


@compiled
def summarise_levels(scores, code, weight, n_codes, extremes, widths, up):
    """Return keys of coarse boxes, each row's place among them, and their moments by code.

    Parameters
    ----------
    scores, code, weight : ndarray
        As for `pairrank.sums.boxes.fine_moments`; code int32.
    n_codes : int
    extremes : ndarray of shape (2,)
        The least and the greatest score.
    widths : ndarray of shape (2,)
        h and H.
    up : ndarray of shape (P, children * 4)

    Returns
    -------
    keys : ndarray of shape (n_boxes,)
        Empty where there are too many boxes for memory of the order of the rows.
    slot : ndarray of int32, shape (m,) or (0,)
        Empty where the rows went through fine boxes.
    moments : ndarray of shape (n_codes * n_boxes * P,)
    """
    degree, children = len(up), up.shape[1] // 4
    first = np.floor(extremes[0] / widths[1])
    count = np.floor(extremes[1] / widths[1]) - first + 1.0
    slot = np.empty(0, np.int32)
    if count * n_codes * children <= max(_FEW, len(scores) // 4):
        n_boxes = np.int64(count)
        fine = fine_moments(
            scores, code, weight, n_codes, 1.0 / widths[0], first * children, n_boxes * children
        )
        return first + np.arange(n_boxes), slot, moments_up(fine, up)
    most = max(4 * _FEW, len(scores)) // n_codes
    slot = np.empty(len(scores), np.int32)
    keys = occupied_boxes(scores, 1.0 / widths[1], most, slot)
    if n_codes > 1 and len(keys) > 2 * most:
        return np.empty(0), slot, np.empty(0)
    moments = coarse_moments(
        scores, code, weight, slot, n_codes, 1.0 / widths[1], len(keys), degree
    )
    return keys, slot, moments


@compiled
def _add(x, result):
    for k in range(len(result)):
        result[k] += x[k]


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
def series_of_levels(
    keys, moments, segment, below, below_start, above, above_start, blocks, limits, width, pulls
):
    """Return the series of every code, from the moments of all that it is compared with.

    Parameters
    ----------
    keys, moments : ndarray
        From `summarise_levels`.
    segment : ndarray of bool, shape (n_codes,)
        Whether a code is a segment: then its own moments count too.
    below, below_start, above, above_start : ndarray of int64
        The codes below each code in the graph and those above: below[below_start[c] :
        below_start[c + 1]]. Of length 0 where the graph is full: all before it and after it.
    blocks, limits, width
        As for `pairrank.sums.box_products.product`.
    pulls : bool
        Subtract the weight of the codes below: from S to phi' + S.

    Notes
    -----
    Codes are added, never taken away from a total, so that a heavy one costs others no digits.
    """
    n_codes, degree = len(segment), len(blocks)
    size = len(keys) * degree
    series = np.empty(n_codes * size)
    others = np.zeros(n_codes * size)
    full = len(below_start) == 0
    running = np.zeros(size)
    if full:
        for code in range(n_codes - 1, -1, -1):
            own = moments[code * size : code * size + size]
            here = others[code * size : code * size + size]
            _add(running, here)
            if segment[code]:
                _add(own, here)
            _add(own, running)
        running[:] = 0.0
    for code in range(n_codes):
        here = others[code * size : code * size + size]
        if not full:
            running[:] = 0.0
            _add_codes(below[below_start[code] : below_start[code + 1]], moments, size, running)
            _add_codes(above[above_start[code] : above_start[code + 1]], moments, size, here)
        _add(running, here)
        found = series[code * size : code * size + size]
        product(keys, keys, here, blocks, limits, width, found)
        if pulls:
            found[::degree] -= _count(running, degree)
        if full:
            _add(moments[code * size : code * size + size], running)
    return series


@compiled
def value_of_levels(
    keys, moments, segment, below, below_start, blocks, limits, even_blocks, even_limits, width
):
    """Return the sum of phi over all pairs of codes, and of half of e over all of a segment's.

    `blocks` and `limits` are those of phi, `even_blocks` and `even_limits` those of e, its even
    part; the rest as for `series_of_levels`.
    """
    n_codes, degree = len(segment), len(blocks)
    size = len(keys) * degree
    full = len(below_start) == 0
    running, found = np.zeros(size), np.empty(size)
    value = 0.0
    for code in range(n_codes):
        own = moments[code * size : code * size + size]
        if not full:
            running[:] = 0.0
            _add_codes(below[below_start[code] : below_start[code + 1]], moments, size, running)
        if code if full else below_start[code + 1] > below_start[code]:
            product(keys, keys, running, blocks, limits, width, found)
            value += _dot(found, own)
        if segment[code]:
            product(keys, keys, own, even_blocks, even_limits, width, found)
            value += 0.5 * _dot(found, own)
        if full:
            _add(own, running)
    return value


@compiled
def add_levels(
    scores, code, weight, v, slot, n_boxes, extremes, widths, up, factor, one, other, result
):
    """Add the series of each row's code and box to `result` (m,), as `boxes.add_fine` says.

    `one` and `other` are from `series_of_levels`, `other` of length 0 where `v` is.
    """
    degree, children = len(up), up.shape[1] // 4
    if len(slot) == 0:
        add_fine(
            scores,
            code,
            weight,
            v,
            n_boxes * children,
            1.0 / widths[0],
            np.floor(extremes[0] / widths[1]) * children,
            factor,
            series_down(one, up),
            series_down(other, up),
            result,
        )
    else:
        add_coarse(
            scores,
            code,
            weight,
            v,
            slot,
            1.0 / widths[1],
            n_boxes,
            degree,
            factor,
            one,
            other,
            result,
        )
