"""The layouts of blocks: whole queries as preferences, crossing rows as arrays; exact totals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, PairLoss
from pairrank.blocks._contracts import BlockLayout, Passes, RowBlock
from pairrank.blocks.catalog import MOST_LABELS, Catalog, kept_rows, query_numbers
from pairrank.blocks.crossing import (
    MomentQuery,
    require_few_levels,
    require_few_tables,
    require_moments,
)
from pairrank.blocks.groups import (
    CrossingGroups,
    crossing_levels,
    group_rows,
    merge_groups,
    moment_queries,
    present_graph,
    scaled_by,
)
from pairrank.blocks.sample import drawn_alone
from pairrank.exceptions import PairrankError
from pairrank.preferences import Levels, OrderGraph, Pairs
from pairrank.preferences._codes import no_pairs, query_codes, scale_to
from pairrank.preferences.roles import weights_of_rows


@dataclass(frozen=True, eq=False)
class LayoutPlan:
    """How blocks are laid out: what every block must know of all of them."""

    graph: Any
    """"full", "chain" or an OrderGraph; None: differences of labels."""
    reduction: str
    query_share: float
    """W over the number of queries, for the reduction "query"."""
    crossing: NDArray[Any]
    n_weights: int
    """The number of weights of a row, 0 to 2."""
    compacts: bool = False
    """Whether few comparisons are listed; see `Levels.compact`."""
    groups: CrossingGroups | None = None
    """The crossing rows by query and label; None where there are none."""


class Report(NamedTuple):
    """What a block reports of its whole queries."""

    n_ties: int = 0
    n_pairs: int = 0
    pair_weight: float = 0.0
    """Their weight in T."""
    layout_weight: float = 0.0
    """Their weight as scaled by the layout."""


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
    layout_weight: float
    """The weight of all pairs, as scaled by the layouts."""
    crossing: tuple[MomentQuery, ...]
    """The queries that cross blocks and have a pair."""

    @property
    def scale(self) -> float:
        """The factor on all pairs that the reduction asks for, beside scales in the layouts."""
        if self.reduction not in ("auto", "rows"):
            return 1.0
        return float(scale_to(self.catalog.row_weight, np.float64(self.pair_weight)))


def prepare(
    passes: Passes,
    catalog: Catalog,
    loss: PairLoss,
    *,
    graph: Any = "full",
    reduction: str = "rows",
    compacts: bool = True,
) -> Prepared:
    """Lay out every block for a loss over preferences; raise a NoPairsError if there are none.

    The pair scale is that of `Levels.reduced`. With `compacts` few comparisons are listed. Where
    queries cross blocks, a round before counts their rows by query and label. A PairrankError says
    that the loss or the labels of these queries have no moments.
    """
    y = catalog.sample.rows.y
    if y is not None and y.ndim > 1:
        raise PairrankError(
            f"y has {y.shape[1]} columns, but preferences follow from one: give one column"
        )
    if isinstance(graph, OrderGraph) and catalog.labels is not None and catalog.labels.size:
        Levels.build(catalog.labels, graph=graph)  # warns once of labels that no block has
    share = catalog.row_weight / max(1, catalog.n_queries)
    n_weights = 2 if catalog.has_roles else int(catalog.has_weight)
    plan = LayoutPlan(graph, reduction, share, catalog.crossing, n_weights, compacts)
    crossing: tuple[MomentQuery, ...] = ()
    n_pairs = n_ties = 0
    pair_weight = layout_weight = 0.0
    if catalog.n_crossing:
        groups = _few_groups(passes, catalog, loss, plan)
        plan, n_ties = replace(plan, groups=groups), groups.n_ties
        levels, n_pairs = crossing_levels(groups, graph)
        if levels is not None:
            pair_weight, levels = levels.pair_weight, scaled_by(levels, reduction, share)
            layout_weight, crossing = levels.total_weight, moment_queries(levels)
    reports = passes.prepare(lay_out, plan)
    n_pairs += sum(report.n_pairs for report in reports)
    if not n_pairs:
        known = np.arange(2) if catalog.labels is None else catalog.labels
        raise no_pairs(catalog.n_kept, catalog.n_queries, known, catalog.has_roles)
    return Prepared(
        catalog=catalog,
        graph=graph,
        reduction=reduction,
        n_pairs=n_pairs,
        n_ties=n_ties + sum(report.n_ties for report in reports),
        pair_weight=math.fsum([pair_weight, *(report.pair_weight for report in reports)]),
        layout_weight=math.fsum([layout_weight, *(report.layout_weight for report in reports)]),
        crossing=crossing,
    )


def _few_groups(
    passes: Passes, catalog: Catalog, loss: PairLoss, plan: LayoutPlan
) -> CrossingGroups:
    """Return the rows of crossing queries by query and label, where these have moments."""
    require_moments(loss, catalog)
    if not catalog.has_qid and catalog.labels is None:
        require_few_levels(MOST_LABELS, catalog)
    parts = passes.prepare(count_crossing, plan)
    groups = merge_groups(parts)
    n_codes = np.bincount(groups.query)
    require_few_levels(int(n_codes.max(initial=0)), catalog)
    queries = [part.query for part in parts]
    require_few_tables(queries, n_codes, max(1, plan.n_weights), catalog)
    return groups


def count_crossing(index: int, block: RowBlock, plan: LayoutPlan) -> tuple[None, CrossingGroups]:
    """Return no state, and a block's crossing rows by query and label."""
    rows = split_rows(block, plan.crossing)
    assert block.y is not None
    weight = crossing_weights(block, rows.places, plan.n_weights)
    return None, group_rows(rows.query, block.y[rows.places], weight)


def lay_out(index: int, block: RowBlock, plan: LayoutPlan) -> tuple[BlockLayout, Report]:
    """Return a block's layout and its report."""
    assert block.y is not None
    rows = split_rows(block, plan.crossing)
    whole, report = _whole_levels(block, rows.of_whole, plan)
    query, start = rows.starts
    code = np.zeros(rows.places.size, dtype=np.int32)
    if plan.groups is not None:
        first = np.searchsorted(plan.groups.query, rows.query)
        code = (plan.groups.numbers(rows.query, block.y[rows.places]) - first).astype(np.int32)
    layout = BlockLayout(
        n_rows=int(block.y.size),
        whole=whole,
        rows=rows.places,
        query=query,
        start=start,
        code=code,
        label=np.empty(0),
        weight=crossing_weights(block, rows.places, plan.n_weights),
    )
    return layout, report


class SplitRows(NamedTuple):
    """The rows of a block by their query: whole or crossing."""

    of_whole: NDArray[np.bool_]
    """Kept rows of whole queries."""
    places: NDArray[np.int32]
    """Kept rows of crossing queries, query by query."""
    query: NDArray[np.int32]
    """The number of each such row's query among the crossing queries, ascending."""

    @property
    def starts(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The numbers of the queries, and where each begins in `places`, and the end."""
        first = np.flatnonzero(np.diff(self.query, prepend=-1))
        return self.query[first], np.append(first, self.query.size)


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
    query = query[places]
    if (query[1:] < query[:-1]).any():
        order = np.argsort(query, kind="stable")
        places, query = places[order], query[order]
    return SplitRows(kept & ~crosses, places, query)


def crossing_weights(block: RowBlock, places: NDArray[np.int32], n_weights: int) -> FloatArray:
    """Return the weights of some rows, (n_weights, n_places)."""
    if n_weights == 0:
        return np.empty((0, places.size))
    sample, roles = weights_of_rows(block.sample_weight, block.winner_weight, block.loser_weight)
    sides = (sample,) if roles is None else (roles.winner, roles.loser)
    return np.array([np.asarray(side, dtype=np.float64)[places] for side in sides])


def _whole_levels(
    block: RowBlock, of_whole: NDArray[np.bool_], plan: LayoutPlan
) -> tuple[Levels | Pairs | None, Report]:
    """Return the preferences of a block's whole queries, if there are any, and its report."""
    assert block.y is not None
    if not of_whole.any():
        return None, Report()
    graph = present_graph(plan.graph, block.y[of_whole])
    if graph is None:
        query_of = np.zeros(block.y.size, np.int32)
        if block.qid is not None:
            query_of = query_codes(block.qid)[1]
        unweighted = np.empty((0, int(np.count_nonzero(of_whole))))
        return None, Report(group_rows(query_of[of_whole], block.y[of_whole], unweighted).n_ties)
    levels = _levels(block, graph, weight_of_whole(block, of_whole))
    sizes = np.diff(levels.group_start)
    n_ties = int((sizes * (sizes - 1) // 2).sum())
    if not levels.n_pairs:
        return None, Report(n_ties)
    if block.sample_weight is None:
        levels = replace(levels, weight=None)
    scaled = scaled_by(levels, plan.reduction, plan.query_share)
    preferences = scaled.compact() if plan.compacts else scaled
    return preferences, Report(n_ties, levels.n_pairs, levels.pair_weight, scaled.total_weight)


def weight_of_whole(block: RowBlock, of_whole: NDArray[np.bool_]) -> FloatArray | None:
    """Return the sample weights of the rows of whole queries, 0 of other rows."""
    weight = block.sample_weight
    if of_whole.all():
        return weight
    return np.where(of_whole, 1.0 if weight is None else weight, 0.0)


def _levels(rows: RowBlock, graph: Any, weight: FloatArray | None) -> Levels:
    """Return the preferences of some rows, with `weight` as their sample weights."""
    assert rows.y is not None
    return Levels.build(
        rows.y,
        rows.qid,
        graph=graph,
        sample_weight=weight,
        winner_weight=rows.winner_weight,
        loser_weight=rows.loser_weight,
    )


def sampled_levels(prepared: Prepared) -> Levels | None:
    """Return the preferences among the sampled rows, scaled to the weight of all pairs.

    A pair of a query that was drawn as a whole counts for the inverse of the query's probability, a
    pair of a thinned query for the inverse of both rows' probabilities.
    """
    sample = prepared.catalog.sample
    rows = sample.rows
    assert rows.y is not None
    graph = present_graph(prepared.graph, rows.y) if sample.n_rows else None
    if graph is None:
        return None
    alone = drawn_alone(sample)
    weight = rows.sample_weight
    if alone.any():
        inverse = np.where(alone, 1.0 / sample.rate, 1.0)
        weight = inverse if weight is None else inverse * weight
    levels = _levels(rows, graph, weight)
    if not levels.n_pairs:
        return None
    first = levels.row_of[levels.query_start[:-1]]
    scale = np.where(alone[first], 1.0, 1.0 / sample.rate[first])
    if prepared.reduction == "query":
        paired = levels.query_pair_weight
        scale = np.divide(scale, paired, out=np.zeros(paired.size), where=paired > 0)
    total = float(np.sum(scale * levels.query_pair_weight))
    return replace(levels, pair_scale=scale * (prepared.layout_weight / total))
