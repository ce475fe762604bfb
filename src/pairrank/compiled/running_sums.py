"""Running sums that lose no digits: every addition keeps its rounding error."""

from __future__ import annotations

from pairrank.compiled._jit import compiled


@compiled
def add(total, rest, term):
    """Add a term to total + rest, where `rest` sums the rounding errors (Knuth's TwoSum)."""
    new = total + term
    back = new - total
    return new, rest + ((total - (new - back)) + (term - back))


@compiled
def running_sum(x, from_top, sums):
    """Write the sum of the first k elements to sums[k], or from the top of all but these."""
    n = len(x)
    total, rest = 0.0, 0.0
    sums[n if from_top else 0] = 0.0
    for k in range(n):
        total, rest = add(total, rest, x[n - 1 - k if from_top else k])
        sums[n - 1 - k if from_top else k + 1] = total + rest


@compiled
def running_sums(x, ends, forward, backward):
    """Write the `running_sum` of each group in both directions.

    `ends` (n_groups,) tells where groups end. `forward` and `backward` (n_rows + n_groups,) have
    one element more per group than it has rows.
    """
    start = 0
    for group in range(len(ends)):
        low, high = start + group, ends[group] + group + 1
        running_sum(x[start : ends[group]], False, forward[low:high])
        running_sum(x[start : ends[group]], True, backward[low:high])
        start = ends[group]
