"""Groups of crossing rows by query and label, and their pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks.crossing_queries import MomentQuery
from pairrank.preferences import Levels, OrderGraph
from pairrank.preferences._codes import level_codes, pairs_by_query, scale_to

_FEW_KEYS = 1024
"""Up to so many groups, or as many as rows, are counted without a sort."""


class CrossingGroups(NamedTuple):
    """Rows of crossing queries by query and label; arrays are (n_groups,), sorted by both.

    With many distinct labels there are as many groups as rows.
    """

    query: NDArray[np.int32]
    label: NDArray[Any]
    """Labels as numbers or text."""
    n_rows: NDArray[np.int64]
    n_winners: NDArray[np.int64]
    """Rows of positive weight as winners."""
    n_losers: NDArray[np.int64]
    weight: FloatArray
    """Total weights, (S, n_groups) as in `BlockLayout`."""

    @property
    def n_ties(self) -> int:
        """The number of pairs of rows of one label in a query."""
        return int((self.n_rows * (self.n_rows - 1) // 2).sum())


def group_rows(
    query: NDArray[np.int32], labels: NDArray[Any], weight: FloatArray
) -> CrossingGroups:
    """Count a block's rows by query and label, and sum their weights.

    O(m) for few labels that are whole numbers, else O(m log m).
    """
    distinct, level = level_codes(labels)
    n_keys = int(query.max(initial=-1) + 1) * distinct.size
    keys, key = np.arange(n_keys), query.astype(np.int64) * distinct.size + level
    if n_keys > max(_FEW_KEYS, query.size):
        keys, key = np.unique(key, return_inverse=True)
    counts = np.bincount(key, minlength=keys.size)
    kept, winners, losers = np.flatnonzero(counts), counts, counts
    if len(weight):
        winners, losers = (
            np.bincount(key[side > 0], minlength=keys.size) for side in weight[[0, -1]]
        )
    totals = [np.bincount(key, side, keys.size)[kept] for side in weight]
    keys = keys[kept]
    return CrossingGroups(
        query=(keys // distinct.size).astype(np.int32),
        label=distinct[keys % distinct.size],
        n_rows=counts[kept],
        n_winners=winners[kept],
        n_losers=losers[kept],
        weight=np.array(totals, dtype=np.float64).reshape(len(weight), kept.size),
    )


def merge_groups(parts: list[CrossingGroups]) -> CrossingGroups:
    """Return the groups of all blocks together."""
    filled = [part for part in parts if part.query.size] or parts[:1]
    columns: list[Any] = list(zip(*(part[:-1] for part in filled), strict=True))
    weight = np.concatenate([part.weight for part in filled], axis=1)
    return _summed(CrossingGroups._make([*map(np.concatenate, columns), weight]))


def crossing_levels(groups: CrossingGroups, graph: Any) -> tuple[Levels | None, int]:
    """Return the preferences over groups as rows, and the exact number of pairs of their rows."""
    if not groups.query.size:
        return None, 0
    graph = present_graph(graph, groups.label)
    if graph is None:
        return None, 0
    structure = Levels.build(groups.label, groups.query, graph=graph)
    winners, losers = groups.n_winners[structure.row_of], groups.n_losers[structure.row_of]
    counts = pairs_by_query(winners, losers, structure.query_group, structure.edges)
    n_pairs = int(counts.sum())
    weights: dict[str, Any] = {"sample_weight": groups.n_rows.astype(np.float64)}
    if len(groups.weight):
        names = ("sample_weight",) if len(groups.weight) == 1 else ("winner_weight", "loser_weight")
        weights = dict(zip(names, groups.weight, strict=True))
    return Levels.build(groups.label, groups.query, graph=graph, **weights), n_pairs


def moment_queries(
    groups: CrossingGroups, levels: Levels, labels: NDArray[Any]
) -> tuple[MomentQuery, ...]:
    """Return the crossing queries that have a pair.

    `levels` are the scaled preferences over the groups as rows, `labels` all distinct labels of
    crossing rows.
    """
    ranks = np.searchsorted(labels, groups.label).astype(np.int32)
    scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
    queries = []
    for query in np.flatnonzero(levels.query_pair_weight > 0.0).tolist():
        first, stop = levels.query_group[query : query + 2].tolist()
        edges = levels.edges
        if edges is not None:
            edges = edges[slice(*np.searchsorted(edges[:, 0], (first, stop)))] - first
        queries.append(MomentQuery(query, ranks[first:stop], edges, float(scale[query])))
    return tuple(queries)


def scaled_by(levels: Levels, reduction: str, query_share: float) -> Levels:
    """Return levels with the scale of the reduction "query"; of others it is 1."""
    if reduction != "query":
        return levels.reduced("sum")
    return replace(levels, pair_scale=scale_to(query_share, levels.query_pair_weight))


def present_graph(graph: Any, labels: NDArray[Any]) -> Any:
    """Return the graph's edges between labels that are present; None if there are none."""
    if not isinstance(graph, OrderGraph):
        return graph
    present = set(np.unique(labels).tolist())
    edges = [edge for edge in graph.edges if present.issuperset(edge)]
    return OrderGraph(edges) if edges else None


def _summed(groups: CrossingGroups) -> CrossingGroups:
    """Add up groups of the same query and label."""
    query, label, *counts, weight = groups
    if not query.size:
        return groups
    order = np.lexsort((label, query))
    query, label = query[order], label[order]
    first = np.ones(query.size, dtype=bool)
    first[1:] = (query[1:] != query[:-1]) | (label[1:] != label[:-1])
    starts = np.flatnonzero(first)
    added: list[Any] = [np.add.reduceat(count[order], starts) for count in counts]
    totals = np.add.reduceat(weight[:, order], starts, axis=1)
    return CrossingGroups._make([query[starts], label[starts], *added, totals])
