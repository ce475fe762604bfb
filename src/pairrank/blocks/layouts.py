"""The layouts of blocks: whole queries as preferences, crossing rows as arrays; exact totals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, PairLoss
from pairrank.blocks._contracts import BlockLayout, CrossingRows, Passes, RowBlock
from pairrank.blocks.catalog import Catalog, kept_rows, query_numbers
from pairrank.blocks.crossing import require_moments
from pairrank.blocks.groups import (
    CrossingGroups,
    CrossingQueries,
    crossing_pairs,
    group_rows,
    merge_groups,
    present_graph,
    scaled_by,
)
from pairrank.blocks.sample import SampleRows, drawn_alone, queries_of
from pairrank.preferences import Differences, Levels, OrderGraph
from pairrank.preferences._codes import no_pairs, scale_to
from pairrank.preferences.roles import weights_of_rows


@dataclass(frozen=True, eq=False)
class LayoutPlan:
    """How blocks are laid out: what every block must know of all of them."""

    graph: Any
    reduction: str
    crossing: NDArray[Any]
    """The identifiers of crossing queries."""
    groups: CrossingGroups | None = None
    """The classes of crossing rows; None where there are none."""


class Report(NamedTuple):
    """The totals of the whole queries of a block, or of all crossing queries."""

    n_ties: int = 0
    n_pairs: int = 0
    weight: float = 0.0
    """The weight of all pairs, as scaled by the layout."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Blocks that are laid out: the catalog with exact totals of pairs."""

    catalog: Catalog
    n_pairs: int
    n_ties: int | None
    scale: float
    """The factor on all pairs that the reduction asks for, beside scales in the layouts."""
    crossing: CrossingQueries | None
    """The queries that cross blocks, if one of them has a pair."""
    sampled: Levels | Differences | None
    """The preferences among the sampled rows, scaled to the weight of all pairs, if there are any.

    A pair of a query that was drawn as a whole counts for the inverse of the query's probability.
    """


def prepare(
    passes: Passes,
    catalog: Catalog,
    loss: PairLoss,
    *,
    graph: Any = "full",
    reduction: str = "rows",
) -> Prepared:
    """Lay out every block for a loss over preferences; raise a NoPairsError if there are none.

    The pair scale is that of `Levels.reduced`. Where queries cross blocks, a round before counts
    their rows by query and label. A PairrankError says that the loss or the labels of these queries
    have no moments.
    """
    if isinstance(graph, OrderGraph):
        Levels.build(catalog.labels, graph=graph)  # warns once of labels that no block has
    plan, crossing = LayoutPlan(graph, reduction, catalog.crossing), None
    reports: list[Report] = []
    if catalog.crossing.size:
        n_levels = catalog.labels.size if catalog.sample.rows.qid is None else 0
        require_moments(loss, n_levels, 0, catalog)
        parts = passes.prepare(count_crossing, plan)
        groups = merge_groups(parts)
        n_levels = int(np.bincount(groups.query).max(initial=0))
        require_moments(loss, n_levels, sum(part.query.size for part in parts), catalog)
        plan = replace(plan, groups=groups)
        crossing, n_pairs = crossing_pairs(groups, graph, reduction)
        weight = 0.0 if crossing is None else crossing.weight
        reports.append(Report(groups.n_ties, n_pairs, weight))
    reports += passes.prepare(lay_out, plan)
    n_ties, of_pairs, weights = zip(*reports, strict=True)
    if not any(of_pairs):
        found = catalog.n_kept, catalog.n_queries, catalog.labels
        raise no_pairs(*found, catalog.has_roles)
    total, scale = math.fsum(weights), 1.0
    if reduction == "query":
        scale = catalog.row_weight / max(1, catalog.n_queries)
    elif reduction != "sum":
        scale = float(scale_to(catalog.row_weight, np.float64(total)))
    return Prepared(
        catalog=catalog,
        n_pairs=sum(of_pairs),
        n_ties=sum(n_ties),
        scale=scale,
        crossing=crossing,
        sampled=_sampled_levels(catalog.sample, plan, total),
    )


class Counted(NamedTuple):
    """The rows of a block after the first round: codes number the classes of the block alone."""

    of_whole: NDArray[np.bool_]
    rows: CrossingRows
    groups: CrossingGroups


def count_crossing(
    index: int, block: RowBlock, state: Any, plan: LayoutPlan
) -> tuple[Counted, CrossingGroups]:
    """Return a block's rows and its crossing ones by query and label."""
    of_whole, rows = split_rows(block, plan.crossing)
    groups, code = group_rows(rows.query_of, block.labels[rows.places], rows.weight)
    return Counted(of_whole, rows._replace(code=code), groups), groups


def lay_out(
    index: int, block: RowBlock, state: Any, plan: LayoutPlan
) -> tuple[BlockLayout, Report]:
    """Return a block's layout and its report; `state` is `Counted` where queries cross blocks."""
    if plan.groups is None:
        of_whole, rows = split_rows(block, plan.crossing)
    else:
        of_whole, rows, own = state
        rows = rows._replace(code=plan.groups.numbers(own)[rows.code])
    whole, report = _whole_levels(block, of_whole, plan)
    return BlockLayout(whole, rows), report


def split_rows(block: RowBlock, crossing: NDArray[Any]) -> tuple[NDArray[np.bool_], CrossingRows]:
    """Return which kept rows of a block belong to whole queries, and its rows of crossing ones.

    The latter are of one class and have no labels.
    """
    kept, query = kept_rows(block), query_numbers(block, crossing)
    inside = kept & (query >= 0)
    places: Any = slice(None)
    if not (inside.all() and (query[1:] >= query[:-1]).all()):
        places = np.flatnonzero(inside).astype(np.int32)
        places = places[np.argsort(query[places], kind="stable")]
    numbers = query[places]
    first = np.flatnonzero(np.diff(numbers, prepend=-1))
    sample, roles = weights_of_rows(block.sample_weight, block.winner_weight, block.loser_weight)
    sides = (sample,) if roles is None else (roles.winner, roles.loser)
    weight = [np.asarray(side, dtype=np.float64)[places] for side in sides if side is not None]
    rows = CrossingRows(
        places=places,
        query=numbers[first],
        start=np.append(first, numbers.size),
        weight=np.reshape(weight, (len(weight), numbers.size)),
        code=np.zeros(numbers.size, dtype=np.int32),
        label=np.empty(0),
    )
    return kept & (query < 0), rows


def _whole_levels(
    block: RowBlock, of_whole: NDArray[np.bool_], plan: LayoutPlan
) -> tuple[Levels | None, Report]:
    """Return the preferences of a block's whole queries, if there are any, and its report."""
    if not of_whole.any():
        return None, Report()
    query_of, labels = queries_of(block)[1][of_whole], block.labels[of_whole]
    n_ties = group_rows(query_of, labels, np.empty((0, labels.size)))[0].n_ties
    graph = present_graph(plan.graph, labels)
    levels = None if graph is None else _levels(block, graph, weight_of_whole(block, of_whole))
    if levels is None or not levels.n_pairs:
        return None, Report(n_ties)
    if block.sample_weight is None:
        levels = replace(levels, weight=None)
    scaled = scaled_by(levels, plan.reduction)
    return scaled, Report(n_ties, levels.n_pairs, scaled.total_weight)


def weight_of_whole(block: RowBlock, of_whole: NDArray[np.bool_]) -> FloatArray | None:
    """Return the sample weights of the rows of whole queries, 0 of other rows."""
    weight = block.sample_weight
    if of_whole.all():
        return weight
    return np.where(of_whole, 1.0 if weight is None else weight, 0.0)


def _levels(rows: RowBlock, graph: Any, weight: FloatArray | None) -> Levels:
    """Return the preferences of some rows, with `weight` as their sample weights."""
    return Levels.build(
        rows.labels,
        rows.qid,
        graph=graph,
        sample_weight=weight,
        winner_weight=rows.winner_weight,
        loser_weight=rows.loser_weight,
    )


def _sampled_levels(sample: SampleRows, plan: LayoutPlan, pair_weight: float) -> Levels | None:
    """Return the preferences among the sampled rows, scaled to the weight of all pairs.

    A pair of a thinned query counts for the inverse of both rows' probabilities.
    """
    rows = sample.rows
    graph = present_graph(plan.graph, rows.labels) if sample.n_rows else None
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
    if plan.reduction == "query":
        paired = levels.query_pair_weight
        scale = np.divide(scale, paired, out=np.zeros(paired.size), where=paired > 0)
    total = float(np.sum(scale * levels.query_pair_weight))
    return replace(levels, pair_scale=scale * (pair_weight / total))
