"""Box sums between the levels of one query: moments of every level, what they make of each other.

A code is a part of a query: the rows of one level, or a segment, a run of neighbouring levels that
are each too small for boxes. The arrays are flat, code, then box, then moment.
"""

from __future__ import annotations

import numpy as np

from pairrank.sums._jit import compiled
from pairrank.sums.box_products import _dot, moments_up, product, series_down
from pairrank.sums.boxes import (
    add_coarse,
    add_fine,
    coarse_moments,
    fine_moments,
    fine_places,
    occupied_boxes,
)

_FEW = 1024
"""Up to so many boxes are never too many."""


@compiled
def boxes_of_levels(scores, code, n_codes, extremes, widths, up, keep):
    """Return keys of coarse boxes, and each row's place among them or in the fine ones.

    Parameters
    ----------
    scores, code : ndarray
        As for `pairrank.sums.boxes.fine_moments`.
    n_codes : int
    extremes : ndarray of shape (2,)
        The least and the greatest score.
    widths : ndarray of shape (2,)
        h and H.
    up : ndarray of shape (P, children * 4)
    keep : bool
        Whether places in fine boxes are written down, for many sums at the same scores.

    Returns
    -------
    keys : ndarray of shape (n_boxes,)
        Empty where there are too many boxes for memory of the order of the rows.
    slot : ndarray of int32, shape (m,) or (0,)
        Places among coarse boxes; empty where the rows go through fine ones.
    at, u : ndarray of int32 and float64, shape (m,) or (0,)
        From `pairrank.sums.boxes.fine_places`, if they are kept.
    """
    children = up.shape[1] // 4
    first = np.floor(extremes[0] / widths[1])
    count = np.floor(extremes[1] / widths[1]) - first + 1.0
    fine = count * n_codes * children <= max(_FEW, len(scores) // 4)
    slot = np.empty(0 if fine else len(scores), np.int32)
    kept = len(scores) if fine and keep else 0
    at, u = np.empty(kept, np.int32), np.empty(kept)
    if fine:
        if keep:
            fine_places(
                scores, code, 1.0 / widths[0], first * children, np.int64(count) * children, at, u
            )
        return first + np.arange(np.int64(count)), slot, at, u
    most = max(4 * _FEW, len(scores)) // n_codes
    keys = occupied_boxes(scores, 1.0 / widths[1], most, slot)
    if n_codes > 1 and len(keys) > 2 * most:
        keys = np.empty(0)
    return keys, slot, at, u


@compiled
def moments_of_levels(scores, code, weight, shift, n_codes, keys, slot, at, u, widths, up):
    """Return the moments of coarse boxes by code, (n_codes * n_boxes * P,), of weight - shift.

    `keys`, `slot`, `at` and `u` are from `boxes_of_levels`; O(m).
    """
    children = up.shape[1] // 4
    if len(slot):
        return coarse_moments(
            scores, code, weight, shift, slot, n_codes, 1.0 / widths[1], len(keys), len(up)
        )
    first, n_boxes = keys[0] * children, len(keys) * children
    per_width = 1.0 / widths[0]
    return moments_up(
        fine_moments(scores, code, weight, shift, n_codes, per_width, first, n_boxes, at, u), up
    )


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
        From `boxes_of_levels` and `moments_of_levels`.
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
            count = _count(running, degree)
            for box in range(0, size, degree):
                found[box] -= count
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
    scores, code, weight, v, shift, keys, slot, at, u, widths, up, factor, one, other, result
):
    """Add the series of each row's code and box to `result` (m,), as `boxes.add_fine` says.

    `one` and `other` are from `series_of_levels`, `other` of length 0 where `v` is.
    """
    degree, children = len(up), up.shape[1] // 4
    n_boxes = len(keys)
    if len(slot):
        width = 1.0 / widths[1]
        add_coarse(
            scores, code, weight, v, shift, slot, width, n_boxes, degree, factor, one, other, result
        )
        return
    first, width = keys[0] * children, 1.0 / widths[0]
    one, other, n_boxes = series_down(one, up), series_down(other, up), n_boxes * children
    add_fine(
        scores, code, weight, v, shift, n_boxes, width, first, factor, one, other, result, at, u
    )
