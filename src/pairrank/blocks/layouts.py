"""The layouts of blocks: whole queries as preferences, crossing rows as arrays; exact totals."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import BlockLayout, Passes, RowBlock
from pairrank.blocks.catalog import Catalog, kept_rows, query_numbers
from pairrank.preferences import Levels, OrderGraph
from pairrank.preferences._codes import no_pairs, pairs_by_query, query_codes, scale_to
from pairrank.preferences.roles import weights_of_rows


@dataclass(frozen=True, eq=False)
class LayoutPlan:
    """How blocks are laid out: what every block must know of all of them."""

    graph: Any
    """"full", "chain" or an OrderGraph; None: differences of labels."""
    reduction: str
    query_share: float
    """W over the number of queries, for the reduction "query"."""
    labels: NDArray[Any] | None
    crossing: NDArray[Any]
    n_weights: int
    """The number of weights of a row, 0 to 2."""
    compacts: bool
    """Whether few comparisons are listed; see `Levels.compact`."""


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


class Report(NamedTuple):
    """What a block reports of its layout."""

    n_pairs: int
    pair_weight: float
    """The weight of its whole queries' pairs, as scaled by the layout."""
    unscaled_weight: float
    """The same before the scale, in T."""
    n_ties: int
    crossing: CrossingGroups


@dataclass(frozen=True, eq=False)
class Prepared:
    """Blocks that are laid out: the catalog with exact totals of pairs."""

    catalog: Catalog
    graph: Any
    reduction: str
    n_pairs: int
    n_ties: int
    pair_weight: float
    """T."""
    scale: float
    """The factor on all pairs that the reduction asks for, beside scales in the layouts."""
    total_weight: float
    """The weight of all pairs, as scaled by the reduction."""
    crossing: Levels | None
    """The preferences of crossing queries over their groups, in the order of `groups`: a group is a
    row that weighs its rows' total. Its `pair_scale` is the layouts'. None: no query crosses."""
    groups: CrossingGroups
    """The groups of all blocks together."""


def prepare(
    passes: Passes,
    catalog: Catalog,
    *,
    graph: Any = "full",
    reduction: str = "rows",
    compacts: bool = True,
) -> Prepared:
    """Lay out every block for a loss over preferences; raise a NoPairsError if there are none.

    The pair scale is that of `Levels.reduced`. With `compacts` few comparisons are listed.
    """
    share = catalog.row_weight / max(1, catalog.n_queries)
    n_weights = 2 if catalog.has_roles else int(catalog.has_weight)
    _warn_of_absent(graph, catalog)
    plan = LayoutPlan(
        graph, reduction, share, catalog.labels, catalog.crossing, n_weights, compacts
    )
    reports = passes.prepare(lay_out, plan)
    groups = merge_groups([report.crossing for report in reports])
    crossing, n_crossing_pairs = crossing_levels(groups, graph)
    n_pairs = sum(report.n_pairs for report in reports) + n_crossing_pairs
    if not n_pairs:
        labels = np.arange(2) if catalog.labels is None else catalog.labels
        raise no_pairs(catalog.n_kept, catalog.n_queries, labels, catalog.has_roles)
    pair_weight = math.fsum(report.unscaled_weight for report in reports)
    scaled = math.fsum(report.pair_weight for report in reports)
    if crossing is not None:
        pair_weight += crossing.pair_weight
        crossing = scaled_by(crossing, reduction, share)
        scaled += crossing.total_weight
    scale = 1.0
    if reduction in ("auto", "rows"):
        scale = scale_to(catalog.row_weight, np.float64(pair_weight))
    n_ties = sum(report.n_ties for report in reports)
    n_ties += int((groups.n_rows * (groups.n_rows - 1) // 2).sum())
    return Prepared(
        catalog, graph, reduction, n_pairs, n_ties, pair_weight, scale, scale * scaled,
        crossing, groups,
    )  # fmt: skip


def lay_out(index: int, block: RowBlock, plan: LayoutPlan) -> tuple[BlockLayout, Report]:
    """Return a block's layout and its report."""
    rows = split_rows(block, plan.crossing)
    whole = _whole_levels(block, rows.of_whole, plan)
    n_ties = n_pairs = 0
    unscaled = scaled = 0.0
    preferences = None
    if whole is not None:
        n_pairs, unscaled = whole.n_pairs, whole.pair_weight
        sizes = np.diff(whole.group_start)
        n_ties = int((sizes * (sizes - 1) // 2).sum())
        if n_pairs:
            whole = scaled_by(whole, plan.reduction, plan.query_share)
            scaled = whole.total_weight
            preferences = whole.compact() if plan.compacts else whole
    assert block.y is not None
    labels = block.y[rows.places]
    weight = crossing_weights(block, rows.places, plan.n_weights)
    few = plan.labels is not None
    level = np.empty(0) if plan.labels is None else np.searchsorted(plan.labels, labels)
    layout = BlockLayout(
        n_rows=int(block.y.size),
        whole=preferences,
        rows=rows.places,
        query=rows.query,
        level=level.astype(np.int32),
        label=np.empty(0) if few else labels.astype(np.float64),
        weight=weight,
    )
    groups = group_rows(rows.query, labels, weight)
    return layout, Report(n_pairs, scaled, unscaled, n_ties, groups)


class SplitRows(NamedTuple):
    """The rows of a block by their query: whole or crossing."""

    of_whole: NDArray[np.bool_]
    """Kept rows of whole queries."""
    places: NDArray[np.int32]
    """Kept rows of crossing queries."""
    query: NDArray[np.int32]
    """The number of each such row's query among the crossing queries."""


def split_rows(block: RowBlock, crossing: NDArray[Any]) -> SplitRows:
    """Return which kept rows of a block belong to whole queries, and which to crossing ones."""
    kept = kept_rows(block)
    if block.qid is None:
        crosses, query = np.full(kept.size, crossing.size > 0), np.zeros(kept.size, dtype=np.int32)
    else:
        queries, query_of = query_codes(block.qid)
        among, numbers = query_numbers(queries, crossing)
        crosses, query = among[query_of], numbers[query_of]
    places = np.flatnonzero(kept & crosses).astype(np.int32)
    return SplitRows(kept & ~crosses, places, query[places])


def crossing_weights(block: RowBlock, places: NDArray[np.int32], n_weights: int) -> FloatArray:
    """Return the weights of some rows, (n_weights, n_places)."""
    if n_weights == 0:
        return np.empty((0, places.size))
    sample, roles = weights_of_rows(block.sample_weight, block.winner_weight, block.loser_weight)
    sides = (sample,) if roles is None else (roles.winner, roles.loser)
    return np.array([np.asarray(side, dtype=np.float64)[places] for side in sides])


def group_rows(
    query: NDArray[np.int32], labels: NDArray[Any], weight: FloatArray
) -> CrossingGroups:
    """Count rows by query and label, and sum their weights; O(m log m)."""
    counts = np.ones(query.size, dtype=np.int64)
    winners = counts if not len(weight) else (weight[0] > 0).astype(np.int64)
    losers = counts if not len(weight) else (weight[-1] > 0).astype(np.int64)
    return _summed(CrossingGroups(query, labels, counts, winners, losers, weight))


def merge_groups(parts: list[CrossingGroups]) -> CrossingGroups:
    """Return the groups of all blocks together."""
    filled = [part for part in parts if part.query.size] or parts[:1]
    columns = zip(*(part[:-1] for part in filled), strict=True)
    weight = np.concatenate([part.weight for part in filled], axis=1)
    return _summed(CrossingGroups(*map(np.concatenate, columns), weight))


def crossing_levels(groups: CrossingGroups, graph: Any) -> tuple[Levels | None, int]:
    """Return the preferences over groups as rows, and the exact number of pairs of their rows."""
    if not groups.query.size:
        return None, 0
    graph = present_graph(graph, groups.label)
    if graph is None:
        return None, 0
    structure = Levels.build(groups.label, groups.query, graph=graph)
    counts = (side[structure.row_of] for side in (groups.n_winners, groups.n_losers))
    n_pairs = int(pairs_by_query(*counts, structure.query_group, structure.edges).sum())
    weights: dict[str, Any] = {"sample_weight": groups.n_rows.astype(np.float64)}
    if len(groups.weight):
        names = ("sample_weight",) if len(groups.weight) == 1 else ("winner_weight", "loser_weight")
        weights = dict(zip(names, groups.weight, strict=True))
    return Levels.build(groups.label, groups.query, graph=graph, **weights), n_pairs


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


def _whole_levels(
    block: RowBlock, of_whole: NDArray[np.bool_], plan: LayoutPlan
) -> Levels | None:
    """Return the preferences of whole queries over all rows of the block, without a scale."""
    assert block.y is not None
    if not of_whole.any():
        return None
    graph = present_graph(plan.graph, block.y[of_whole])
    if graph is None:
        return None
    weight = block.sample_weight
    if not of_whole.all():
        weight = np.where(of_whole, 1.0 if weight is None else weight, 0.0)
    levels = Levels.build(
        block.y,
        block.qid,
        graph=graph,
        sample_weight=weight,
        winner_weight=block.winner_weight,
        loser_weight=block.loser_weight,
    )
    return levels if block.sample_weight is not None else replace(levels, weight=None)


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
    added = [np.add.reduceat(count[order], starts) for count in counts]
    totals = np.add.reduceat(weight[:, order], starts, axis=1)
    return CrossingGroups(query[starts], label[starts], *added, totals)


def _warn_of_absent(graph: Any, catalog: Catalog) -> None:
    """Warn once of labels of the order graph that no block has."""
    if isinstance(graph, OrderGraph) and catalog.labels is not None and catalog.labels.size:
        Levels.build(catalog.labels, graph=graph)
