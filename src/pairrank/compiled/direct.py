"""Hinge sums by direct counting: one accumulator a level, O(rows * levels) (Joachims 2006).

As `pairrank.compiled.selection_tree`, but that a row reads every level above its own instead of
climbing a tree: fewer steps where there are few levels.
"""

from __future__ import annotations

import numpy as np

from pairrank.compiled._jit import compiled
from pairrank.compiled.blocks import excess


@compiled
def gradient_by_counting(ranges, scale, scores, level, n_levels, weight, margin, squared, gradient):
    """Add every pair of full graphs to the gradient and return the value.

    The parameters are those of `gradient_by_selection_tree`.
    """
    held = np.zeros((n_levels.max(), 4))
    value = 0.0
    for query in range(len(ranges)):
        low, high = ranges[query, 0], ranges[query, 1]
        n_held = n_levels[query]
        for upwards in (True, False):
            held[:n_held] = 0.0
            entering = low if upwards else high - 1
            step = 1 if upwards else -1
            row = entering
            for _ in range(high - low):
                score = scores[row]
                while low <= entering < high:
                    other = scores[entering]
                    over = excess(margin, other, score) if upwards else excess(margin, score, other)
                    if not over > 0.0:
                        break
                    at = level[entering]
                    n = held[at, 0]
                    if n > 0.0:
                        far = abs(other - held[at, 3])
                        held[at, 2] += far * (held[at, 1] + held[at, 1] + n * far)
                        held[at, 1] += n * far
                    held[at, 0] = n + (weight[entering] if len(weight) else 1.0)
                    held[at, 3] = other
                    entering += step
                count, linear, square = 0.0, 0.0, 0.0
                first = level[row] + 1 if upwards else 0
                for at in range(first, n_held if upwards else level[row]):
                    n = held[at, 0]
                    if n > 0.0:
                        last = held[at, 3]
                        c = excess(margin, last, score) if upwards else excess(margin, score, last)
                        s = held[at, 1]
                        count += n
                        linear += s + n * c
                        square += held[at, 2] + c * (s + s + n * c)
                force = linear if squared else count
                gradient[row] += force if upwards else -force
                if upwards:
                    w = weight[row] if len(weight) else 1.0
                    value += scale[query] * w * (square if squared else linear)
                row += step
    return value


@compiled
def gamma_by_counting(ranges, scores, level, n_levels, x, margin, plus, minus, gamma):
    """Add to `gamma` each row's sum of x over the rows it violates with; see `gamma_in_blocks`."""
    held = np.zeros(n_levels.max())
    for query in range(len(ranges)):
        low, high = ranges[query, 0], ranges[query, 1]
        n_held = n_levels[query]
        for upwards in (True, False):
            held[:n_held] = 0.0
            factor = plus if upwards else minus
            entering = low if upwards else high - 1
            step = 1 if upwards else -1
            row = entering
            for _ in range(high - low):
                score = scores[row]
                while low <= entering < high:
                    other = scores[entering]
                    over = excess(margin, other, score) if upwards else excess(margin, score, other)
                    if not over > 0.0:
                        break
                    held[level[entering]] += x[entering]
                    entering += step
                total = 0.0
                first = level[row] + 1 if upwards else 0
                for at in range(first, n_held if upwards else level[row]):
                    total += held[at]
                gamma[row] += factor * total
                row += step
