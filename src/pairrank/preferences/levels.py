"""Levels: preferences that follow from labels, queries and an order graph."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.preferences._codes import (
    counting_order,
    group_totals,
    groups_of,
    level_codes,
    no_pairs,
    pairs_by_query,
    query_codes,
    query_of_groups,
    scale_to,
    wins_of_groups,
)
from pairrank.preferences.order_graph import Graph, OrderGraph, as_graph
from pairrank.preferences.pairs import Pairs
from pairrank.preferences.roles import Roles, weights_of_rows

_PAIRS_PER_EDGE = 16


@dataclass(frozen=True, eq=False)
class Levels:
    """Labelled rows in queries under an order graph, laid out by query, then by level.

    Build it with `Levels.build`. A *group* is the rows of one query at one level. In the layout the
    rows of a group are contiguous, and so are the groups of a query, lowest level first.

    Attributes
    ----------
    n_rows : int
        All rows of the input; rows of weight 0 count here but are not in the layout.
    row_of : int32 array of shape (n_kept,)
        The user's row at each place of the layout.
    labels : array of shape (n_levels,)
        The sorted distinct labels; a level is an index into it.
    group_start : int64 array of shape (n_groups + 1,)
        Where each group's rows begin in the layout.
    group_level : int32 array of shape (n_groups,)
        Each group's level.
    query_group : int64 array of shape (n_queries + 1,)
        Where each query's groups begin.
    edges : int64 array of shape (n_edges, 2), or None
        The sorted (low group, high group) that the graph joins. None: the graph is full, and every
        higher group of a query is preferred to every lower one.
    weight : float64 array of shape (n_kept,), or None
        Sample weights in layout order; without `roles` a pair weighs the product of both.
    pair_scale : float or float64 array of shape (n_queries,)
        A factor on every pair, or on the pairs of each query; see `reduced`.
    roles : Roles, or None
        Rows' weights as winners and as losers in layout order: a pair (i over j) weighs
        winner_i loser_j. None: both are `weight`.
    """

    n_rows: int
    row_of: NDArray[np.int32]
    labels: NDArray[Any]
    group_start: NDArray[np.int64]
    group_level: NDArray[np.int32]
    query_group: NDArray[np.int64]
    edges: NDArray[np.int64] | None
    weight: FloatArray | None
    pair_scale: float | FloatArray
    roles: Roles | None = None

    @classmethod
    def build(
        cls,
        y: NDArray[Any],
        qid: NDArray[Any] | None = None,
        *,
        graph: Graph = "full",
        sample_weight: FloatArray | None = None,
        winner_weight: FloatArray | None = None,
        loser_weight: FloatArray | None = None,
    ) -> Levels:
        """Lay rows out by query and level.

        `y` (n_rows,) holds finite numbers, or text under an OrderGraph; `qid` (n_rows,) any
        hashable identifiers, in any order (None: one query). Weights (n_rows,) are non-negative;
        `winner_weight` and `loser_weight` multiply `sample_weight` in the pairs that a row wins,
        and in those that it loses. Rows without weight in both roles are dropped.

        Costs O(m) for whole-number labels of small span, else O(m log m); an explicit graph adds
        O(edges), and O(k log n) per group, where k is the smaller, n the larger of the groups of
        its query and the labels above its own. A PairrankError is raised for 2**31 rows or more,
        for labels that are text without an OrderGraph, and for products of weights out of range.
        """
        graph = as_graph(graph)
        if y.size >= 2**31:
            raise PairrankError(f"{y.size} rows are too many: at most 2**31 - 1 can be ranked")
        if y.dtype.kind not in "biuf" and not isinstance(graph, OrderGraph):
            raise PairrankError(
                "labels that are text have no order of their own: give graph=OrderGraph([...])"
            )
        n_rows = y.size
        sample_weight, roles = weights_of_rows(sample_weight, winner_weight, loser_weight)
        kept = None
        if sample_weight is not None and not (sample_weight > 0).all():
            kept = np.flatnonzero(sample_weight > 0).astype(np.int32)
            y, qid = y[kept], None if qid is None else qid[kept]
        labels, level_of = level_codes(y)
        if qid is None:
            query_of, n_queries = None, 1 if y.size else 0
        else:
            identifiers, query_of = query_codes(qid)
            n_queries = identifiers.size
        order, starts = counting_order(level_of, labels.size)
        if query_of is None:
            group_level = np.arange(labels.size, dtype=np.int32)
            group_start, query_group = starts, np.array([0, labels.size][: n_queries + 1], np.int64)
        else:
            order, _ = counting_order(query_of, n_queries, order)
            group_start, group_level, query_group = groups_of(level_of, query_of, order, n_queries)
        row_of = order if kept is None else kept[order]
        weight = None if sample_weight is None else sample_weight[row_of].astype(np.float64)
        roles = None if roles is None else roles.at(row_of)
        edges = _edges(graph, labels, group_level, query_group)
        return cls(
            n_rows, row_of, labels, group_start, group_level, query_group, edges,
            weight, 1.0, roles,
        )  # fmt: skip

    @property
    def n_queries(self) -> int:
        """The number of queries kept, including those without a preference."""
        return self.query_group.size - 1

    @property
    def query_start(self) -> NDArray[np.int64]:
        """Where each query's rows begin in the layout, (n_queries + 1,)."""
        return self.group_start[self.query_group]

    @property
    def sides(self) -> tuple[FloatArray | None, FloatArray | None]:
        """Rows' weights as winners and as losers in layout order, (n_kept,); None: 1 each."""
        return (self.weight, self.weight) if self.roles is None else self.roles

    @property
    def row_weight(self) -> float:
        """W, the total weight of the rows kept."""
        return float(self.row_of.size if self.weight is None else self.weight.sum())

    @property
    def n_pairs(self) -> int:
        """The number of preferences of positive weight, exact."""
        return self._counts[0]

    @property
    def query_pair_weight(self) -> FloatArray:
        """The total pair weight of each query, before `pair_scale`, (n_queries,)."""
        return self._counts[1]

    @functools.cached_property
    def _counts(self) -> tuple[int, FloatArray]:
        """The number of preferences, and their weight by query.

        O(groups + edges), and O(rows) with weights.
        """
        graph, sizes = (self.query_group, self.edges), np.diff(self.group_start)
        winners = losers = sizes
        if self.roles is not None and sizes.size:
            winners, losers = (
                np.add.reduceat((role > 0).astype(np.int64), self.group_start[:-1])
                for role in self.roles
            )
        counts = pairs_by_query(winners, losers, *graph)
        side, query = self.sides[0], query_of_groups(self.query_group)
        if side is None:
            return int(counts.sum()), counts.astype(np.float64)
        won, _ = wins_of_groups(self.group_start, *graph, self.sides)
        won *= group_totals(sizes, self.group_start, side)
        return int(counts.sum()), np.bincount(query, won, self.n_queries).astype(np.float64)

    @property
    def pair_weight(self) -> float:
        """T, the total weight of the preferences."""
        return float(self.query_pair_weight.sum())

    @property
    def total_weight(self) -> float:
        """The weight of all preferences, scaled by `pair_scale`."""
        return float(np.sum(self.pair_scale * self.query_pair_weight))

    def wins_and_losses(self) -> tuple[FloatArray, FloatArray]:
        """Return the weight of the preferences that each row wins, and of those that it loses.

        Both are in the user's order, (n_rows,), and scaled by `pair_scale`; O(m + edges).
        """
        scale = np.broadcast_to(self.pair_scale, self.n_queries)[query_of_groups(self.query_group)]
        totals = wins_of_groups(self.group_start, self.query_group, self.edges, self.sides)
        sizes = np.diff(self.group_start)
        wins, losses = (np.repeat(scale * each, sizes) for each in totals)
        for values, weight in zip((wins, losses), self.sides, strict=True):
            if weight is not None:
                values *= weight
        return self.from_layout(wins), self.from_layout(losses)

    def concordance(self, scores: FloatArray) -> NDArray[Any]:
        """Return (concordant, tied, discordant) of each query, as counts or as sums of weights.

        `scores` (n_rows,) are in the user's order. Costs O(m log m), and with edges O(rows of both
        ends) per edge.
        """
        from pairrank.compiled.concordance import count_concordant

        groups = (self.group_start, self.query_group, self.edges)
        loser = None if self.roles is None else self.roles.loser
        return count_concordant(scores[self.row_of], self.sides[0], *groups, loser_weight=loser)

    def from_layout(self, values: FloatArray) -> FloatArray:
        """Return one value per row of the layout in the user's order; dropped rows get 0."""
        result = np.zeros(self.n_rows)
        result[self.row_of] = values
        return result

    def parts(self, n_rows: int) -> list[Levels]:
        """Cut successive queries into parts of about `n_rows` rows, or one larger query; O(rows).

        Parts keep the user's rows and their numbers; the borders depend on the rows only.
        """
        starts = self.query_start
        first = np.flatnonzero(np.diff(starts[:-1] // n_rows, prepend=-1))
        if first.size < 2:
            return [self]
        ends = np.append(first[1:], self.n_queries)
        return [
            self.part(low, high) for low, high in zip(first.tolist(), ends.tolist(), strict=True)
        ]

    def part(self, low: int, high: int) -> Levels:
        """Return the queries from `low` to `high` - 1; rows keep the user's numbers."""
        first, last = self.query_group[low], self.query_group[high]
        rows, edges = slice(*self.group_start[[first, last]]), self.edges
        if edges is not None:
            edges = edges[slice(*np.searchsorted(edges[:, 0], (first, last)))] - first
        weight = None if self.weight is None else self.weight[rows]
        roles = None if self.roles is None else self.roles.at(rows)
        group_start = self.group_start[first : last + 1] - self.group_start[first]
        query_group = self.query_group[low : high + 1] - first
        scale = self.pair_scale
        if np.ndim(scale):
            scale = np.asarray(scale)[low:high]
        return Levels(
            self.n_rows, self.row_of[rows], self.labels, group_start,
            self.group_level[first:last], query_group, edges, weight, scale, roles,
        )  # fmt: skip

    def require_pairs(self) -> None:
        """Raise a NoPairsError that says why, where there is no preference to learn from."""
        if not self.n_pairs:
            raise no_pairs(self.row_of.size, self.n_queries, self.labels, self.roles is not None)

    def reduced(self, reduction: str) -> Levels:
        """Return the same preferences with the pair scale of a reduction.

        ``"rows"`` (the meaning of ``"auto"``) multiplies every pair by W/T, ``"query"`` the pairs
        of query q by W/(n_queries T_q), ``"sum"`` by 1. W is the total row weight, T the total pair
        weight, T_q the pair weight of query q.
        """
        if reduction == "sum":
            return replace(self, pair_scale=1.0)
        if reduction != "query":
            return replace(self, pair_scale=scale_to(self.row_weight, self.pair_weight))
        scale = scale_to(self.row_weight / max(1, self.n_queries), self.query_pair_weight)
        return replace(self, pair_scale=scale)

    def compact(self) -> Levels | Pairs:
        """Return the same preferences as Pairs where a graph joins groups of few rows.

        A pair sum spends more on an edge than on a comparison, so up to 16 comparisons per edge are
        listed. Costs O(edges), and O(comparisons) where they are listed.
        """
        if self.edges is None:
            return self
        n_pairs = np.diff(self.group_start)[self.edges].prod(axis=1).sum()
        return self.listed() if n_pairs <= _PAIRS_PER_EDGE * len(self.edges) else self

    def listed(self) -> Pairs:
        """Return the same preferences as Pairs; O(edges + preferences)."""
        starts, sizes = self.group_start, np.diff(self.group_start)
        query = query_of_groups(self.query_group)
        if self.edges is None:
            first = self.query_start[query]
            counts, winners, n_winners = starts[:-1] - first, starts[:-1], sizes
        else:
            low, high = self.edges.T
            query, first, counts = query[low], starts[low], sizes[low]
            winners, n_winners = starts[high], sizes[high]
        ends = np.cumsum(counts * n_winners)
        block = np.repeat(np.arange(ends.size), counts * n_winners)
        within = np.arange(block.size) - (ends - counts * n_winners)[block]
        in_high, in_low = np.divmod(within, counts[block])
        winner, loser = winners[block] + in_high, first[block] + in_low
        pairs = Pairs(self.row_of[winner], self.row_of[loser], n_rows=self.n_rows)
        wins, loses = self.sides
        if wins is not None and loses is not None:
            pairs.weight = wins[winner] * loses[loser]
        if np.ndim(self.pair_scale) == 0:
            pairs.pair_scale = float(self.pair_scale)
        else:
            scale = np.asarray(self.pair_scale)[query][block]
            pairs.weight = scale if pairs.weight is None else scale * pairs.weight
        pairs = pairs if self.roles is None else pairs.of_positive_weight()
        pairs.row_weight = self.row_weight
        return pairs


def _edges(
    graph: Graph,
    labels: NDArray[Any],
    group_level: NDArray[np.int32],
    query_group: NDArray[np.int64],
) -> NDArray[np.int64] | None:
    if isinstance(graph, OrderGraph):
        return _explicit_edges(graph, labels, group_level, query_group)
    if graph == "full":
        return None
    low = np.arange(max(group_level.size - 1, 0), dtype=np.int64)
    low = low[~np.isin(low + 1, query_group)]
    return np.column_stack((low, low + 1))


def _explicit_edges(
    graph: OrderGraph,
    labels: NDArray[Any],
    group_level: NDArray[np.int32],
    query_group: NDArray[np.int64],
) -> NDArray[np.int64]:
    level_of = {label: level for level, label in enumerate(labels.tolist())}
    levels = np.array([level_of.get(label, -1) for label in graph.labels])
    if (levels < 0).any():
        absent = (repr(graph.labels[at]) for at in np.flatnonzero(levels < 0))
        warnings.warn(
            f"the order graph names labels that are absent from y: {', '.join(sorted(absent))}; "
            "edges to them are ignored: check their spelling, or leave them out",
            PairrankWarning,
            stacklevel=2,
        )
    from pairrank.compiled.layout import joined_groups

    low, high = levels[graph.codes[(levels[graph.codes] >= 0).all(axis=1)]].T
    order = np.lexsort((high, low))
    start = np.searchsorted(low[order], np.arange(labels.size + 1))
    joined = (group_level, query_group, start, high[order])
    edges = np.empty((joined_groups(*joined, np.empty((0, 2), dtype=np.int64)), 2), dtype=np.int64)
    joined_groups(*joined, edges)
    return edges
