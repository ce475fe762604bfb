"""Classes of crossing rows, by query and label, and their pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences import Levels, OrderGraph
from pairrank.preferences._codes import level_codes, pairs_by_query, scale_to


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
    totals: FloatArray
    """The number of rows, of those of positive weight as winners and as losers, and the S total
    weights of rows as in `CrossingRows`, (3 + S, n_groups)."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """The numbers of rows, (3, n_groups)."""
        return self.totals[:3].astype(np.int64)

    @property
    def n_ties(self) -> int:
        """The number of pairs of rows of one label in a query."""
        rows = self.counts[0]
        return int((rows * (rows - 1) // 2).sum())

    def numbers(self, some: CrossingGroups) -> NDArray[np.int32]:
        """Return the numbers of some of these classes; O(classes log classes)."""
        known, label = level_codes(np.concatenate((self.label, some.label)))
        key = np.concatenate((self.query, some.query)).astype(np.int64) * known.size + label
        found = np.searchsorted(key[: self.query.size], key[self.query.size :])
        return found.astype(np.int32)


def group_rows(
    query: NDArray[np.int32], labels: NDArray[Any], weight: FloatArray
) -> tuple[CrossingGroups, NDArray[np.int32]]:
    """Count a block's rows by query and label, and sum their weights, (S, n_rows).

    Return the groups and the number of each row's group.
    """
    sides = np.stack((weight[0], weight[-1])) > 0 if len(weight) else np.ones((2, query.size))
    return _grouped(query, labels, np.vstack((np.ones((1, query.size)), sides, weight)))


def merge_groups(parts: list[CrossingGroups]) -> CrossingGroups:
    """Return the groups of all blocks together."""
    return _grouped(*(np.concatenate(each, axis=-1) for each in zip(*parts, strict=True)))[0]


def _grouped(
    query: NDArray[np.int32], labels: NDArray[Any], totals: FloatArray
) -> tuple[CrossingGroups, NDArray[np.int32]]:
    """Return the sums of each line of `totals`, (n_totals, n), by query and label, and the groups.

    O(n) for few labels that are whole numbers, else O(n log n).
    """
    distinct, level = level_codes(labels)
    keys, key = level_codes(query.astype(np.int64) * distinct.size + level)
    of_query, of_label = np.divmod(keys.astype(np.int64), max(1, distinct.size))
    sums = np.array([np.bincount(key, each, keys.size) for each in totals])
    return CrossingGroups(of_query.astype(np.int32), distinct[of_label], sums), key


def crossing_pairs(
    groups: CrossingGroups, graph: Any, reduction: str
) -> tuple[CrossingQueries | None, int]:
    """Return the pairs between groups, if there are any, and the exact number of pairs of rows."""
    graph = present_graph(graph, groups.label)
    if graph is None:
        return None, 0
    weight = groups.totals[3:] if len(groups.totals) > 3 else groups.totals[:1]
    names = ("sample_weight",) if len(weight) == 1 else ("winner_weight", "loser_weight")
    weights = dict(zip(names, weight, strict=True))
    levels = Levels.build(groups.label, groups.query, graph=graph, **weights)
    _, winners, losers = groups.counts[:, levels.row_of]
    n_pairs = int(pairs_by_query(winners, losers, levels.query_group, levels.edges).sum())
    if not n_pairs:
        return None, 0
    levels = scaled_by(levels, reduction)
    scale = np.where(levels.query_pair_weight > 0.0, levels.pair_scale, 0.0)
    return CrossingQueries(levels.query_group, levels.edges, scale, levels.total_weight), n_pairs


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
