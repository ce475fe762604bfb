"""Hinge sums pair by pair between blocks of rows, the fastest way for small blocks.

The inner loop of products runs over whole vectors of eight rows, those beyond the block masked: in
blocks of a few rows the leftovers of a loop would cost more than the loop.
"""

from __future__ import annotations

from pairrank.compiled._jit import compiled, compiled_reassociating

VECTOR = 8


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
def _row_gamma(s_i, x_i, scores, x, gamma, n_rows, margin, plus, minus):
    """Add one preferred row's x to the rows of a block that it violates with, and theirs to it."""
    own = 0.0
    for j in range(len(scores)):
        violates = (excess(margin, s_i, scores[j]) > 0.0) & (j < n_rows)
        own += x[j] if violates else 0.0
        gamma[j] += plus * x_i if violates else 0.0
    return minus * own


@compiled
def gradient_in_blocks(
    jobs, scale, edges, group_start, row_of, values, weight, margin, squared, factor, work, result
):
    """Add all pairs within small runs of groups to the gradient, pair by pair; return the value.

    Parameters
    ----------
    jobs : ndarray of int64, shape (n_jobs, 4)
        The first and last + 1 group of a run, and the first and last + 1 of its edges; first edge
        -1: every group is preferred to all lower ones of the run.
    scale : ndarray of shape (n_jobs,)
        What a run's value is multiplied by.
    edges : ndarray of int64, shape (n_edges, 2)
        (low group, high group).
    group_start, row_of : ndarray of int64 and of int32
        The layout.
    values : ndarray of shape (n_all,)
        Scores in the user's order.
    weight : ndarray of shape (n_rows,) or (0,)
        Row weights in layout order; empty where all are 1.
    margin : float
    squared : bool
    factor : float
        What the gradient is multiplied by.
    work : ndarray of shape (3, longest run + VECTOR)
        Scratch.
    result : ndarray of shape (n_all,)
        In the user's order. Gets each row's sum over its violating pairs of the other row's weight
        times the excess (squared) or times 1, plus where others are preferred to it, minus where it
        is preferred: the gradient but for the row's own weight, the scale and a factor 2.

    Returns
    -------
    float
        The value. Costs O(pairs), a third of a nanosecond each.
    """
    total = 0.0
    for job in range(len(jobs)):
        first = group_start[jobs[job, 0]]
        n = group_start[jobs[job, 1]] - first
        scores, weights, gradient = work[0], work[1], work[2]
        for k in range(n):
            scores[k] = values[row_of[first + k]]
            weights[k] = weight[first + k] if len(weight) else 1.0
            gradient[k] = 0.0
        value = 0.0
        full = jobs[job, 2] < 0
        n_blocks = jobs[job, 1] - jobs[job, 0] if full else jobs[job, 3] - jobs[job, 2]
        for block in range(n_blocks):
            low, low_end = 0, 0
            high = jobs[job, 0] + block
            if full:
                low_end = group_start[high] - first
            else:
                group = edges[jobs[job, 2] + block, 0]
                low, low_end = group_start[group] - first, group_start[group + 1] - first
                high = edges[jobs[job, 2] + block, 1]
            for i in range(group_start[high] - first, group_start[high + 1] - first):
                own, cost = _row_gradient(
                    scores[i],
                    weights[i],
                    scores[low:low_end],
                    weights[low:low_end],
                    gradient[low:low_end],
                    margin,
                    squared,
                )
                gradient[i] -= own
                value += weights[i] * cost
        total += scale[job] * value
        for k in range(n):
            result[row_of[first + k]] += factor * gradient[k]
    return total


@compiled
def gamma_in_blocks(jobs, edges, group_start, row_of, values, x, margin, plus, minus, work, result):
    """Add to `result` each row's sum of x over the rows it violates with, pair by pair.

    `values`, `x` and `result` (n_all,) are in the user's order, row weights multiplied in `x`;
    `plus` and `minus` are 1 or 0: what preferred rows give to the less preferred ones (gamma+ of
    Eq. 17), and these to those (gamma-). The rest as in `gradient_in_blocks`.
    """
    for job in range(len(jobs)):
        first = group_start[jobs[job, 0]]
        n = group_start[jobs[job, 1]] - first
        scores, x_here, gamma = work[0], work[1], work[2]
        for k in range(n, n + VECTOR):
            scores[k] = 0.0
            x_here[k] = 0.0
        for k in range(n):
            scores[k] = values[row_of[first + k]]
            x_here[k] = x[row_of[first + k]]
            gamma[k] = 0.0
        full = jobs[job, 2] < 0
        n_blocks = jobs[job, 1] - jobs[job, 0] if full else jobs[job, 3] - jobs[job, 2]
        for block in range(n_blocks):
            low, low_end = 0, 0
            high = jobs[job, 0] + block
            if full:
                low_end = group_start[high] - first
            else:
                group = edges[jobs[job, 2] + block, 0]
                low, low_end = group_start[group] - first, group_start[group + 1] - first
                high = edges[jobs[job, 2] + block, 1]
            end = low + (low_end - low + VECTOR - 1) // VECTOR * VECTOR
            for i in range(group_start[high] - first, group_start[high + 1] - first):
                gamma[i] += _row_gamma(
                    scores[i],
                    x_here[i],
                    scores[low:end],
                    x_here[low:end],
                    gamma[low:end],
                    low_end - low,
                    margin,
                    plus,
                    minus,
                )
        for k in range(n):
            result[row_of[first + k]] += gamma[k]
