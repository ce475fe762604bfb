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
def running_sums(x, ends, forward, backward):
    """Write the sums of x up to each row and from each row on, separately for each group.

    `ends` (n_groups,) tells where groups end. `forward` and `backward` (n_rows + n_groups,) have
    one element more per group than it has rows, so that element k of a group's `forward` sums its
    first k rows, and element k of its `backward` all but these.
    """
    start = 0
    for group in range(len(ends)):
        n = ends[group] - start
        at = start + group
        up, up_rest, down, down_rest = 0.0, 0.0, 0.0, 0.0
        forward[at] = 0.0
        backward[at + n] = 0.0
        for k in range(n):
            up, up_rest = add(up, up_rest, x[start + k])
            forward[at + k + 1] = up + up_rest
            down, down_rest = add(down, down_rest, x[start + n - 1 - k])
            backward[at + n - 1 - k] = down + down_rest
        start += n
