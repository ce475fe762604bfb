"""Hinge sums over explicit comparisons, one by one, and the Hessian of any loss over them."""

from __future__ import annotations

from pairrank.compiled._jit import compiled
from pairrank.compiled.blocks import excess


@compiled
def gradient_over_pairs(i, j, weight, scores, margin, squared, gradient):
    """Add every comparison to the gradient and return the value, O(n_pairs).

    Parameters
    ----------
    i, j : ndarray of int32, shape (n_pairs,)
        Row i is preferred to row j.
    weight : ndarray of shape (n_pairs,) or (0,)
        Empty where all are 1.
    scores, gradient : ndarray of shape (n_rows,)
    margin : float
    squared : bool
    """
    value, value_low = 0.0, 0.0
    for pair in range(len(i)):
        over = excess(margin, scores[i[pair]], scores[j[pair]])
        if over > 0.0:
            w = weight[pair] if len(weight) else 1.0
            force = w * (2.0 * over if squared else 1.0)
            gradient[i[pair]] -= force
            gradient[j[pair]] += force
            cost = w * (over * over if squared else over)
            new = value + cost
            back = new - value
            value_low += (value - (new - back)) + (cost - back)
            value = new
    return value + value_low


@compiled
def laplacian_over_pairs(i, j, weight, v, result):
    """Add to `result` the weighted Laplacian M D M' of the comparisons times v, O(n_pairs)."""
    for pair in range(len(i)):
        force = v[i[pair]] - v[j[pair]]
        if len(weight):
            force *= weight[pair]
        result[i[pair]] += force
        result[j[pair]] -= force
