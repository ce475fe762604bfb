"""Box sums between the levels of one query: what they make of each other, box by box.

A code is a part of a query: the rows of one level, or a segment, a run of neighbouring levels that
are each too small for boxes. The arrays are flat, code, then box, then moment.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.box_products import _dot, product


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
    pulls,
    cost_blocks,
    cost_limits,
    even_blocks,
    even_limits,
):
    """Return the series of every code, from the moments of all it is compared with, and the value.

    Parameters
    ----------
    keys : ndarray of shape (n_boxes,)
        Of the coarse boxes, ascending.
    moments : ndarray of shape (n_codes * n_boxes * P,)
    segment : ndarray of bool, shape (n_codes,)
        Whether a code is a segment: then its own moments count too.
    below, below_start, above, above_start : ndarray of int64
        The codes below each code in the graph and those above: below[below_start[c] :
        below_start[c + 1]]. Of length 0 where the graph is full: all before it and after it.
    width : float
        H.
    blocks, limits : ndarray
        Of S or of phi'', as for `pairrank.compiled.box_products.product`.
    pulls : bool
        Subtract the weight of the codes below: from S to phi' of either side.
    cost_blocks, cost_limits, even_blocks, even_limits : ndarray
        Of phi and of its even part e. Blocks of length 0: no value is wanted.

    Returns
    -------
    series : ndarray of shape (n_codes * n_boxes * P,)
    value : float
        The sum of phi over all pairs of codes, and of half of e over all of each segment.

    Notes
    -----
    Codes are added, never taken away from a total, so that a heavy one costs others no digits.
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
        if pulls:
            count = _count(running, degree)
            for box in range(0, size, degree):
                here[box] -= count
        if full:
            _add(own, running)
    return series, value
