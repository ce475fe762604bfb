"""The catalog and the layouts of blocks against preferences in memory."""

from __future__ import annotations

import numpy as np
import pytest

from memory_passes import cut_rows
from pairrank.blocks.catalog import describe
from pairrank.blocks.layouts import prepare
from pairrank.losses import LOSSES
from pairrank.preferences import Levels, OrderGraph

GRAPHS = ["full", "chain", OrderGraph([(0, 2), (1, 3)])]
REDUCTIONS = ["rows", "query", "sum"]


def some_rows(seed, n_rows=240, *, n_queries=17, n_labels=4):
    """Return X, labels and identifiers of queries in random order."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 3))
    y = generator.integers(0, n_labels, n_rows).astype(np.float64)
    return X, y, generator.integers(0, n_queries, n_rows)


def some_weights(seed, n_rows, kind):
    generator = np.random.default_rng(seed)
    draw = lambda: generator.integers(0, 4, n_rows) / 2.0  # noqa: E731
    if kind == "none":
        return {}
    if kind == "rows":
        return {"sample_weight": draw()}
    return {"sample_weight": draw(), "winner_weight": draw(), "loser_weight": draw()}


@pytest.mark.parametrize("kind", ["none", "rows", "roles"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("graph", GRAPHS, ids=["full", "chain", "edges"])
@pytest.mark.parametrize("order", ["sorted", "mixed", "one"])
def test_totals_are_those_in_memory(graph, reduction, order, kind):
    X, y, qid = some_rows(3)
    if order == "sorted":
        qid = np.sort(qid)
    layout = {} if order == "one" else {"qid": qid}
    weights = some_weights(4, y.size, kind)
    passes = cut_rows(X, y, [50, 51, 130], **layout, **weights)
    catalog = describe(passes)
    found = prepare(passes, catalog, LOSSES["squared_hinge"], graph=graph, reduction=reduction)
    levels = Levels.build(y, layout.get("qid"), graph=graph, **weights)
    wanted = levels.reduced(reduction)
    assert (found.n_pairs, catalog.n_queries) == (wanted.n_pairs, wanted.n_queries)
    assert catalog.n_kept == wanted.row_of.size
    assert catalog.labels.tolist() == wanted.labels.tolist()
    # all weights are multiples of 1/2, so that every sum of products is exact
    assert (catalog.row_weight, found.pair_weight) == (wanted.row_weight, wanted.pair_weight)
    assert found.total_weight == pytest.approx(wanted.total_weight, rel=1e-13)
    sizes = np.diff(levels.group_start)
    assert found.n_ties == (sizes * (sizes - 1) // 2).sum()
