"""Histograms of potentials, the best weak ranking of each feature, and scores by many rankings."""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.sorting import cell_of

_CELLS = 4096
"""Cells of equal width between the thresholds of a feature."""


@compiled
def write_codes(values, cuts, missing, codes):
    """Write the number of ascending `cuts` below each value, `missing` for NaN.

    Cells of equal width know how many cuts are below them, so that a value is compared with the
    cuts of its own cell only, O(log cuts) at most.
    """
    n = len(cuts)
    origin, scale = 0.0, 0.0
    if n > 1:
        origin = 0.5 * cuts[0]  # halves: a difference of finite numbers may overflow
        scale = (_CELLS - 1) / max(0.5 * cuts[n - 1] - origin, 1e-300)
    last = np.float64(_CELLS - 1)
    ends = np.zeros(_CELLS + 1, np.int64)
    for cut in range(n):
        ends[cell_of(0.5 * cuts[cut], origin, scale, last) + 1] += 1
    for cell in range(_CELLS):
        ends[cell + 1] += ends[cell]
    for row in range(len(values)):
        value = np.float64(values[row])
        if value != value:
            codes[row] = missing
            continue
        cell = cell_of(0.5 * value, origin, scale, last)
        low, high = ends[cell], ends[cell + 1]
        while low < high:
            middle = (low + high) >> 1
            if cuts[middle] < value:
                low = middle + 1
            else:
                high = middle
        codes[row] = low


@compiled
def _add_dense(codes, potential, sums):
    for row in range(len(codes)):
        sums[codes[row]] += potential[row]


@compiled
def _add_sparse(codes, rows, zero, potential, sums):
    """Add the potentials of stored entries; the zeros have the rest, as all potentials sum to 0."""
    rest = 0.0
    for at in range(len(codes)):
        share = potential[rows[at]]
        sums[codes[at]] += share
        rest -= share
    sums[zero] += rest


@compiled
def _best_threshold(sums, n_values, has_missing, enough):
    """Return (r, code, missing) of the threshold of largest |r|; h is 1 above the code.

    The first |r| from `enough` on ends the search.

    `sums` (n_values + 1,) are potentials by code, those of missing values last. `missing` is h
    there: 0 or 1, whichever is better; 1/2 if no value is missing.
    """
    absent = sums[n_values]
    best, best_code, best_missing = 0.0, -1, 0.5
    above = 0.0
    for code in range(n_values - 2, -2 if has_missing else -1, -1):
        above += sums[code + 1]
        for choice in range(2):
            missing = float(choice) if has_missing else 0.5
            r = above + missing * absent
            if abs(r) > abs(best):
                best, best_code, best_missing = r, code, missing
            if abs(best) >= enough:
                return best, best_code, best_missing
    return best, best_code, best_missing


@compiled
def best_of_features(
    first, last, codes, rows, starts, zero, n_values, has_missing, enough, potential, edges,
    best_code, best_missing,
):  # fmt: skip
    """Write the best weak ranking of the features from `first` up to `last`.

    Dense codes are (n_features, n_rows), with empty `rows`; sparse ones (1, n_entries), the entries
    of feature j from starts[j] up to starts[j + 1]. The first |r| of a feature from `enough` on is
    taken. Costs O(rows) per feature, or O(entries).
    """
    for feature in range(first, last):
        n = n_values[feature]
        sums = np.zeros(n + 1)
        if len(starts):
            part = slice(starts[feature], starts[feature + 1])
            _add_sparse(codes[0, part], rows[part], zero[feature], potential, sums)
        else:
            _add_dense(codes[feature], potential, sums)
        found = _best_threshold(sums, n, has_missing[feature], enough)
        edges[feature], best_code[feature], best_missing[feature] = found


@compiled
def add_rankings(X, features, thresholds, missing, alphas, scores):
    """Add every weak ranking of the rows of X to their scores, in the order of the rankings.

    h is 1 above the threshold and else 0. Costs O(rows rankings).
    """
    for row in range(len(X)):
        total = scores[row]
        for at in range(len(features)):
            value = np.float64(X[row, features[at]])
            h = 1.0 if value > thresholds[at] else 0.0
            if value != value:
                h = missing[at]
            total += alphas[at] * h
        scores[row] = total
