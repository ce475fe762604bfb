"""Levels: preferences that follow from labels, queries and an order graph."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank.exceptions import NoPairsError, PairrankError, PairrankWarning
from pairrank.preferences._codes import level_codes, query_codes
from pairrank.preferences._counts import (
    count_pairs,
    group_totals,
    query_of_groups,
    totals_around,
)
from pairrank.preferences.order_graph import Graph, OrderGraph, as_graph

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Levels:
    """Labelled rows in queries under an order graph, laid out by query, then by level.

    Build it with `Levels.build`. A *group* is the rows of one query at one level; in the layout
    the rows of a group stand together, the groups of a query too, lowest level first.

    Attributes
    ----------
    n_rows : int
        Rows as the user counts them; rows of weight 0 are among them but not in the layout.
    row_of : int32 array of shape (n_kept,)
        The user's row at each place of the layout.
    in_order : bool
        Whether the layout is the user's order, no row left out.
    labels : array of shape (n_levels,)
        The sorted distinct labels; a level is an index into it.
    group_start : int64 array of shape (n_groups + 1,)
        Where each group's rows begin in the layout.
    group_level : int32 array of shape (n_groups,)
        Each group's level.
    query_group : int64 array of shape (n_queries + 1,)
        Where each query's groups begin.
    edges : int64 array of shape (n_edges, 2), or None
        (low group, high group) that the graph joins, sorted; None where the graph is
        full: then every higher group of a query is preferred to every lower one.
    weight : float64 array of shape (n_kept,), or None
        Row weights in layout order; a pair weighs the product of its rows' weights.
    pair_scale : float or float64 array of shape (n_queries,)
        A factor on every pair of all queries, or of each; see `reduced`.
    n_pairs : int
        The number of preferences, exact.
    query_pair_weight : float64 array of shape (n_queries,)
        The total pair weight of each query, before `pair_scale`.
    """

    n_rows: int
    row_of: NDArray[np.int32]
    in_order: bool
    labels: NDArray[Any]
    group_start: NDArray[np.int64]
    group_level: NDArray[np.int32]
    query_group: NDArray[np.int64]
    edges: NDArray[np.int64] | None
    weight: FloatArray | None
    pair_scale: float | FloatArray
    n_pairs: int
    query_pair_weight: FloatArray

    @classmethod
    def build(
        cls,
        y: NDArray[Any],
        qid: NDArray[Any] | None = None,
        *,
        graph: Graph = "full",
        sample_weight: FloatArray | None = None,
    ) -> Levels:
        """Lay rows out by query and level.

        Parameters
        ----------
        y : array of shape (n_rows,)
            Labels: finite numbers, or text where `graph` is an OrderGraph.
        qid : array of shape (n_rows,), optional
            Any hashable query identifiers, in any order; None: all rows are one query.
        graph : "full", "chain" or OrderGraph
            Which levels are preferred to which.
        sample_weight : array of shape (n_rows,), optional
            Non-negative row weights; rows of weight 0 are dropped.

        Raises
        ------
        PairrankError
            If there are 2**31 rows or more, or labels are text without an OrderGraph.

        Notes
        -----
        Costs O(m) for whole-number labels of small span, else O(m log m); an explicit graph adds
        O(edges * groups).
        """
        graph = as_graph(graph)
        if y.size >= 2**31:
            raise PairrankError(f"{y.size} rows are too many: at most 2**31 - 1 can be ranked")
        if y.dtype.kind not in "biuf" and not isinstance(graph, OrderGraph):
            raise PairrankError(
                "labels that are text have no order of their own: give graph=OrderGraph([...])"
            )
        kept = _kept_rows(sample_weight)
        if kept is not None:
            y, qid = y[kept], None if qid is None else qid[kept]
        labels, level_of = level_codes(y)
        if qid is None:
            query_of, n_queries = None, 1 if y.size else 0
        else:
            identifiers, query_of = query_codes(qid)
            n_queries = identifiers.size
        order = _layout_order(level_of, labels.size, query_of, n_queries)
        group_start, group_level, query_group = _groups(level_of, query_of, order, n_queries)
        row_of = order if kept is None else kept[order]
        weight = None if sample_weight is None else sample_weight[row_of].astype(np.float64)
        n_rows = y.size if sample_weight is None else sample_weight.size
        in_order = bool(kept is None and _is_ascending(row_of))
        edges = _edges(graph, labels, group_level, query_group)
        n_pairs, query_pair_weight = count_pairs(group_start, query_group, edges, weight)
        return cls(
            n_rows, row_of, in_order, labels, group_start, group_level, query_group, edges,
            weight, 1.0, n_pairs, query_pair_weight,
        )  # fmt: skip

    @property
    def n_queries(self) -> int:
        """The number of queries kept, those without a preference too."""
        return self.query_group.size - 1

    @property
    def query_start(self) -> NDArray[np.int64]:
        """Where each query's rows begin in the layout, (n_queries + 1,)."""
        return self.group_start[self.query_group]

    @property
    def row_weight(self) -> float:
        """W, the total weight of the rows kept."""
        return float(self.row_of.size if self.weight is None else self.weight.sum())

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

        In the user's order, (n_rows,), scaled by `pair_scale`; O(m + edges).
        """
        totals = group_totals(np.diff(self.group_start), self.group_start, self.weight)
        if self.edges is None:
            wins, losses = totals_around(totals, self.query_group)
        else:
            low, high = self.edges.T
            wins = np.bincount(high, totals[low], totals.size).astype(np.float64)
            losses = np.bincount(low, totals[high], totals.size).astype(np.float64)
        scale = np.broadcast_to(self.pair_scale, self.n_queries)[query_of_groups(self.query_group)]
        return self._by_row(wins * scale), self._by_row(losses * scale)

    def _by_row(self, of_groups: FloatArray) -> FloatArray:
        """Bring a value a group to the rows, times their weight, in the user's order."""
        by_row = np.repeat(of_groups, np.diff(self.group_start))
        return self.from_layout(by_row if self.weight is None else by_row * self.weight)

    def from_layout(self, values: FloatArray) -> FloatArray:
        """Bring a value a row of the layout back to the user's order; dropped rows get 0."""
        if self.in_order:
            return values
        from pairrank.compiled.layout import scatter

        result = np.zeros(self.n_rows)
        scatter(values, self.row_of, np.array([[0, self.row_of.size]]), 1.0, result)
        return result

    def require_pairs(self) -> None:
        """Raise a NoPairsError that says why, where there is no preference to learn from."""
        if self.n_pairs:
            return
        if self.row_of.size == 1:
            raise NoPairsError(
                "there is 1 sample of positive weight, so nothing to compare: give more"
            )
        if self.labels.size == 1:
            raise NoPairsError(
                f"y holds one class only ({self.labels[0]}), so no row is preferred to another: "
                "give rows of two labels at least"
            )
        raise NoPairsError(
            f"no preference among {self.row_of.size} rows in {self.n_queries} queries: "
            "every query has one class only, or the graph joins none of its labels"
        )

    def reduced(self, reduction: str) -> Levels:
        """Return the same preferences, scaled as `reduction` says.

        ``"rows"`` (which is ``"auto"``) multiplies every pair by W/T, ``"query"`` those of query q
        by W/(n_queries T_q), ``"sum"`` by 1: W is the total row weight, T the total pair weight,
        T_q that of a query.
        """
        if reduction == "sum":
            return replace(self, pair_scale=1.0)
        if reduction != "query":
            return replace(self, pair_scale=self.row_weight / self.pair_weight)
        total = self.query_pair_weight
        mean = self.row_weight / self.n_queries
        scale = np.divide(mean, total, out=np.zeros_like(total), where=total > 0)
        return replace(self, pair_scale=scale)


def _kept_rows(sample_weight: FloatArray | None) -> NDArray[np.int32] | None:
    if sample_weight is None or (sample_weight > 0).all():
        return None
    return np.flatnonzero(sample_weight > 0).astype(np.int32)


def _is_ascending(rows: NDArray[np.int32]) -> bool:
    return rows.size == 0 or bool((rows[1:] > rows[:-1]).all())


def _layout_order(
    level_of: NDArray[np.int32], n_levels: int, query_of: NDArray[np.int32] | None, n_queries: int
) -> NDArray[np.int32]:
    from pairrank.compiled.layout import counting_order

    order = counting_order(level_of, n_levels, np.empty(0, dtype=np.int32))
    return order if query_of is None else counting_order(query_of, n_queries, order)


def _groups(
    level_of: NDArray[np.int32],
    query_of: NDArray[np.int32] | None,
    order: NDArray[np.int32],
    n_queries: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    level = level_of[order]
    changes = np.empty(order.size, dtype=bool)
    changes[:1] = True
    np.not_equal(level[1:], level[:-1], out=changes[1:])
    if query_of is not None:
        query = query_of[order]
        changes[1:] |= query[1:] != query[:-1]
    starts = np.flatnonzero(changes)
    group_query = np.zeros(starts.size, dtype=np.int64) if query_of is None else query[starts]
    query_group = np.searchsorted(group_query, np.arange(n_queries + 1))
    return np.append(starts, order.size), level[starts], query_group.astype(np.int64)


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
    level_of_label = {label: level for level, label in enumerate(labels.tolist())}
    absent = {end for edge in graph.edges for end in edge if end not in level_of_label}
    if absent:
        names = ", ".join(sorted(map(repr, absent)))
        warnings.warn(
            f"the order graph names labels that are absent from y: {names}; its edges to them say "
            "nothing here: check how they are written, or leave them out",
            PairrankWarning,
            stacklevel=2,
        )
    query_of_group = np.repeat(np.arange(query_group.size - 1), np.diff(query_group))
    key = query_of_group * np.int64(labels.size) + group_level
    found = []
    for low, high in graph.edges:
        if low in absent or high in absent:
            continue
        lows = np.flatnonzero(group_level == level_of_label[low])
        wanted = query_of_group[lows] * np.int64(labels.size) + level_of_label[high]
        at = np.minimum(np.searchsorted(key, wanted), key.size - 1)
        hit = key[at] == wanted
        found.append(np.column_stack((lows[hit], at[hit])))
    edges = np.concatenate(found) if found else np.empty((0, 2), dtype=np.int64)
    return edges[np.lexsort((edges[:, 1], edges[:, 0]))]
