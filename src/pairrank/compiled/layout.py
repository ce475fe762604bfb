"""Levels of whole numbers, places of rows sorted by key, gathers, and groups that a graph joins."""

from pairrank.compiled._jit import compiled


@compiled
def place_by_key(keys, order, first, stop, starts, result):
    """Write the rows at places `first` to `stop` of an order where their keys begin, O(rows).

    keys (m,) int32 is by row; order (m,) int32, or empty: rows are in their own order. starts
    (n_keys,) int64 has the next place of each key, and is moved on. result (m,) int32 is written.
    """
    for at in range(first, stop):
        row = order[at] if len(order) else at
        key = keys[row]
        result[starts[key]] = row
        starts[key] += 1


@compiled
def gather(values, rows, out):
    """Write the values of rows, out[k] = values[rows[k]]."""
    for k in range(len(rows)):
        out[k] = values[rows[k]]


@compiled
def scatter(values, rows, out):
    """Write the values to rows, out[rows[k]] = values[k]."""
    for k in range(len(rows)):
        out[rows[k]] = values[k]


@compiled
def scatter_add(values, rows, out):
    """Add values[k] to out[rows[k]]; rows may repeat."""
    for k in range(len(rows)):
        out[rows[k]] += values[k]


@compiled
def _find(values, low, high, wanted):
    """Return the place of a value in the ascending values[low:high], or -1."""
    stop = high
    while low < high:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and values[low] == wanted else -1


@compiled
def joined_groups(group_level, query_group, above_start, above, edges):
    """Write the (low group, high group) that a graph joins, ascending, and return their number.

    Parameters
    ----------
    group_level : ndarray of int32, shape (n_groups,)
        Ascending within each query.
    query_group : ndarray of int64, shape (n_queries + 1,)
        Where each query's groups begin.
    above_start, above : ndarray of int64, shape (n_levels + 1,) and (n_edges,)
        The levels above each level, ascending.
    edges : ndarray of int64, shape (n, 2)
        Filled from the start; of length 0 to count only.

    Notes
    -----
    For each group O(k log n) where k is the smaller, n the larger of the groups of its query and
    the levels above its level.
    """
    n_edges = 0
    for query in range(len(query_group) - 1):
        first, last = query_group[query], query_group[query + 1]
        for low in range(first, last):
            start, stop = above_start[group_level[low]], above_start[group_level[low] + 1]
            by_level = stop - start < last - first
            for k in range(start if by_level else first, stop if by_level else last):
                if by_level:
                    high = _find(group_level, first, last, above[k])
                else:
                    high = k if _find(above, start, stop, group_level[k]) >= 0 else -1
                if high >= 0:
                    if len(edges):
                        edges[n_edges, 0] = low
                        edges[n_edges, 1] = high
                    n_edges += 1
    return n_edges
