"""Classes of crossing rows, by query and label, and their pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences import Levels, OrderGraph
from pairrank.preferences._codes import level_codes, pairs_by_query, scale_to

_FEW_KEYS = 1024
"""Up to so many groups, or as many as rows, are counted without a sort."""


@dataclass(frozen=True, eq=False)
class CrossingQueries:
    """The pairs of all crossing queries, between their classes."""

    start: NDArray[np.int64]
    """Where the classes of each query begin, and the end, (n_queries + 1,)."""
    edges: NDArray[np.int64] | None
    """The sorted (low class, high class) that the graph joins; None: every higher class of a query
    is preferred to every lower one. For differences each class is joined with itself."""
    scale: FloatArray
    """The factor on the pairs of each query, (n_queries,); 0 where it has none."""
    weight: float
    """The weight of all pairs, scaled."""

    @classmethod
    def of_levels(cls, levels: Levels) -> CrossingQueries:
        """Return the queries of preferences over classes as rows, scaled by their reduction."""
        scale = np.where(levels.query_pair_weight > 0.0, levels.pair_scale, 0.0)
        return cls(levels.query_group, levels.edges, scale, levels.total_weight)

    def classes(self, query: int) -> tuple[int, NDArray[np.int64] | None, int]:
        """Return the first class of a query, the edges and the number of its classes, from 0 on."""
        first, stop = self.start[query : query + 2].tolist()
        edges = self.edges
        if edges is not None:
            edges = edges[slice(*np.searchsorted(edges[:, 0], (first, stop)))] - first
        return first, edges, stop - first


class CrossingGroups(NamedTuple):
    """Rows of crossing queries by query and label, a *class*; arrays are sorted by both.

    With many distinct labels there are as many classes as rows.
    """

    query: NDArray[np.int32]
    label: NDArray[Any]
    """Labels as numbers or text."""
    counts: NDArray[np.int64]
    """Rows, and those of positive weight as winners and as losers, (3, n_groups)."""
    weight: FloatArray
    """Total weights, (S, n_groups) as in `CrossingRows`."""

    @property
    def n_ties(self) -> int:
        """The number of pairs of rows of one label in a query."""
        return int((self.counts[0] * (self.counts[0] - 1) // 2).sum())

    def numbers(self, query: NDArray[np.int32], labels: NDArray[Any]) -> NDArray[np.int64]:
        """Return the number of each row's class, -1 where it is none of these; O(m log classes)."""
        known, label = level_codes(np.concatenate((self.label, labels)))
        key = np.concatenate((self.query, query)).astype(np.int64) * known.size + label
        classes, given = key[: self.query.size], key[self.query.size :]
        place = np.minimum(np.searchsorted(classes, given), classes.size - 1)
        return np.where(classes[place] == given, place, -1)


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
    rows = np.bincount(key, minlength=keys.size)
    sides = [np.bincount(key[side > 0], minlength=keys.size) for side in weight] or [rows]
    totals = np.zeros((len(weight), keys.size))
    for total, side in zip(totals, weight, strict=True):
        total += np.bincount(key, side, keys.size)
    kept = np.flatnonzero(rows)
    return CrossingGroups(
        query=(keys[kept] // distinct.size).astype(np.int32),
        label=distinct[keys[kept] % distinct.size],
        counts=np.array([rows, sides[0], sides[-1]])[:, kept],
        weight=totals[:, kept],
    )


def merge_groups(parts: list[CrossingGroups]) -> CrossingGroups:
    """Return the groups of all blocks together."""
    filled = [part for part in parts if part.query.size] or parts[:1]
    query, label, counts, weight = (
        np.concatenate(column, axis=-1) for column in zip(*filled, strict=True)
    )
    order = np.lexsort((label, query))
    query, label = query[order], label[order]
    is_first = np.ones(query.size, dtype=bool)
    is_first[1:] = (query[1:] != query[:-1]) | (label[1:] != label[:-1])
    starts = np.flatnonzero(is_first)
    if starts.size:
        counts, weight = (
            np.add.reduceat(each[:, order], starts, axis=1) for each in (counts, weight)
        )
    return CrossingGroups(query[starts], label[starts], counts, weight)


def crossing_levels(groups: CrossingGroups, graph: Any) -> tuple[Levels | None, int]:
    """Return the preferences over groups as rows, and the exact number of pairs of their rows."""
    graph = present_graph(graph, groups.label) if groups.query.size else None
    if graph is None:
        return None, 0
    weights: dict[str, Any] = {"sample_weight": groups.counts[0].astype(np.float64)}
    if len(groups.weight):
        names = ("sample_weight",) if len(groups.weight) == 1 else ("winner_weight", "loser_weight")
        weights = dict(zip(names, groups.weight, strict=True))
    structure = Levels.build(groups.label, groups.query, graph=graph)
    _, winners, losers = groups.counts[:, structure.row_of]
    counts = pairs_by_query(winners, losers, structure.query_group, structure.edges)
    return Levels.build(groups.label, groups.query, graph=graph, **weights), int(counts.sum())


def scaled_by(levels: Levels, reduction: str) -> Levels:
    """Return levels with pairs of one weight per query for the reduction "query", else as is."""
    if reduction != "query":
        return levels
    return replace(levels, pair_scale=scale_to(1.0, levels.query_pair_weight))


def present_graph(graph: Any, labels: NDArray[Any]) -> Any:
    """Return the graph's edges between labels that are present; None if there are none."""
    if not isinstance(graph, OrderGraph):
        return graph
    present = set(np.unique(labels).tolist())
    edges = [edge for edge in graph.edges if present.issuperset(edge)]
    return OrderGraph(edges) if edges else None
