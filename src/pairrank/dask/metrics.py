"""Metrics of dask collections: exact, also for queries that cross partitions."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from pairrank._docstrings import described_by, entries, parameters_of
from pairrank._protocols import FloatArray
from pairrank._validation import check_numbers
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.catalog import crossing_queries, kept_rows, query_numbers
from pairrank.blocks.cutting import rows_at, stacked
from pairrank.blocks.sample import queries_of
from pairrank.dask import tasks
from pairrank.dask.clients import client_of, computed, kept, shared_by_tasks, task_of
from pairrank.dask.partitions import check_alike, check_lengths, column_of
from pairrank.exceptions import NoPairsWarning
from pairrank.metrics import auc_score as auc_in_memory
from pairrank.metrics import ndcg_score as ndcg_in_memory
from pairrank.metrics import pairwise_accuracy as accuracy_in_memory
from pairrank.metrics._inputs import (
    RowArguments,
    check_preferences,
    check_rows,
    ratios,
    rows_given,
    takes_rows,
)
from pairrank.metrics.lists import check_relevant_from, is_relevant
from pairrank.metrics.pairwise import right_and_total
from pairrank.preferences import Graph as OrderOfLabels
from pairrank.preferences import as_graph

Measure = Callable[..., FloatArray]
"""From checked labels, scores, queries and weights to a tally: an array of two sums over queries.

They are what is gained, and what can be gained; their ratio is the metric.
"""

_SHARED = entries("""
y_true : dask Array or Series of shape (n_rows,)
    Labels.
scores : dask Array or Series of shape (n_rows,)
    The scores to judge, such as `predict` of a ranker gives; higher is better.
qid, sample_weight, winner_weight, loser_weight : dask Array or Series, optional
    Queries and weights of rows, as in `pairrank.metrics`. Without qid all rows are one query.
client : distributed.Client, optional
    The cluster; None: the client of this process.
""")
_SHARED["Returns"] = """float
    The same number as the metric of this name in `pairrank.metrics` gives for all rows; NaN, with a
    NoPairsWarning, where there is nothing to judge."""
_SHARED["Raises"] = """PairrankError
    If collections are cut in different ways, a value is not finite, or an option is out of
    range."""
_SHARED[
    "Notes"
] = """Two passes over labels and scores. Queries within a partition are judged there. The rows
of other queries go to one worker: about 8 bytes per row for each argument."""


@described_by(parameters_of(accuracy_in_memory), _SHARED)
@takes_rows("")
def pairwise_accuracy(
    y_true: Any,
    scores: Any,
    *,
    graph: OrderOfLabels = "full",
    ties: Literal["half", "correct", "error"] = "half",
    average: Literal["pairs", "queries", "edges"] = "pairs",
    client: Any = None,
    **rows: Unpack[RowArguments],
) -> float:
    """Return the share of preferences that the scores order correctly, over all partitions."""
    options: Any = {"graph": as_graph(graph), "ties": ties, "average": average}
    accuracy_in_memory([0.0, 1.0], [0.0, 1.0], **{**options, "graph": "full"})
    measure = functools.partial(_tally_pairs, **options)
    return _value(measure, y_true, scores, rows, client, "no preference joins two of the rows")


@described_by(parameters_of(auc_in_memory), _SHARED)
@takes_rows("")
def auc_score(
    y_true: Any,
    scores: Any,
    *,
    relevant_from: float | None = None,
    ties: Literal["half", "correct", "error"] = "half",
    average: Literal["pairs", "queries"] = "pairs",
    client: Any = None,
    **rows: Unpack[RowArguments],
) -> float:
    """Return the area under the ROC curve of relevant rows, over all partitions."""
    check_relevant_from(relevant_from)
    options: Any = {"ties": ties, "average": average}
    auc_in_memory([0.0, 1.0], [0.0, 1.0], **options)
    options["relevant_from"] = relevant_from
    measure = functools.partial(_tally_classes, **options)
    return _value(
        measure, y_true, scores, rows, client, "no query has both relevant and other rows"
    )


_OF_QUERIES = entries("""
qid : dask Array or Series of shape (n_rows,), optional
    Queries; None: all rows are one query.
sample_weight : dask Array or Series of shape (n_rows,), optional
    Weights, constant in each query: the query's weight in the mean.
""")


@described_by(parameters_of(ndcg_in_memory), _SHARED, _OF_QUERIES)
def ndcg_score(
    y_true: Any,
    scores: Any,
    *,
    k: int | None = None,
    discount: Literal["standard", "letor"] = "standard",
    gain: Literal["exponential", "linear"] = "exponential",
    empty: float | Literal["skip"] = 0.0,
    qid: Any = None,
    sample_weight: Any = None,
    client: Any = None,
) -> float:
    """Return NDCG@k averaged over the queries of all partitions."""
    options: Any = {"k": k, "discount": discount, "gain": gain, "empty": empty}
    ndcg_in_memory([0.0, 1.0], [0.0, 1.0], **options)
    rows: RowArguments = {"qid": qid, "sample_weight": sample_weight}
    measure = functools.partial(_tally_lists, **options)
    return _value(measure, y_true, scores, rows, client, "no query has a relevant row")


def _tally_pairs(
    y: Any,
    scores: Any,
    *,
    graph: Any = "full",
    ties: str,
    average: str,
    **rows: Unpack[RowArguments],
) -> FloatArray:
    """Return the tally of `pairwise_accuracy`."""
    judged, preferences = check_preferences(y, scores, graph, rows)
    right, total = right_and_total(judged, preferences, ties, by_edge=average == "edges")
    if average == "queries":
        return np.array([np.nansum(ratios(right, total)), np.count_nonzero(total)])
    return np.array([right.sum(), total.sum()], dtype=np.float64)


def _tally_classes(y: Any, scores: Any, *, relevant_from: float | None, **how: Any) -> FloatArray:
    """Return the tally of `auc_score`."""
    labels = check_rows(y, scores, {}).labels
    return _tally_pairs(is_relevant(labels, relevant_from).astype(float), scores, **how)


def _tally_lists(
    y: Any, scores: Any, *, qid: Any = None, sample_weight: Any = None, **how: Any
) -> FloatArray:
    """Return the tally of `ndcg_score`: the sum of the values of queries, by their weights."""
    qid = np.zeros(len(y), dtype=np.int64) if qid is None else qid
    values = ndcg_in_memory(y, scores, qid=qid, sample_weight=sample_weight, per_query=True, **how)
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    order = np.argsort(weight)  # the last row of a query gives its largest weight
    weights = dict(zip(qid[order].tolist(), weight[order].tolist(), strict=True))
    tallies = [(weights[query] * value, weights[query]) for query, value in values.items()]
    return np.reshape(tallies, (-1, 2)).sum(axis=0)


def _value(
    measure: Measure, y: Any, scores: Any, rows: Mapping[str, Any], client: Any, nothing: str
) -> float:
    """Return the metric of all queries; NaN with a warning, for the reason `nothing`, of none.

    Tallies are taken where the rows are; those of crossing queries in one task.
    """
    given = {"y_true": y, **rows_given(rows, "")[0]}
    columns = [column_of(part, name) for name, part in {**given, "scores": scores}.items()]
    check_alike(columns)
    client = client_of(client)
    load = functools.partial(_load, tuple("y" if name == "y_true" else name for name in given))
    parts = zip(*(column.parts for column in columns), strict=True)
    loaded = kept(client, [task_of(load, at, *each) for at, each in enumerate(parts)])
    queries = computed(client, [task_of(_queries, rows) for rows in loaded])
    crossing = shared_by_tasks(crossing_queries(queries)[1])
    judged = [task_of(_judge, measure, rows, crossing) for rows in loaded]
    gained, total = computed(client, [task_of(_judge_together, measure, judged)])[0]
    if total == 0:
        warnings.warn(f"{nothing}, so the metric is NaN", NoPairsWarning, stacklevel=3)
        return float("nan")
    return float(gained / total)


def _load(names: tuple[str, ...], number: int, *parts: Any) -> RowBlock:
    """Return the checked labels, queries and weights of a partition, with the scores as X."""
    *labels, scores = parts
    block = tasks.load_labels(names, number, *labels).block
    check_lengths(number, "scores", len(scores), "y_true", len(labels[0]))
    return block._replace(X=check_numbers(scores, "scores"))


def _queries(rows: RowBlock) -> NDArray[Any]:
    """Return the queries of kept rows; without qid a single 0."""
    queries, query_of = queries_of(rows)
    return queries[np.unique(query_of[kept_rows(rows)])]


@tasks.alone
def _judge(
    measure: Measure, block: RowBlock, crossing: NDArray[Any]
) -> tuple[FloatArray, RowBlock]:
    """Return the tally of a partition's whole queries, and the rows of the others."""
    crosses = query_numbers(block, crossing) >= 0
    return _tally_of(measure, rows_at(block, ~crosses)), rows_at(block, crosses)


@tasks.alone
def _judge_together(measure: Measure, judged: list[tuple[FloatArray, RowBlock]]) -> FloatArray:
    """Return the tally of all partitions and of the queries that cross them."""
    of_crossing = _tally_of(measure, stacked([rows for _, rows in judged]))
    return np.sum([*(tally for tally, _ in judged), of_crossing], axis=0)


def _tally_of(measure: Measure, block: RowBlock) -> FloatArray:
    if not block.X.size or (block.sample_weight is not None and not block.sample_weight.any()):
        return np.zeros(2)
    rows = {name: part for name, part in block._asdict().items() if part is not None}
    return measure(scores=rows.pop("X"), **rows)
