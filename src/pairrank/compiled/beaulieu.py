"""Beaulieu's series for sums of erfc: coefficients of clusters, and the series at targets.

Legend (Raykar 2007, Section 5): q weight, z source, y target, c centre of a cluster, p terms,
A and B the coefficients of Eq. 10 times 4/pi, `step` = 2h. The n-th term turns n times as fast as
the first: sines and cosines are taken once a point and turned by twice the first angle from odd n
to odd n, which loses about an ulp a term, while the terms fall like exp(-n^2 h^2)/n.
"""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating

BLOCK = 256
"""Points that are turned together: their sines and cosines stay in the nearest cache."""


_S = tuple(1.0 / math.factorial(n) for n in (3, 5, 7, 9))
_C = tuple(1.0 / math.factorial(n) for n in (2, 4, 6, 8))
"""Taylor's coefficients of sin x / x and cos x, signs aside."""


@compiled
def erfc_sums(sources, weights, targets, out):
    """Write sum_i q_i erfc(y_j - z_i) of each target to `out`, pair by pair, O(N M).

    The running sum is compensated (Neumaier), so that an error is that of erfc itself.
    `weights` (N,) may have length 0: all are 1.
    """
    for j in range(len(targets)):
        y = targets[j]
        total = 0.0
        lost = 0.0
        for i in range(len(sources)):
            term = math.erfc(y - sources[i])
            if len(weights):
                term *= weights[i]
            grown = total + term
            if abs(total) >= abs(term):
                lost += (total - grown) + term
            else:
                lost += (term - grown) + total
            total = grown
        out[j] = total + lost


@compiled
def add_own_sums(scores, weights, ranges, scale, out):
    """Add sum_j q_j erfc(scale (s_i - s_j)) over the rows j of a row's own range, itself too.

    ranges (n, 2) int64 are of few rows each: O(rows^2) a range. `weights` (m,) may have length 0.
    """
    for at in range(len(ranges)):
        for i in range(ranges[at, 0], ranges[at, 1]):
            w_i = weights[i] if len(weights) else 1.0
            own = w_i
            for j in range(ranges[at, 0], i):
                w_j = weights[j] if len(weights) else 1.0
                pull = math.erfc(scale * (scores[i] - scores[j]))
                own += w_j * pull
                out[j] += w_i * (2.0 - pull)
            out[i] += own


@compiled
def add_edge_forces(scores, weights, edges, scale, out):
    """Add -sum_j q_j erfc(scale (s_i - s_j))/2 to high rows i, and to low rows j what i pulls.

    edges (n, 4) int64: first and last + 1 of the low rows, then of the high; O(pairs). The outer
    loop is over the shorter side: so no row is added to often, and the long sum is compensated.
    """
    for edge in range(len(edges)):
        low, low_end, high, high_end = edges[edge]
        half = 0.5
        if low_end - low < high_end - high:
            low, low_end, high, high_end = high, high_end, low, low_end
            half = -0.5
        for i in range(high, high_end):
            w_i = weights[i] if len(weights) else 1.0
            total = 0.0
            lost = 0.0
            for j in range(low, low_end):
                w_j = weights[j] if len(weights) else 1.0
                pull = half * math.erfc(2.0 * half * scale * (scores[i] - scores[j]))
                out[j] += w_i * pull
                term = w_j * pull
                grown = total + term
                lost += (
                    (total - grown) + term if abs(total) >= abs(term) else (term - grown) + total
                )
                total = grown
            out[i] -= total + lost


@compiled
def follow_clusters(points, half, start, centre):
    """Cut sorted points into clusters no longer than 2 half, from the lowest on; return how many.

    A cluster's centre lies no further than `half` from each of its points, also where an offset is
    so large that `half` is lost in it: then it is the first point itself.
    """
    n_clusters = 0
    at = 0
    while at < len(points):
        low = points[at]
        c = low + half
        if not c - low <= half:
            c = low
        start[n_clusters] = at
        centre[n_clusters] = c
        n_clusters += 1
        while at < len(points) and points[at] - c <= half:
            at += 1
    start[n_clusters] = len(points)
    return n_clusters


@compiled_reassociating
def _first_turns(points, order, c, step, cosine, sine, cosine2, sine2):
    """Write cos, sin of step (x - c) and of its double; Taylor, for angles up to 0.1 (to 1e-17)."""
    for j in range(len(order)):
        sine[j] = points[order[j]] - c
    for j in range(len(order)):
        x = step * sine[j]
        t = x * x
        s = x * (1.0 - t * (_S[0] - t * (_S[1] - t * (_S[2] - t * _S[3]))))
        k = 1.0 - t * (_C[0] - t * (_C[1] - t * (_C[2] - t * _C[3])))
        sine[j] = s
        cosine[j] = k
        cosine2[j] = 1.0 - 2.0 * s * s
        sine2[j] = 2.0 * s * k


@compiled_reassociating
def _sum_and_turn(cosine, sine, cosine2, sine2):
    """Return the sums of the cosines and sines, and turn all to the next odd n."""
    a = 0.0
    b = 0.0
    for j in range(len(cosine)):
        k = cosine[j]
        s = sine[j]
        a += k
        b += s
        cosine[j] = k * cosine2[j] - s * sine2[j]
        sine[j] = s * cosine2[j] + k * sine2[j]
    return a, b


@compiled_reassociating
def _add_and_turn(a, b, cosine, sine, cosine2, sine2, result):
    """Subtract one term of a series at each target, and turn all to the next odd n."""
    for j in range(len(result)):
        k = cosine[j]
        s = sine[j]
        result[j] -= a * s - b * k
        cosine[j] = k * cosine2[j] - s * sine2[j]
        sine[j] = s * cosine2[j] + k * sine2[j]


@compiled
def _add_compensated(totals, lost, at, term):
    """Add to one of many running sums, and what rounding took to another."""
    grown = totals[at] + term
    if abs(totals[at]) >= abs(term):
        lost[at] += (totals[at] - grown) + term
    else:
        lost[at] += (term - grown) + totals[at]
    totals[at] = grown


@compiled
def series_of_clusters(sources, weights, order, start, centre, step, damping, a, b, total_after):
    """Write A_n and B_n (Eq. 10) of every cluster, and the weight from each cluster on.

    Parameters
    ----------
    sources (N,), weights (N,) or (0,) for ones
    order (N,) int32, start (K + 1,) int64: the sources of cluster k are order[start[k]:start[k+1]]
    centre (K,): ascending
    damping (p,): 4/pi exp(-n^2 h^2)/n of odd n
    a, b (K, p): what is written
    total_after (K + 1,): written, the weight of the clusters k and above
    """
    p = len(damping)
    cosine, sine = np.empty(BLOCK), np.empty(BLOCK)
    cosine2, sine2 = np.empty(BLOCK), np.empty(BLOCK)
    sums = np.empty(2 * p + 1)
    lost = np.empty(2 * p + 1)
    for k in range(len(centre)):
        sums[:] = 0.0
        lost[:] = 0.0
        for low in range(start[k], start[k + 1], BLOCK):
            rows = order[low : min(low + BLOCK, start[k + 1])]
            m = len(rows)
            _first_turns(sources, rows, centre[k], step, cosine, sine, cosine2, sine2)
            weight = 0.0
            if len(weights):
                for j in range(m):
                    q = weights[rows[j]]
                    weight += q
                    cosine[j] *= q
                    sine[j] *= q
            else:
                weight = 1.0 * m
            _add_compensated(sums, lost, 2 * p, weight)
            for n in range(p):
                even, odd = _sum_and_turn(cosine[:m], sine[:m], cosine2[:m], sine2[:m])
                _add_compensated(sums, lost, n, even)
                _add_compensated(sums, lost, p + n, odd)
        for n in range(p):
            a[k, n] = damping[n] * (sums[n] + lost[n])
            b[k, n] = damping[n] * (sums[p + n] + lost[p + n])
        total_after[k] = sums[2 * p] + lost[2 * p]
    sums[0] = 0.0
    lost[0] = 0.0
    total_after[len(centre)] = 0.0
    for k in range(len(centre) - 1, -1, -1):
        _add_compensated(sums, lost, 0, total_after[k])
        total_after[k] = sums[0] + lost[0]


@compiled
def influential(y, centre, cutoff):
    """Return the range of the clusters with |y - c| <= cutoff; centres ascend, O(log K)."""
    low, high = 0, len(centre)
    while low < high:
        middle = (low + high) // 2
        if y - centre[middle] > cutoff:
            low = middle + 1
        else:
            high = middle
    first = low
    high = len(centre)
    while low < high:
        middle = (low + high) // 2
        if y - centre[middle] >= -cutoff:
            low = middle + 1
        else:
            high = middle
    return first, low


@compiled
def series_at_targets(targets, centre, a, b, total_after, step, cutoff, out):
    """Write E(y) of each target as the paper does: the series of every influential cluster.

    Each of l clusters costs a sine, a cosine and p terms; clusters above count 2 Q_k, by sums that
    `series_of_clusters` left: with those above once and the influential once,
    Q_influential + 2 Q_above = total_after[first] + total_after[last].
    """
    for j in range(len(targets)):
        y = targets[j]
        first, last = influential(y, centre, cutoff)
        series = 0.0
        for k in range(first, last):
            x = step * (y - centre[k])
            sine, cosine = math.sin(x), math.cos(x)
            cosine2, sine2 = 1.0 - 2.0 * sine * sine, 2.0 * sine * cosine
            for n in range(a.shape[1]):
                series += a[k, n] * sine - b[k, n] * cosine
                turned = cosine * cosine2 - sine * sine2
                sine = sine * cosine2 + cosine * sine2
                cosine = turned
        out[j] = total_after[first] + total_after[last] - series


@compiled
def merged_series_at_targets(
    targets, order, start, middle, centre, a, b, total_after, step, cutoff, out
):
    """Write E(y) of each target from one series an interval of targets: p terms a target.

    order (M,) int32, start (T + 1,), middle (T,): the targets by interval, as sources by cluster.
    The series of the clusters that an interval needs are turned to its middle and added up.
    """
    p = a.shape[1]
    cosine, sine = np.empty(BLOCK), np.empty(BLOCK)
    cosine2, sine2 = np.empty(BLOCK), np.empty(BLOCK)
    result = np.empty(BLOCK)
    turned_a, turned_b = np.empty(p), np.empty(p)
    for t in range(len(middle)):
        first, last = influential(middle[t], centre, cutoff)
        turned_a[:] = 0.0
        turned_b[:] = 0.0
        for k in range(first, last):
            x = step * (middle[t] - centre[k])
            s, c = math.sin(x), math.cos(x)
            c2, s2 = 1.0 - 2.0 * s * s, 2.0 * s * c
            for n in range(p):
                turned_a[n] += a[k, n] * c + b[k, n] * s
                turned_b[n] += b[k, n] * c - a[k, n] * s
                turned = c * c2 - s * s2
                s = s * c2 + c * s2
                c = turned
        constant = total_after[first] + total_after[last]
        for low in range(start[t], start[t + 1], BLOCK):
            rows = order[low : min(low + BLOCK, start[t + 1])]
            m = len(rows)
            _first_turns(targets, rows, middle[t], step, cosine, sine, cosine2, sine2)
            result[:m] = constant
            for n in range(p):
                _add_and_turn(
                    turned_a[n], turned_b[n], cosine[:m], sine[:m], cosine2[:m], sine2[:m],
                    result[:m],
                )  # fmt: skip
            for j in range(m):
                out[rows[j]] = result[j]
