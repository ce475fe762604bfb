"""The catalog and the layouts of blocks against preferences in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loss_table import NAMED
from memory_passes import cut_rows
from pairrank.blocks.catalog import describe
from pairrank.blocks.layouts import prepare
from pairrank.exceptions import NoPairsError
from pairrank.preferences import Levels


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


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(2, 40),
    n_queries=st.integers(1, 12),
    n_labels=st.integers(1, 5),
    kind=st.sampled_from(["none", "rows", "roles"]),
    borders=st.lists(st.integers(0, 40), max_size=6),
    identifiers=st.sampled_from(["numbers", "text", "objects", "none"]),
)
def test_totals_of_any_blocks(seed, n_rows, n_queries, n_labels, kind, borders, identifiers):
    """Also empty blocks, blocks of rows of weight 0, and more blocks than queries."""
    X, y, qid = some_rows(seed, n_rows, n_queries=n_queries, n_labels=n_labels)
    weights = some_weights(seed, n_rows, kind)
    layout = {} if identifiers == "none" else {"qid": qid}
    if identifiers == "text":
        layout["qid"] = np.array([f"q{number}" for number in qid])
    if identifiers == "objects":
        layout["qid"] = np.array([("q", number) for number in qid] + [None], dtype=object)[:-1]
    ends = sorted(min(border, n_rows) for border in borders)
    passes = cut_rows(X, y, ends, **layout, **weights)
    levels = Levels.build(y, layout.get("qid"), **weights)
    found = describe(passes)
    assert (found.n_rows, found.n_kept) == (n_rows, levels.row_of.size)
    assert found.n_queries == levels.n_queries
    if not levels.n_pairs:
        with pytest.raises(NoPairsError):
            prepare(passes, found, NAMED["squared_hinge"]())
        return
    prepared = prepare(passes, found, NAMED["squared_hinge"]())
    assert (prepared.n_pairs, prepared.pair_weight) == (levels.n_pairs, levels.pair_weight)
    rows = [state.crossing.places.size for state in passes.states]
    kept = sum(rows) + sum(
        whole_rows(state, block) for state, block in zip(passes.states, passes.blocks, strict=True)
    )
    assert kept == levels.row_of.size


def whole_rows(state, block):
    """Count the kept rows of a block that are in no crossing query."""
    kept = np.ones(block.y.size, dtype=bool)
    sample = np.ones(block.y.size) if block.sample_weight is None else block.sample_weight
    if block.winner_weight is not None:
        kept = sample * (block.winner_weight + block.loser_weight) > 0
    kept &= sample > 0
    kept[state.crossing.places] = False
    return int(np.count_nonzero(kept))
