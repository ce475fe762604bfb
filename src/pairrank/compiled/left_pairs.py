"""Pairs that least squares orders correctly with both rows left out, from its residuals."""

from __future__ import annotations

from pairrank.compiled._jit import compiled


@compiled
def right_weight(H, M, first, predicted, residual, b, left, leverage, unit, root, labels, ties):
    """Return the weight of the pairs (i, j), label i above label j, whose margin is positive.

    Row i is one of the rows of `H` (n_part, n_rows), part of the hat matrix from row `first` on; j
    is any row. With Q = [[left_i, -h], [-h, left_j]], h = H_ij, t = u' Q^-1 r / (1 - u' Q^-1 u),
    the margin is z' Q^-1 (p - H (b + t u)), z = (1/root_i, -1/root_j). A margin within rounding of
    its terms counts half. Also returned is the least det(M) / trace(M), about the smaller
    eigenvalue of M = Q - u u'. O(pairs).

    If `M` is given, the same rows of I - u u' - H with the diagonal `left`, the margin is
    label_i - label_j - z' M^-1 r: this keeps its digits if M is small beside u u', but not if
    predictions are small beside labels. The least is then relative to M's largest entry.

    By row: `predicted` p; `residual` r = b - p; the targets `b`; `left` 1 - H_ii and `leverage`
    H_ii, each to its own digits; `unit` u; `root`, the square roots of the weights; `labels`.
    `ties` says what is rounding relative to predictions, and relative to them if M were 1.
    """
    n_rows, largest, least, whole = len(b), 0.0, 1.0, 1.0
    direct = len(M) > 0
    if direct:
        whole = left.max()
    for j in range(n_rows):
        largest = max(largest, abs(b[j]))
    result = 0.0
    for row in range(H.shape[0]):
        i = first + row
        weight, size_i = 0.0, (abs(predicted[i]) + leverage[i] * largest) / root[i]
        for j in range(n_rows):
            if labels[i] <= labels[j]:
                continue
            h = H[row, j]
            z_i, z_j = 1.0 / root[i], -1.0 / root[j]
            if direct:
                m = M[row, j]
                determinant = left[i] * left[j] - m * m
                kept = determinant / (left[i] + left[j]) / whole
                e_i = left[j] * residual[i] - m * residual[j]
                e_j = left[i] * residual[j] - m * residual[i]
                margin = labels[i] - labels[j] - (z_i * e_i + z_j * e_j) / determinant
            else:
                determinant = left[i] * left[j] - h * h
                inverse = 1.0 / determinant
                u_i = (left[j] * unit[i] + h * unit[j]) * inverse
                u_j = (left[i] * unit[j] + h * unit[i]) * inverse
                rest = 1.0 - (u_i * unit[i] + u_j * unit[j])
                trace = left[i] + left[j] - unit[i] * unit[i] - unit[j] * unit[j]
                kept = determinant * rest / trace
                shift = (u_i * residual[i] + u_j * residual[j]) / rest
                at_i, at_j = b[i] + shift * unit[i], b[j] + shift * unit[j]
                g_i = predicted[i] - leverage[i] * at_i - h * at_j
                g_j = predicted[j] - leverage[j] * at_j - h * at_i
                margin = (left[j] * z_i + h * z_j) * g_i + (left[i] * z_j + h * z_i) * g_j
                margin *= inverse
            least = min(least, kept)
            size_j = (abs(predicted[j]) + leverage[j] * largest) / root[j]
            if abs(margin) <= max(ties[0], ties[1] / kept) * (size_i + size_j):
                weight += 0.5 * root[j] * root[j]
            elif margin > 0.0:
                weight += root[j] * root[j]
        result += weight * root[i] * root[i]
    return result, least
