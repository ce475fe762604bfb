"""The differences among sampled rows, scaled to stand for those of all blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pairrank.blocks.differences import PreparedDifferences
from pairrank.blocks.sampled import drawn_alone
from pairrank.preferences import Differences


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
