"""The preferences among sampled rows, and the offset and the rounding of features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray
from pairrank.blocks.catalog import Catalog
from pairrank.blocks.layouts import Prepared, present_graph
from pairrank.blocks.sample import SampleRows
from pairrank.design import Design
from pairrank.objective.problem import FAR
from pairrank.preferences import Levels
from pairrank.preferences._codes import query_codes

_UNIT = 2.0 * float(np.finfo(np.float64).eps)


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
    levels = Levels.build(
        rows.y,
        rows.qid,
        graph=graph,
        sample_weight=weight,
        winner_weight=rows.winner_weight,
        loser_weight=rows.loser_weight,
    )
    if not levels.n_pairs:
        return None
    first = levels.row_of[levels.query_start[:-1]]
    scale = np.where(alone[first], 1.0, 1.0 / sample.rate[first])
    if prepared.reduction == "query":
        paired = levels.query_pair_weight
        scale = np.divide(scale, paired, out=np.zeros(paired.size), where=paired > 0)
    total = float(np.sum(scale * levels.query_pair_weight))
    return replace(levels, pair_scale=scale * (prepared.layout_weight / total))


def drawn_alone(sample: SampleRows) -> NDArray[np.bool_]:
    """Return which rows belong to a query of which a block has drawn rows one by one."""
    rows = sample.rows
    if not sample.thinned.any() or rows.qid is None:
        return np.full(sample.n_rows, bool(sample.thinned.any()))
    queries, query_of = query_codes(rows.qid)
    thinned = np.bincount(query_of, sample.thinned, queries.size) > 0
    return thinned[query_of]


def origin_of(X: Any) -> FloatArray | None:
    """Return a row to subtract from every row where features have large offsets, else None.

    All pairs stay the same, and an offset costs no digits beyond those that X has lost.
    """
    if sparse.issparse(X) or not X.size:
        return None
    low, high = (np.asarray(end(X, axis=0), dtype=np.float64) for end in (np.min, np.max))
    with np.errstate(over="ignore"):
        size, spread = np.maximum(-low, high), high - low
    if not spread.any() or not (size > FAR * np.where(spread > 0, spread, spread.max())).any():
        return None
    return np.asarray(X[0], dtype=np.float64)


def rounding_of(catalog: Catalog, origin: FloatArray | None) -> FloatArray:
    """Return about a bound on the rounding of X' v for v of norm 1, (n_features,).

    The sums of squares are estimated from the sample.
    """
    sample = catalog.sample
    X = sample.rows.X if origin is None else sample.rows.X.astype(np.float64) - origin
    squares = Design(X).squares_transposed(1.0 / sample.rate)
    return _UNIT * np.sqrt(squares)
