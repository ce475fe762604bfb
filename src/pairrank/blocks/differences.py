"""Layouts of blocks for differences of labels, with exact totals of rows, pairs and labels."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, PairLoss
from pairrank.blocks._contracts import BlockLayout, Passes, RowBlock
from pairrank.blocks.catalog import Catalog
from pairrank.blocks.crossing import require_moments
from pairrank.blocks.groups import CrossingQueries
from pairrank.blocks.layouts import split_rows, weight_of_whole
from pairrank.blocks.sample import drawn_alone
from pairrank.blocks.squares import SquareSums, sums_by_query
from pairrank.exceptions import PairrankError
from pairrank.objective import centred_sums
from pairrank.preferences import Differences
from pairrank.preferences._codes import no_pairs


class LabelSums(NamedTuple):
    """What a block reports of its crossing queries: rows by query, and sums of the labels."""

    n_rows: NDArray[np.int64]
    sums: SquareSums


class Report(NamedTuple):
    """What a block reports of its whole queries."""

    n_pairs: int
    n_queries: int
    weight: float
    square: float
    """The weighted squares of the labels about the means of queries."""


@dataclass(frozen=True, eq=False)
class DifferencePlan:
    """How blocks are laid out for differences.

    With `mean_cost` a pair of query q weighs w_i w_j/m_q^2, so that rows have the weights
    2 w_i/m_q; else a pair weighs w_i w_j/(2 n_q).
    """

    crossing: NDArray[Any]
    mean_cost: bool
    totals: SquareSums | None = None
    """The sums of the labels of crossing queries; None where there are none."""


@dataclass(frozen=True, eq=False)
class PreparedDifferences:
    """Blocks that are laid out for differences."""

    catalog: Catalog
    plan: DifferencePlan
    n_pairs: int
    n_ties: None
    row_weight: float
    n_queries: int
    """The number of queries with rows of positive weight."""
    square: float
    """The weighted squares of the labels about the means of queries."""
    crossing: CrossingQueries | None
    """The queries that cross blocks."""
    scale: float = 1.0

    @property
    def spread(self) -> float:
        """The standard deviation of the labels of a query."""
        return float(np.sqrt(self.square / self.row_weight))

    @property
    def size(self) -> float:
        """The mean weight of a query."""
        return self.row_weight / self.n_queries


def prepare_differences(
    passes: Passes, catalog: Catalog, loss: PairLoss, *, mean_cost: bool = False
) -> PreparedDifferences:
    """Lay out every block for the differences of labels.

    A NoPairsError says that the labels of no query differ. Two rounds over the labels, one where no
    query crosses blocks; X is not read.
    """
    y: Any = catalog.sample.rows.y
    if y.dtype.kind not in "biuf":
        raise PairrankError(
            "y holds text, but differences of labels need numbers: replace each label by its value"
        )
    plan = DifferencePlan(catalog.crossing, mean_cost)
    n_pairs, n_queries, weights, squares, crossing = 0, 0, [], [], None
    if catalog.crossing.size:
        parts = passes.prepare(sum_crossing_labels, plan)
        queries = np.concatenate([part.sums.query for part in parts])
        require_moments(loss, 0, queries.size, catalog)
        counts = np.concatenate([part.n_rows for part in parts])
        n_rows = np.bincount(queries, counts).astype(np.int64)
        totals = functools.reduce(SquareSums.merged, [part.sums for part in parts])
        n_pairs, n_queries = int(n_rows @ n_rows), totals.query.size
        weights, squares = [float(totals.weight.sum())], [float(totals.products[0, 0])]
        plan = replace(plan, totals=totals)
        by_query = np.full(n_queries, 2.0) if mean_cost else totals.weight
        own = np.arange(n_queries)
        crossing = CrossingQueries(
            start=np.arange(n_queries + 1),
            edges=np.column_stack((own, own)),
            scale=1.0 / by_query,
            weight=0.5 * float(by_query.sum()),
        )
    reports = passes.prepare(lay_out_differences, plan)
    square = sum([*squares, *(report.square for report in reports)])
    if square == 0.0:
        raise no_pairs(catalog.n_kept, catalog.n_queries, catalog.labels[:1])
    if not np.isfinite(square):
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


def sum_crossing_labels(
    index: int, block: RowBlock, plan: DifferencePlan
) -> tuple[None, LabelSums]:
    """Return no state, and the counts and sums of a block's crossing queries."""
    rows = split_rows(block, plan.crossing)[1]
    labels = _labels(block)[rows.places, None]
    return None, LabelSums(np.diff(rows.start), sums_by_query(labels[:, :0], labels, rows))


def lay_out_differences(
    index: int, block: RowBlock, plan: DifferencePlan
) -> tuple[BlockLayout, Report]:
    """Return a block's layout and its report."""
    of_whole, rows = split_rows(block, plan.crossing)
    whole, report = _whole(block, of_whole, plan)
    if plan.totals is not None:
        query = rows.query_of
        label = _labels(block)[rows.places] - plan.totals.mean[query, 0]
        rows = rows._replace(code=query, label=label)
        if plan.mean_cost:
            by_row = rows.weight[0] if len(rows.weight) else np.ones(query.size)
            rows = rows._replace(weight=(2.0 * by_row / plan.totals.weight[query])[None])
    return BlockLayout(whole, rows), report


def _whole(
    block: RowBlock, of_whole: NDArray[np.bool_], plan: DifferencePlan
) -> tuple[Differences | None, Report]:
    """Return the differences of a block's whole queries, scaled, and their totals."""
    if not of_whole.any():
        return None, Report(0, 0, 0.0, 0.0)
    labels, weight = _labels(block), weight_of_whole(block, of_whole)
    differences = Differences.build(labels, block.qid, sample_weight=weight)
    columns = labels[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(centred_sums(columns[:, :0], columns, differences).products[0, 0])
    totals = differences.query_weight
    n_queries = int(np.count_nonzero(totals))
    report = Report(differences.n_pairs, n_queries, float(totals.sum()), square)
    if plan.mean_cost:
        total = np.where(totals > 0, 2.0, 0.0)
        differences = replace(differences, weight=2.0 * differences.share(), query_weight=total)
    return differences, report


def _labels(block: RowBlock) -> FloatArray:
    return np.asarray(block.y, dtype=np.float64)


def sampled_differences(prepared: PreparedDifferences) -> Differences | None:
    """Return the differences among the sampled rows; None where no labels differ.

    A row counts for the inverse of its probability, with `mean_cost` the rows of a query together
    for that of their query. Weights are scaled to the total of all rows.
    """
    sample, plan = prepared.catalog.sample, prepared.plan
    rows = sample.rows
    if not sample.n_rows:
        return None
    labels = _labels(rows)
    weight = 1.0 / sample.rate
    if rows.sample_weight is not None:
        weight = weight * rows.sample_weight
    differences = Differences.build(labels, rows.qid, sample_weight=weight)
    total = prepared.row_weight
    if plan.mean_cost:
        query_of = differences.query_of
        each = np.where(drawn_alone(sample), 1.0, 1.0 / sample.rate)
        of_query = np.zeros(differences.query_weight.size)
        of_query[query_of] = 2.0 * each
        by_row = differences.share() * of_query[query_of]
        differences = replace(differences, weight=by_row, query_weight=of_query)
        total = 2.0 * prepared.n_queries
    if not differences.target[differences.weight > 0].any():
        return None
    factor = total / float(differences.query_weight.sum())
    weight, query_weight = factor * differences.weight, factor * differences.query_weight
    return replace(differences, weight=weight, query_weight=query_weight)
