"""Layouts of blocks for differences of labels, with exact totals of rows, pairs and labels."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, PairLoss
from pairrank.blocks._contracts import BlockLayout, CrossingRows, Passes, RowBlock
from pairrank.blocks.catalog import Catalog
from pairrank.blocks.crossing import require_moments
from pairrank.blocks.groups import CrossingQueries
from pairrank.blocks.layouts import Prepared, split_rows, weight_of_whole
from pairrank.blocks.sample import SampleRows, drawn_alone, queries_of
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
    """The totals of the whole queries of a block, or of all crossing queries."""

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
class PreparedDifferences(Prepared):
    """Blocks that are laid out for differences."""

    size: float
    """The mean weight of a query."""
    spread: float
    """The standard deviation of the labels of a query."""


def prepare_differences(
    passes: Passes, catalog: Catalog, loss: PairLoss, *, mean_cost: bool = False
) -> PreparedDifferences:
    """Lay out every block for the differences of labels.

    A NoPairsError says that the labels of no query differ. Two rounds over the labels, one where no
    query crosses blocks; X is not read.
    """
    if catalog.sample.rows.labels.dtype.kind not in "biuf":
        raise PairrankError(
            "y holds text, but differences of labels need numbers: replace each label by its value"
        )
    plan = DifferencePlan(catalog.crossing, mean_cost)
    reports: list[Report] = []
    crossing = None
    if catalog.crossing.size:
        parts = passes.prepare(sum_crossing_labels, plan)
        queries = np.concatenate([part.sums.query for part in parts])
        require_moments(loss, 0, queries.size, catalog)
        counts = np.concatenate([part.n_rows for part in parts])
        n_rows = np.bincount(queries, counts).astype(np.int64)
        totals = functools.reduce(SquareSums.merged, [part.sums for part in parts])
        n_queries, weight = totals.query.size, float(totals.weight.sum())
        square = float(totals.products[0, 0])
        reports.append(Report(int(n_rows @ n_rows), n_queries, weight, square))
        plan = replace(plan, totals=totals)
        by_query = np.full(n_queries, 2.0) if mean_cost else totals.weight
        own = np.arange(n_queries)
        crossing = CrossingQueries(
            start=np.arange(n_queries + 1),
            edges=np.column_stack((own, own)),
            scale=1.0 / by_query,
            weight=0.5 * float(by_query.sum()),
        )
    reports += passes.prepare(lay_out_differences, plan)
    n_pairs, of_queries, weights, squares = zip(*reports, strict=True)
    n_queries, row_weight, square = sum(of_queries), math.fsum(weights), sum(squares)
    if square == 0.0:
        raise no_pairs(catalog.n_kept, catalog.n_queries, catalog.labels[:1])
    if not np.isfinite(square):
        raise PairrankError("the squares of y overflow: scale the labels down")
    total = 2.0 * n_queries if mean_cost else row_weight
    return PreparedDifferences(
        catalog=catalog,
        n_pairs=sum(n_pairs),
        n_ties=None,
        scale=1.0,
        crossing=crossing,
        sampled=_sampled_differences(catalog.sample, mean_cost, total),
        size=row_weight / n_queries,
        spread=float(np.sqrt(square / row_weight)),
    )


def sum_crossing_labels(
    index: int, block: RowBlock, state: Any, plan: DifferencePlan
) -> tuple[tuple[NDArray[np.bool_], CrossingRows], LabelSums]:
    """Return a block's rows, and the counts and sums of its crossing queries."""
    split = split_rows(block, plan.crossing)
    rows = split[1]
    labels = _labels(block)[rows.places, None]
    return split, LabelSums(np.diff(rows.start), sums_by_query(labels[:, :0], labels, rows))


def lay_out_differences(
    index: int, block: RowBlock, state: Any, plan: DifferencePlan
) -> tuple[BlockLayout, Report]:
    """Return a block's layout and its report; `state` are its rows where queries cross blocks."""
    of_whole, rows = split_rows(block, plan.crossing) if plan.totals is None else state
    whole, report = _whole(block, of_whole, plan)
    if plan.totals is not None:
        query = rows.query_of
        label = _labels(block)[rows.places] - plan.totals.mean[query, 0]
        rows = rows._replace(code=query, label=label)
        if plan.mean_cost:
            weight = 2.0 * rows.sample_weight / plan.totals.weight[query]
            rows = rows._replace(weight=weight[None])
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
    return np.asarray(block.labels, dtype=np.float64)


def _sampled_differences(sample: SampleRows, mean_cost: bool, total: float) -> Differences | None:
    """Return the differences among the sampled rows; None where no labels differ.

    A row counts for the inverse of its probability, with `mean_cost` the rows of a query together
    for that of their query. Weights are scaled to the total of all queries.
    """
    rows, weight = sample.rows, 1.0 / sample.rate
    if not sample.n_rows:
        return None
    if rows.sample_weight is not None:
        weight = weight * rows.sample_weight
    differences = Differences.build(_labels(rows), rows.qid, sample_weight=weight)
    by_query = differences.query_weight
    if mean_cost:
        query_of, by_query = queries_of(rows)[1], np.zeros(by_query.size)
        by_query[query_of] = np.where(drawn_alone(sample), 1.0, 1.0 / sample.rate)
        weight = differences.share() * by_query[query_of]
    if not differences.target[weight > 0].any():
        return None
    factor = total / float(by_query.sum())
    return replace(differences, weight=weight * factor, query_weight=by_query * factor)
