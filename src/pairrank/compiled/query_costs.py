"""The cost of each query's preferences under a sigmoidal loss, pair by pair, by query."""

from __future__ import annotations

from pairrank.compiled._jit import compiled, compiled_reassociating
from pairrank.compiled.sigmoid import share_and_cost


@compiled_reassociating
def _cost_of_row(kind, score, scores, lose):
    """Return the cost of one winner's pairs with some losers; `lose` is empty if all weigh 1."""
    total = 0.0
    for j in range(len(scores)):
        cost = share_and_cost(kind, score - scores[j])[1]
        total += lose[j] * cost if len(lose) else cost
    return total


@compiled
def _cost_of_groups(kind, scores, win, lose, low, low_end, high, high_end):
    """Return the cost of the pairs of rows high to high_end over rows low to low_end."""
    total = 0.0
    losers = lose[low:low_end] if len(lose) else lose
    for i in range(high, high_end):
        cost = _cost_of_row(kind, scores[i], scores[low:low_end], losers)
        total += win[i] * cost if len(win) else cost
    return total


@compiled
def costs_of_queries(kind, queries, scores, win, lose, group_start, query_group, edges, costs):
    """Set `costs` (n,) to the cost of each of `queries` (n,); O(pairs).

    scores, and win and lose, the weights of rows as winners and as losers (empty if all are 1), are
    (n_rows,) in layout order. `edges` (n_edges, 2) are sorted pairs (low group, high group); empty:
    every group of a query is preferred to all lower ones.
    """
    edge = 0
    for k in range(len(queries)):
        first, last = query_group[queries[k]], query_group[queries[k] + 1]
        total = 0.0
        if len(edges):
            while edge < len(edges) and edges[edge, 0] < first:
                edge += 1
            while edge < len(edges) and edges[edge, 0] < last:
                low, high = edges[edge]
                total += _cost_of_groups(
                    kind, scores, win, lose, group_start[low], group_start[low + 1],
                    group_start[high], group_start[high + 1],
                )  # fmt: skip
                edge += 1
        else:
            for group in range(first + 1, last):
                total += _cost_of_groups(
                    kind, scores, win, lose, group_start[first], group_start[group],
                    group_start[group], group_start[group + 1],
                )  # fmt: skip
        costs[k] = total
