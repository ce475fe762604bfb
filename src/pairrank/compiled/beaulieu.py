"""Beaulieu's series for sums of erfc: coefficients of clusters, and the series at targets.

Legend (Raykar 2007, Section 5): q weight, z source, y target, c centre of a cluster, p terms,
A and B the coefficients of Eq. 10 times 4/pi, `step` = 2h. The n-th term turns n times as fast as
the first: sines and cosines are computed once per point and turned by twice the first angle from
each odd n to the next. This loses about an ulp per term, and the terms fall like exp(-n^2 h^2)/n.
"""

from __future__ import annotations

import math

import numpy as np

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled.layout import add

BLOCK = 256
"""Points that are turned together, so that their sines and cosines stay in the first cache."""

_S = tuple(1.0 / math.factorial(n) for n in (3, 5, 7, 9))
_C = tuple(1.0 / math.factorial(n) for n in (2, 4, 6, 8))
"""Taylor's coefficients of sin x / x and cos x, signs aside."""


@compiled
def erfc_sums(sources, weights, targets, out):
    """Write sum_i q_i erfc(y_j - z_i) of each target to `out`, pair by pair, O(N M).

    The running sum is compensated, so that the error is that of erfc. `weights` (N,) is
    empty if all are 1.
    """
    for j in range(len(targets)):
        total, lost = 0.0, 0.0
        for i in range(len(sources)):
            term = math.erfc(targets[j] - sources[i])
            total, lost = add(total, lost, term * weights[i] if len(weights) else term)
        out[j] = total + lost


@compiled
def follow_clusters(points, half, start, centre):
    """Cut sorted points into clusters of length 2 half or less, lowest first; return their number.

    A cluster's centre is within `half` of each of its points. Where rounding loses `half` in a
    large offset, the centre is the first point.
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
def _turned(cosine, sine, cosine2, sine2):
    """Return the cosine and sine of an angle plus another."""
    return cosine * cosine2 - sine * sine2, sine * cosine2 + cosine * sine2


@compiled_reassociating
def _sum_and_turn(cosine, sine, cosine2, sine2):
    """Return the sums of the cosines and sines, and turn all to the next odd n."""
    a, b = 0.0, 0.0
    for j in range(len(cosine)):
        k, s = cosine[j], sine[j]
        a += k
        b += s
        cosine[j], sine[j] = _turned(k, s, cosine2[j], sine2[j])
    return a, b


@compiled
def series_of_clusters(sources, weights, order, start, centre, step, damping, a, b, total_after):
    """Write A_n and B_n (Eq. 10) of every cluster, and the weight from each cluster on.

    The sources of cluster k, out of K, are order[start[k] : start[k + 1]]; centre (K,) ascends.
    damping (p,): 4/pi exp(-n^2 h^2)/n of odd n. Written: a and b (K, p), and total_after (K + 1,),
    the weight of the clusters k and above.
    """
    p = len(damping)
    cosine, sine = np.empty(BLOCK), np.empty(BLOCK)
    cosine2, sine2 = np.empty(BLOCK), np.empty(BLOCK)
    sums, lost = np.empty(2 * p + 1), np.empty(2 * p + 1)
    for k in range(len(centre)):
        sums[:] = 0.0
        lost[:] = 0.0
        for low in range(start[k], start[k + 1], BLOCK):
            rows = order[low : min(low + BLOCK, start[k + 1])]
            m = len(rows)
            _first_turns(sources, rows, centre[k], step, cosine, sine, cosine2, sine2)
            weight = 0.0
            for j in range(m):
                q = weights[rows[j]] if len(weights) else 1.0
                weight += q
                cosine[j] *= q
                sine[j] *= q
            sums[2 * p], lost[2 * p] = add(sums[2 * p], lost[2 * p], weight)
            for n in range(p):
                even, odd = _sum_and_turn(cosine[:m], sine[:m], cosine2[:m], sine2[:m])
                sums[n], lost[n] = add(sums[n], lost[n], even)
                sums[p + n], lost[p + n] = add(sums[p + n], lost[p + n], odd)
        for n in range(p):
            a[k, n] = damping[n] * (sums[n] + lost[n])
            b[k, n] = damping[n] * (sums[p + n] + lost[p + n])
        total_after[k] = sums[2 * p] + lost[2 * p]
    total, rest = 0.0, 0.0
    total_after[len(centre)] = 0.0
    for k in range(len(centre) - 1, -1, -1):
        total, rest = add(total, rest, total_after[k])
        total_after[k] = total + rest


@compiled
def influential(y, centre, cutoff):
    """Return the range of the clusters with |y - c| <= cutoff; centres ascend, O(log K)."""
    return np.searchsorted(centre, y - cutoff), np.searchsorted(centre, y + cutoff, side="right")


@compiled
def series_at_targets(targets, centre, a, b, total_after, step, cutoff, out):
    """Write E(y) of each target as the paper does: the series of every influential cluster.

    Each of l clusters costs a sine, a cosine and p terms. Clusters above count 2 Q_k:
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
                cosine, sine = _turned(cosine, sine, cosine2, sine2)
        out[j] = total_after[first] + total_after[last] - series
