"""Layouts of blocks for ConvexHullRanker: rows by class, and the graph of all classes' limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import Passes, RowBlock
from pairrank.blocks.catalog import Catalog
from pairrank.blocks.groups import crossing_levels, group_rows, present_graph
from pairrank.blocks.layouts import LayoutPlan, counted_groups, crossing_weights, split_rows
from pairrank.exceptions import PairrankError
from pairrank.objective.hull_objective import edges_of
from pairrank.preferences import Levels
from pairrank.preferences._codes import no_pairs, query_codes

MOST_FEATURES = 2000
MOST_BYTES = 5e8
"""The most bytes of sums by class and feature that an evaluation adds up."""


@dataclass(frozen=True, eq=False)
class HullLayout:
    """The rows of a block in classes with an edge, class by class.

    The `n_own` classes of whole queries are numbered within the block. Crossing ones have numbers
    among the crossing classes, and come after those of the block in `group`.
    """

    rows: NDArray[np.int32]
    group: NDArray[np.int64]
    """The class of each row, ascending: below `n_own` its own, else n_own + a crossing class."""
    weight: FloatArray
    n_own: int


class HullReport(NamedTuple):
    """What a block reports of its whole queries."""

    edges: NDArray[np.int64]
    """(low class, high class), numbered within the block."""
    labels: NDArray[Any]
    """Of its classes with an edge."""
    queries: NDArray[Any]
    n_pairs: int
    n_ties: int
    bounds: float
    """The weight of its rows in all classes with an edge, once per limit."""
    weight: float


@dataclass(frozen=True, eq=False)
class CrossingClasses:
    """The classes with an edge of queries that cross blocks."""

    query: NDArray[np.int32]
    label: NDArray[Any]
    edges: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PreparedHull:
    """Blocks that are laid out, and the graph of limits; the classes of crossing queries are last.

    `first` has the number of each block's first class, (n_blocks + 1,).
    """

    catalog: Catalog
    first: NDArray[np.int64]
    edges: NDArray[np.int64]
    bounded: NDArray[np.bool_]
    labels: NDArray[Any]
    queries: NDArray[Any]
    n_pairs: int
    n_ties: int
    weight: float
    """That of the rows in classes with an edge."""
    bounds: float
    """The same, once per limit of a row."""
    n_targets: int = 1


def prepare_hull(passes: Passes, catalog: Catalog, graph: Any) -> PreparedHull:
    """Lay out every block for limits; raise a NoPairsError if no class has an edge.

    A PairrankError says that there are too many features, or classes times features.
    """
    if catalog.n_features > MOST_FEATURES:
        raise PairrankError(
            f"ConvexHullRanker takes at most {MOST_FEATURES} features of rows in blocks, got "
            f"{catalog.n_features}: use RankSVM, or give it rows in memory"
        )
    n_weights = int(catalog.has_weight)
    plan = LayoutPlan(graph, "sum", 1.0, catalog.crossing, n_weights)
    crossing, n_pairs, n_ties, totals = None, 0, 0, np.zeros(0)
    if catalog.n_crossing:
        groups = counted_groups(passes, plan)
        n_ties = groups.n_ties
        levels, n_pairs = crossing_levels(groups, graph)
        if levels is not None and n_pairs:
            crossing, totals = _crossing_classes(levels, groups)
    shared = _Shared(plan, crossing)
    reports = passes.prepare(lay_out_hull, shared)
    own = [report.labels.size for report in reports]
    first = np.concatenate(([0], np.cumsum(own))).astype(np.int64)
    edges = [report.edges + start for report, start in zip(reports, first[:-1], strict=True)]
    labels, queries = [each.labels for each in reports], [each.queries for each in reports]
    weight = sum(report.weight for report in reports)
    bounds = sum(report.bounds for report in reports)
    if crossing is not None:
        edges.append(crossing.edges + first[-1])
        labels.append(crossing.label)
        queries.append(catalog.crossing[crossing.query])
        weight += float(totals.sum())
        bounds += float((totals * _bounded(crossing.edges, totals.size)).sum())
    n_pairs += sum(report.n_pairs for report in reports)
    if not n_pairs:
        known = np.arange(2) if catalog.labels is None else catalog.labels
        raise no_pairs(catalog.n_kept, catalog.n_queries, known)
    joined = np.concatenate(edges)
    n_groups = int(sum(each.size for each in labels))
    _refuse_too_many(n_groups, catalog.n_features)
    return PreparedHull(
        catalog=catalog,
        first=first,
        edges=joined,
        bounded=_bounded(joined, n_groups),
        labels=np.concatenate([each for each in labels if each.size]),
        queries=np.concatenate([each for each in queries if each.size]),
        n_pairs=n_pairs,
        n_ties=n_ties + sum(report.n_ties for report in reports),
        weight=weight,
        bounds=bounds,
    )


class _Shared(NamedTuple):
    plan: LayoutPlan
    crossing: CrossingClasses | None


def lay_out_hull(index: int, block: RowBlock, shared: _Shared) -> tuple[HullLayout, HullReport]:
    """Return a block's layout and its report."""
    assert block.y is not None
    rows = split_rows(block, shared.plan.crossing)
    weight = block.sample_weight
    parts = [_own_rows(block, rows.of_whole, shared.plan.graph)]
    own, report = parts[0]
    if shared.crossing is None or not rows.places.size:
        return own, report
    number = _numbers_of(shared.crossing, rows.query, block.y[rows.places])
    known = number >= 0
    order = np.argsort(number[known], kind="stable")
    places = rows.places[known][order]
    by_row = crossing_weights(block, places, 0 if weight is None else 1)
    both = HullLayout(
        np.concatenate((own.rows, places)),
        np.concatenate((own.group, own.n_own + number[known][order])),
        np.concatenate((own.weight, by_row[0] if len(by_row) else np.ones(places.size))),
        own.n_own,
    )
    return both, report


def _own_rows(
    block: RowBlock, of_whole: NDArray[np.bool_], graph: Any
) -> tuple[HullLayout, HullReport]:
    """Return the layout of whole queries, and the report."""
    assert block.y is not None
    none = np.empty(0, dtype=np.int64)
    empty = HullLayout(none.astype(np.int32), none, np.empty(0), 0)
    report = HullReport(none.reshape(0, 2), block.y[:0], none, 0, 0, 0.0, 0.0)
    if not of_whole.any():
        return empty, report
    present = present_graph(graph, block.y[of_whole])
    if present is None:
        query_of = np.zeros(block.y.size, np.int32)
        if block.qid is not None:
            query_of = query_codes(block.qid)[1]
        unweighted = np.empty((0, int(np.count_nonzero(of_whole))))
        ties = group_rows(query_of[of_whole], block.y[of_whole], unweighted).n_ties
        return empty, report._replace(n_ties=ties)
    weight = block.sample_weight
    if not of_whole.all():
        weight = np.where(of_whole, 1.0 if weight is None else weight, 0.0)
    levels = Levels.build(block.y, block.qid, graph=present, sample_weight=weight)
    sizes = np.diff(levels.group_start)
    n_ties = int((sizes * (sizes - 1) // 2).sum())
    if not levels.n_pairs:
        return empty, report._replace(n_ties=n_ties)
    edges = edges_of(levels)
    groups = np.unique(edges)
    taken = np.isin(np.repeat(np.arange(sizes.size), sizes), groups)
    group = np.repeat(np.arange(groups.size), sizes[groups])
    by_row = np.ones(group.size) if levels.weight is None else levels.weight[taken]
    numbered = np.searchsorted(groups, edges)
    layout = HullLayout(levels.row_of[taken], group, by_row, groups.size)
    starts = levels.row_of[levels.group_start[groups]]
    n_limits = _bounded(numbered, groups.size).sum(axis=0)
    return layout, HullReport(
        edges=numbered,
        labels=block.y[starts],
        queries=none[starts * 0] if block.qid is None else block.qid[starts],
        n_pairs=levels.n_pairs,
        n_ties=n_ties,
        bounds=float(by_row @ n_limits[group]),
        weight=float(by_row.sum()),
    )


def _crossing_classes(levels: Levels, groups: Any) -> tuple[CrossingClasses, FloatArray]:
    """Return the crossing classes with an edge, and the weight of each; levels are over groups."""
    edges = edges_of(levels)
    used = np.unique(edges)
    at = levels.row_of[levels.group_start[used]]
    total = groups.weight[0][at] if len(groups.weight) else groups.n_rows[at].astype(np.float64)
    found = CrossingClasses(groups.query[at], groups.label[at], np.searchsorted(used, edges))
    return found, total


def _numbers_of(
    classes: CrossingClasses, query: NDArray[np.int32], labels: NDArray[Any]
) -> NDArray[np.int64]:
    """Return the number of each row's class, -1 where it has no edge."""
    known, label = np.unique(np.concatenate((classes.label, labels)), return_inverse=True)
    key = np.concatenate((classes.query, query)).astype(np.int64) * known.size + label
    wanted, given = key[: classes.query.size], key[classes.query.size :]
    order = np.argsort(wanted)
    place = np.minimum(np.searchsorted(wanted, given, sorter=order), wanted.size - 1)
    number = order[place]
    return np.where(wanted[number] == given, number, -1)


def _bounded(edges: NDArray[np.int64], n_groups: int) -> NDArray[np.bool_]:
    """Return whether each group has a lower limit (row 0) and an upper one (row 1)."""
    bounded = np.zeros((2, n_groups), dtype=bool)
    bounded[0, edges[:, 1]] = True
    bounded[1, edges[:, 0]] = True
    return bounded


def _refuse_too_many(n_groups: int, n_features: int) -> None:
    size = 8.0 * n_groups * (4 * n_features + 10)
    if size > MOST_BYTES:
        most = int(MOST_BYTES / (8 * (4 * n_features + 10)))
        raise PairrankError(
            f"y has {n_groups:,} classes with limits over all queries, and {n_features} features "
            f"allow at most {most:,} for rows in blocks ({size / 1e9:.1f} GB per pass): use "
            "RankSVM, or bins of y (numpy.digitize)"
        )
