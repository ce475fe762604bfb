"""Hinge sums pair by pair between blocks of rows: what is fastest where blocks are small."""

from __future__ import annotations

import numpy as np

from pairrank.sums._jit import compiled, compiled_reassociating


@compiled
def excess(margin, high, low):
    """Return margin - (high - low) in exactly this order: a pair violates where it is above 0.

    Every route evaluates the margin so, and none may reassociate it: they agree at the kink.
    """
    return margin - (high - low)


@compiled_reassociating
def _row_gradient(s_i, w_i, scores, weights, gradient, margin, squared):
    """Add one preferred row's pairs with a block; return its own sum and the value, O(block)."""
    own = 0.0
    value = 0.0
    for j in range(len(scores)):
        over = excess(margin, s_i, scores[j])
        over = over if over > 0.0 else 0.0
        if squared:
            force = over
            cost = over * over
        else:
            force = 1.0 if over > 0.0 else 0.0
            cost = over
        own += weights[j] * force
        value += weights[j] * cost
        gradient[j] += w_i * force
    return own, value


@compiled_reassociating
def _row_gamma(s_i, x_i, scores, x, gamma, margin, plus, minus):
    """Add one preferred row's x to the rows of a block that it violates with, and theirs to it."""
    own = 0.0
    for j in range(len(scores)):
        violates = excess(margin, s_i, scores[j]) > 0.0
        own += x[j] if violates else 0.0
        gamma[j] += plus * x_i if violates else 0.0
    return minus * own


@compiled
def gradient_in_blocks(blocks, scores, weight, ones, margin, squared, gradient):
    """Add every pair of a list of blocks to the gradient; return each block's value.

    Parameters
    ----------
    blocks : ndarray of int64, shape (n_blocks, 4)
        Low rows from [0] to [1], high rows (preferred) from [2] to [3]; the ranges are disjoint.
    scores, gradient : ndarray of shape (n_rows,)
        In layout order. The gradient gets sums over the violating pairs of the other row's weight
        times the excess (squared) or times 1: without the row's own weight and the factor 2.
    weight : ndarray of shape (n_rows,) or (0,)
        Row weights; empty where all are 1.
    ones : ndarray
        As many ones as the largest block has rows.
    margin : float
    squared : bool

    Returns
    -------
    ndarray of shape (n_blocks,)
        The value of each block. Costs O(pairs), a third of a nanosecond each.
    """
    values = np.zeros(len(blocks))
    for block in range(len(blocks)):
        low, low_end = blocks[block, 0], blocks[block, 1]
        low_scores = scores[low:low_end]
        low_gradient = gradient[low:low_end]
        low_weight = weight[low:low_end] if len(weight) else ones[: low_end - low]
        total = 0.0
        for i in range(blocks[block, 2], blocks[block, 3]):
            w_i = weight[i] if len(weight) else 1.0
            own, value = _row_gradient(
                scores[i], w_i, low_scores, low_weight, low_gradient, margin, squared
            )
            gradient[i] -= own
            total += w_i * value
        values[block] = total
    return values


@compiled
def gamma_in_blocks(blocks, scores, x, margin, plus, minus, gamma):
    """Add to `gamma` each row's sum of x over the rows it violates with, pair by pair.

    `x` (n_rows,) is in layout order, row weights multiplied in; `plus` and `minus` are 1 or 0: what
    preferred rows give to the less preferred ones (Eq. 17's gamma+), and these to those (gamma-).
    """
    for block in range(len(blocks)):
        low, low_end = blocks[block, 0], blocks[block, 1]
        low_scores = scores[low:low_end]
        low_x = x[low:low_end]
        low_gamma = gamma[low:low_end]
        for i in range(blocks[block, 2], blocks[block, 3]):
            gamma[i] += _row_gamma(
                scores[i], x[i], low_scores, low_x, low_gamma, margin, plus, minus
            )
