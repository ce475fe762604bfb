"""Exact sums over the pairs within parts: short runs of rows in the order of their labels.

`parts` (n, 2) holds the first and last + 1 group of each part, `group_start` the first row of each
group; a higher group is preferred to a lower one. Eight short parts are summed at a time, one in
each lane: place r of lane k is entry 8 r + k, and all pairs of places so far apart are one loop.
Weights and values are (S, n_rows), one side or two: see `compiled.cells`. Scores count from the
part's first, so that an offset of all costs no digits, in whatever order the terms are added.
"""

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating

_LANES = 8
"""The numbers in a vector; loops over the rows of a long part run over whole vectors too."""
_MOST_ROWS = 192
"""Longer parts, which have large groups, are summed by themselves, without pairs within groups."""
_BEYOND = 1e300
"""The score of a place after the last row: it wins every pair by far."""


def _scratch(parts, group_start):
    """Return scratch for scores, two weights, places within groups, and two sums.

    Its lines begin where a vector does: reading across two lines of the cache costs a quarter.
    """
    longest = int(np.diff(group_start[parts]).max(initial=0))
    width = max(-(-longest // _LANES) * _LANES, _LANES * _MOST_ROWS)
    whole = np.ones(6 * width + _LANES)
    first = -(whole.ctypes.data // whole.itemsize) % _LANES
    return whole[first : first + 6 * width].reshape(6, width)


@compiled
def _load_one(scores, weight, groups, group_start, work):
    near, wins, loses, of_wins, of_losses = work[0], work[1], work[2], work[4], work[5]
    start, stop = group_start[groups[0]], group_start[groups[1]]
    for i in range(stop - start):
        near[i] = scores[start + i] - scores[start]
        of_wins[i] = of_losses[i] = 0.0
        if weight.shape[1]:
            wins[i], loses[i] = weight[0, start + i], weight[-1, start + i]


@compiled
def _load(scores, weight, parts, scale, group_start, first, work):
    """Load short parts of one scale, from `first` on, into lanes, and set their sums to 0.

    Returns how many parts, their places, and whether they have neither weights nor tied rows. If
    the first part is long, it is the only one, in lane 0 of 1, and 0 parts are returned.
    """
    near, wins, loses, within = work[0], work[1], work[2], work[3]
    of_wins, of_losses = work[4], work[5]
    n_parts = n_places = 0
    is_plain = not weight.shape[1]
    while n_parts < _LANES and first + n_parts < len(parts):
        low, high = parts[first + n_parts]
        n = group_start[high] - group_start[low]
        if n > _MOST_ROWS or scale[first + n_parts] != scale[first]:
            break
        n_places = max(n_places, n)
        is_plain &= n == high - low
        n_parts += 1
    if not n_parts:
        _load_one(scores, weight, parts[first], group_start, work)
    for lane in range(_LANES if n_parts else 0):
        start = stop = 0
        if lane < n_parts:
            low, high = parts[first + lane]
            start, stop = group_start[low], group_start[high]
            for group in range(low if not is_plain else high, high):
                for i in range(group_start[group], group_start[group + 1]):
                    within[_LANES * (i - start) + lane] = i - group_start[group]
        for i in range(start, stop):
            near[_LANES * (i - start) + lane] = scores[i] - scores[start]
        for i in range(start, stop if weight.shape[1] else start):
            wins[_LANES * (i - start) + lane] = weight[0, i]
            loses[_LANES * (i - start) + lane] = weight[-1, i]
        for r in range(stop - start, n_places):
            near[_LANES * r + lane] = _BEYOND * (1.0 + r)
            within[_LANES * r + lane] = 0.0
    for k in range(_LANES * n_places):
        of_wins[k] = of_losses[k] = 0.0
    return n_parts, n_places, is_plain


@compiled_reassociating
def _meet(work, n_places, is_plain, margin, is_linear, c):
    """Add c times the slopes of all pairs in lanes to their rows' sums; return c times the cost.

    A winner's sum is weighted by its losers' weights, and a loser's by its winners'. The cost of a
    pair is its excess times its slope, or half of that: one form for both losses, which compiles in
    half the time of two.
    """
    value = 0.0
    flat, steep, share = (c, 0.0, 1.0) if is_linear else (0.0, 2.0 * c, 0.5)
    for apart in range(1, n_places):
        shift, stop = _LANES * apart, _LANES * n_places
        low, high = work[0, : stop - shift], work[0, shift:stop]
        of_losses, of_wins = work[5, : stop - shift], work[4, shift:stop]
        if is_plain:
            for k in range(len(low)):
                excess = low[k] - high[k] + margin
                excess = excess if excess > 0.0 else 0.0
                slope = flat + steep * excess if excess > 0.0 else 0.0
                of_wins[k] += slope
                of_losses[k] += slope
                value += slope * excess
        else:
            wins, loses, within = work[1, shift:stop], work[2, : stop - shift], work[3, shift:stop]
            for k in range(len(low)):
                excess = low[k] - high[k] + margin
                excess = excess if (excess > 0.0) & (within[k] < apart) else 0.0
                slope = flat + steep * excess if excess > 0.0 else 0.0
                lost = loses[k] * slope
                of_wins[k] += lost
                of_losses[k] += wins[k] * slope
                value += lost * (wins[k] * excess)
    return share * value


@compiled_reassociating
def _meet_one(work, groups, group_start, margin, is_linear, c):
    """Do the same for one part of any length."""
    near, wins, loses, of_wins, of_losses = work[0], work[1], work[2], work[4], work[5]
    first, last = groups
    start = group_start[first]
    value = 0.0
    flat, steep, share = (1.0, 0.0, 1.0) if is_linear else (0.0, 2.0, 0.5)
    for group in range(first + 1, last):
        below = group_start[group] - start
        for i in range(below, group_start[group + 1] - start):
            least = near[i] - margin
            w = c * wins[i]
            total = cost = 0.0
            for j in range((below + _LANES - 1) // _LANES * _LANES):
                excess = near[j] - least
                excess = excess if (excess > 0.0) & (j < below) else 0.0
                slope = flat + steep * excess if excess > 0.0 else 0.0
                lost = loses[j] * slope
                total += lost
                cost += lost * excess
                of_losses[j] += w * slope
            of_wins[i] += c * total
            value += w * share * cost
    return value


def gradient_of_parts(
    scores, weight, parts, group_start, scale, margins, powers, factors, gradient
):
    """Add each row's gradient over the pairs within its part, pair by pair; return the value.

    `scale` (n,) is a factor on the pairs of each part.
    """
    work = _scratch(parts, group_start)
    return _gradient_of_parts(
        scores, weight, parts, group_start, scale, margins, powers, factors, work, gradient
    )


@compiled
def _gradient_of_parts(
    scores, weight, parts, group_start, scale, margins, powers, factors, work, gradient
):
    value, first = 0.0, 0
    wins, loses, of_wins, of_losses = work[1], work[2], work[4], work[5]
    while first < len(parts):
        n_parts, n_places, is_plain = _load(scores, weight, parts, scale, group_start, first, work)
        for k in range(len(margins)):
            c, is_linear = scale[first] * factors[k], powers[k] == 1
            if n_parts:
                value += _meet(work, n_places, is_plain, margins[k], is_linear, c)
            else:
                value += _meet_one(work, parts[first], group_start, margins[k], is_linear, c)
        step = _LANES if n_parts else 1
        for lane in range(max(n_parts, 1)):
            start, stop = group_start[parts[first + lane, 0]], group_start[parts[first + lane, 1]]
            for i in range(start, stop):
                k = step * (i - start) + lane
                if weight.shape[1]:
                    gradient[i] += loses[k] * of_losses[k] - wins[k] * of_wins[k]
                else:
                    gradient[i] += of_losses[k] - of_wins[k]
        first += max(n_parts, 1)
    return value


def partners_of_parts(scores, values, parts, group_start, scale, margins, factors, sums):
    """Add 2 c times the sum of the values of each row's partners that violate to `sums`."""
    work = _scratch(parts, group_start)
    _partners_of_parts(scores, values, parts, group_start, scale, margins, factors, work, sums)


@compiled
def _partners_of_parts(scores, values, parts, group_start, scale, margins, factors, work, sums):
    first = 0
    of_wins, of_losses = work[4], work[5]
    while first < len(parts):
        n_parts, n_places, is_plain = _load(scores, values, parts, scale, group_start, first, work)
        for k in range(len(margins)):
            c = 2.0 * scale[first] * factors[k]
            if n_parts:
                _meet(work, n_places, is_plain, margins[k], True, c)
            else:
                _meet_one(work, parts[first], group_start, margins[k], True, c)
        step = _LANES if n_parts else 1
        for lane in range(max(n_parts, 1)):
            start, stop = group_start[parts[first + lane, 0]], group_start[parts[first + lane, 1]]
            for i in range(start, stop):
                k = step * (i - start) + lane
                sums[0, i] += of_wins[k]
                sums[-1, i] += of_losses[k]
        first += max(n_parts, 1)
