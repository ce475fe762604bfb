"""The pairs that least squares orders rightly with both rows left out, from what it leaves."""

from __future__ import annotations

from pairrank.sums._jit import compiled


@compiled
def right_weight(H, first, predicted, residual, b, left, leverage, unit, root, labels, tie):
    """Return the weight of the pairs (i, j), label i above label j, whose margin is positive.

    Row i is one of the rows `first` .. of H, j any. With Q = [[left_i, -h], [-h, left_j]],
    h = H_ij, and t = u' Q^-1 r / (1 - u' Q^-1 u), the margin is z' Q^-1 (p - H (b + t u)),
    z = (1/root_i, -1/root_j). A margin within `tie` of its terms counts half. Returned too is the
    least det(M) / trace(M), about the smaller eigenvalue of M = Q - u u'. O(pairs).

    Parameters
    ----------
    H : ndarray of shape (n_part, n_rows)
        Rows of the hat matrix.
    first : int
        The number of its first row.
    predicted, residual, b, left, leverage, unit, root, labels : ndarray of shape (n_rows,)
        p; r = b - p; the targets; 1 - H_ii, H_ii, each to its own digits; u; the square roots of
        the weights; the labels.
    tie : float
        Relative to the size of predictions.
    """
    n_rows, largest, least = len(b), 0.0, 1.0
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
            determinant = left[i] * left[j] - h * h
            inverse = 1.0 / determinant
            u_i = (left[j] * unit[i] + h * unit[j]) * inverse
            u_j = (left[i] * unit[j] + h * unit[i]) * inverse
            rest = 1.0 - (u_i * unit[i] + u_j * unit[j])
            trace = left[i] + left[j] - unit[i] * unit[i] - unit[j] * unit[j]
            least = min(least, determinant * rest / trace)
            pull = (u_i * residual[i] + u_j * residual[j]) / rest
            at_i, at_j = b[i] + pull * unit[i], b[j] + pull * unit[j]
            g_i = predicted[i] - leverage[i] * at_i - h * at_j
            g_j = predicted[j] - leverage[j] * at_j - h * at_i
            z_i, z_j = 1.0 / root[i], -1.0 / root[j]
            margin = (left[j] * z_i + h * z_j) * g_i + (left[i] * z_j + h * z_i) * g_j
            margin *= inverse
            size_j = (abs(predicted[j]) + leverage[j] * largest) / root[j]
            if abs(margin) <= tie * (size_i + size_j):
                weight += 0.5 * root[j] * root[j]
            elif margin > 0.0:
                weight += root[j] * root[j]
        result += weight * root[i] * root[i]
    return result, least
