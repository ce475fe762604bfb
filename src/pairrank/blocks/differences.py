"""Layouts of blocks for differences of labels, with exact totals of rows, pairs and labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, PairLoss, Squares
from pairrank.blocks._contracts import BlockLayout, Passes, RowBlock
from pairrank.blocks.catalog import Catalog
from pairrank.blocks.crossing_queries import MomentQuery, require_few_tables
from pairrank.blocks.layouts import crossing_weights, split_rows
from pairrank.blocks.sampled import drawn_alone
from pairrank.exceptions import PairrankError
from pairrank.preferences import Differences
from pairrank.preferences._codes import no_pairs


@dataclass(frozen=True, eq=False)
class DifferenceLayout(BlockLayout):
    """A layout whose labels, `targets` (n_rows, n_targets), are all those of the rows.

    `whole` and `label` have one of the targets. The targets of crossing rows are less a row of
    their query, the same one in all blocks.
    """

    targets: FloatArray


class LabelSums(NamedTuple):
    """Counts of crossing queries in some blocks; arrays are by query, ascending."""

    query: NDArray[np.int32]
    n_rows: NDArray[np.int64]
    weight: FloatArray
    base: FloatArray
    """The targets of one row, (n_queries, n_targets)."""


class Report(NamedTuple):
    """What a block reports of its whole queries, and of the crossing ones."""

    n_pairs: int
    n_queries: int
    weight: float
    square: FloatArray
    """Weighted squares of the targets about the means of queries, (n_targets,)."""
    crossing: FloatArray
    """Weighted sums of targets less `base`, and of their squares, (2, n_crossing, n_targets)."""


@dataclass(frozen=True, eq=False)
class DifferencePlan:
    """How blocks are laid out for differences.

    With `mean_cost` a pair of query q weighs w_i w_j/m_q^2, so that rows have the weights
    2 w_i/m_q; else a pair weighs w_i w_j/(2 n_q).
    """

    crossing: NDArray[Any]
    n_weights: int
    mean_cost: bool
    target: int
    totals: LabelSums | None = None


@dataclass(frozen=True, eq=False)
class PreparedDifferences:
    """Blocks that are laid out for differences of one target."""

    catalog: Catalog
    plan: DifferencePlan
    n_pairs: int
    n_ties: None
    row_weight: float
    n_queries: int
    """The number of queries with rows of positive weight."""
    square: FloatArray
    """Weighted squares of the targets about the means of queries, (n_targets,)."""
    crossing: tuple[MomentQuery, ...] | None
    """The queries that cross blocks; None where there are none."""
    scale: float = 1.0

    @property
    def spread(self) -> float:
        """The standard deviation of the labels of a query; of targets the root mean square."""
        return float(np.sqrt(self.square.mean() / self.row_weight))

    def of_target(self, passes: Passes, loss: PairLoss, target: int) -> PreparedDifferences:
        """Lay the blocks out again for another target."""
        return prepare_differences(
            passes, self.catalog, loss, mean_cost=self.plan.mean_cost, target=target
        )

    @property
    def size(self) -> float:
        """The mean weight of a query."""
        return self.row_weight / self.n_queries


def prepare_differences(
    passes: Passes, catalog: Catalog, loss: PairLoss, *, mean_cost: bool = False, target: int = 0
) -> PreparedDifferences:
    """Lay out every block for the differences of a target's labels.

    A NoPairsError says that the labels of no query differ. Two rounds over the labels, one where no
    query crosses blocks; X is not read.
    """
    _require_numbers(catalog)
    plan = DifferencePlan(catalog.crossing, int(catalog.has_weight), mean_cost, target)
    n_pairs, n_queries, weights, crossing = 0, 0, [], None
    if catalog.n_crossing:
        parts = passes.prepare(sum_crossing_labels, plan)
        totals = merge_label_sums(parts)
        n_pairs, n_queries = int((totals.n_rows**2).sum()), totals.query.size
        weights = [float(totals.weight.sum())]
        plan = replace(plan, totals=totals)
        crossing = _crossing_queries(plan, totals)
        if not isinstance(loss.family, Squares):
            require_few_tables(parts, np.bincount(totals.query), 1, catalog)
    reports = passes.prepare(lay_out_differences, plan)
    square = np.sum([report.square for report in reports], axis=0)
    if plan.totals is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            first, second = np.sum([report.crossing for report in reports], axis=0)
            about_mean = second - first * first / plan.totals.weight[:, None]
            square = square + about_mean.sum(axis=0)
    if not square.any():
        labels = np.zeros(1) if catalog.labels is None else catalog.labels[:1]
        raise no_pairs(catalog.n_kept, catalog.n_queries, labels)
    if not np.isfinite(square).all():
        raise PairrankError("the squares of y overflow: scale the labels down")
    return PreparedDifferences(
        catalog=catalog,
        plan=plan,
        n_pairs=n_pairs + sum(report.n_pairs for report in reports),
        n_ties=None,
        row_weight=math.fsum([*weights, *(report.weight for report in reports)]),
        n_queries=n_queries + sum(report.n_queries for report in reports),
        square=square,
        crossing=crossing,
    )


def _require_numbers(catalog: Catalog) -> None:
    y: Any = catalog.sample.rows.y
    if y.dtype.kind not in "biuf":
        raise PairrankError(
            "y holds text, but differences of labels need numbers: replace each label by its value"
        )


def sum_crossing_labels(
    index: int, block: RowBlock, plan: DifferencePlan
) -> tuple[None, LabelSums]:
    """Return no state, and the counts of a block's crossing queries."""
    rows = split_rows(block, plan.crossing)
    weight = crossing_weights(block, rows.places, plan.n_weights)
    by_row = weight[0] if len(weight) else np.ones(rows.places.size)
    query, start = rows.starts
    return None, LabelSums(
        query=query,
        n_rows=np.diff(start),
        weight=np.add.reduceat(by_row, start[:-1]),
        base=_targets(block)[rows.places[start[:-1]]],
    )


def merge_label_sums(parts: list[LabelSums]) -> LabelSums:
    """Return the counts of all blocks together; the bases are those of the first blocks."""
    joined = LabelSums(*map(np.concatenate, zip(*parts, strict=True)))
    distinct, first, of_part = np.unique(joined.query, return_index=True, return_inverse=True)
    return LabelSums(
        query=distinct,
        n_rows=np.bincount(of_part, joined.n_rows).astype(np.int64),
        weight=np.bincount(of_part, joined.weight).astype(np.float64),
        base=joined.base[first],
    )


def lay_out_differences(
    index: int, block: RowBlock, plan: DifferencePlan
) -> tuple[DifferenceLayout, Report]:
    """Return a block's layout and its report."""
    rows, targets = split_rows(block, plan.crossing), _targets(block)
    whole, report = _whole(block, rows.of_whole, targets, plan)
    weight = crossing_weights(block, rows.places, plan.n_weights)
    if plan.totals is not None:
        totals, by_row = plan.totals, weight[0] if len(weight) else np.ones(rows.places.size)
        targets = targets.copy()
        targets[rows.places] -= totals.base[rows.query]
        with np.errstate(over="ignore"):
            powers = targets[rows.places], targets[rows.places] ** 2
        sums = [_summed(rows.query, by_row, each, totals.query.size) for each in powers]
        report = report._replace(crossing=np.array(sums))
        if plan.mean_cost:
            weight = (2.0 * by_row / totals.weight[rows.query])[None]
    query, start = rows.starts
    layout = DifferenceLayout(
        n_rows=len(targets),
        whole=whole,
        rows=rows.places,
        query=query,
        start=start,
        level=np.empty(0, dtype=np.int32),
        label=np.ascontiguousarray(targets[rows.places, plan.target]),
        weight=weight,
        targets=targets,
    )
    return layout, report


def _whole(
    block: RowBlock, of_whole: NDArray[np.bool_], targets: FloatArray, plan: DifferencePlan
) -> tuple[Differences | None, Report]:
    """Return the differences of a block's whole queries, scaled, and their totals."""
    n_targets = targets.shape[1]
    if not of_whole.any():
        return None, Report(0, 0, 0.0, np.zeros(n_targets), _NO_SUMS)
    weight = block.sample_weight
    if not of_whole.all():
        weight = np.where(of_whole, 1.0 if weight is None else weight, 0.0)
    differences = Differences.build(targets[:, plan.target], block.qid, sample_weight=weight)
    square = np.empty(n_targets)
    by_row = np.ones(of_whole.size) if weight is None else weight
    for at, target in enumerate(targets.T):
        each = differences.with_target(target)
        centred = np.where(by_row > 0, each.centred(each.target), 0.0)
        with np.errstate(over="ignore"):
            square[at] = by_row @ (centred * centred)
    totals = differences.query_weight
    report = Report(
        differences.n_pairs, int(np.count_nonzero(totals)), float(totals.sum()), square, _NO_SUMS
    )
    if plan.mean_cost:
        total = np.where(totals > 0, 2.0, 0.0)
        differences = replace(differences, weight=2.0 * differences.share(), query_weight=total)
    return differences, report


def _crossing_queries(plan: DifferencePlan, totals: LabelSums) -> tuple[MomentQuery, ...]:
    """Return the crossing queries, whose residuals travel as moments."""
    none = np.empty(0, dtype=np.int32)
    return tuple(
        MomentQuery(int(query), none, scale=0.5 if plan.mean_cost else 1.0 / float(weight))
        for query, weight in zip(totals.query, totals.weight, strict=True)
    )


def _targets(block: RowBlock) -> FloatArray:
    """Return a block's labels, (n_rows, n_targets)."""
    assert block.y is not None
    return np.asarray(block.y, dtype=np.float64).reshape(len(block.y), -1)


_NO_SUMS = np.zeros((2, 0, 0))


def _summed(
    of_row: NDArray[np.int32], weight: FloatArray, values: FloatArray, size: int
) -> FloatArray:
    """Return the weighted sums of each column of `values` by group, (size, n_columns)."""
    with np.errstate(over="ignore", invalid="ignore"):
        columns = [np.bincount(of_row, weight * column, size) for column in values.T]
    return np.stack(columns, axis=1)


def sampled_differences(prepared: PreparedDifferences, target: int) -> Differences | None:
    """Return the differences of a target among the sampled rows; None where no labels differ.

    A row counts for the inverse of its probability, with `mean_cost` the rows of a query together
    for that of their query. Weights are scaled to the total of all rows.
    """
    sample, plan = prepared.catalog.sample, prepared.plan
    rows = sample.rows
    if not sample.n_rows:
        return None
    assert rows.y is not None
    labels = np.asarray(rows.y, dtype=np.float64).reshape(sample.n_rows, -1)[:, target]
    weight = 1.0 / sample.rate
    if rows.sample_weight is not None:
        weight = weight * rows.sample_weight
    differences = Differences.build(labels, rows.qid, sample_weight=weight)
    total = prepared.row_weight
    if plan.mean_cost:
        query_of = differences.query_of
        query_of = np.zeros(labels.size, dtype=np.int32) if query_of is None else query_of
        each = np.where(drawn_alone(sample), 1.0, 1.0 / sample.rate)
        of_query = np.zeros(differences.query_weight.size)
        of_query[query_of] = 2.0 * each
        by_row = differences.share() * of_query[query_of]
        differences = replace(differences, weight=by_row, query_weight=of_query)
        total = 2.0 * prepared.n_queries
    kept = differences.weight
    assert kept is not None
    if not differences.target[kept > 0].any():
        return None
    factor = total / float(differences.query_weight.sum())
    return replace(
        differences, weight=kept * factor, query_weight=differences.query_weight * factor
    )
