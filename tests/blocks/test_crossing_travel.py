"""What travels: bytes of summaries and tables of crossing queries."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pairrank.blocks._contracts import BlockLayout
from pairrank.blocks.crossing import MomentQuery, crossing_sum, merged_summaries
from pairrank.losses import Hinge, Logistic, Square, SquaredHinge, Tube

LOSSES = {
    "squared hinge": SquaredHinge(),
    "hinge": Hinge(),
    "no margin": Hinge(0.0),
    "logistic": Logistic(),
    "tube": Tube(0.1, 2),
    "square": Square(),
}


def one_block(loss, n_rows, rng):
    """Return a block of a query of 5 levels: its layout and scores."""
    y = rng.integers(0, 5, n_rows).astype(np.int32)
    of_levels = not isinstance(loss, Tube | Square)
    layout = BlockLayout(
        n_rows, None, np.arange(n_rows, dtype=np.int32), np.zeros(1, dtype=np.int32),
        np.array([0, n_rows]), y if of_levels else 0 * y,
        np.empty(0) if of_levels else 1.0 * y, np.empty((0, n_rows)),
    )  # fmt: skip
    return layout, rng.normal(size=n_rows) + 0.3 * y


def bytes_of(loss, n_rows, n_blocks=4):
    """Return the bytes of all summaries, and of the merged table."""
    rng = np.random.default_rng(0)
    query = MomentQuery(0, 5, None, 1.0)
    if isinstance(loss, Tube | Square):
        query = MomentQuery(0, 1, np.zeros((1, 2), np.int64), 1.0)
    total = crossing_sum(loss, (query,)).placed(*2 * one_block(loss, 10_000, rng)[1:])
    up, merged = 0, None
    for _ in range(n_blocks):
        layout, scores = one_block(loss, n_rows // n_blocks, rng)
        summary = total.summary(scores, layout)
        up += len(pickle.dumps(summary))
        merged = summary if merged is None else merged_summaries(merged, summary)
    return up, len(pickle.dumps(total.finish(merged)))


@pytest.mark.parametrize("name", LOSSES)
def test_a_query_sends_as_many_bytes_for_many_rows_as_for_few(name):
    few, many = bytes_of(LOSSES[name], 10**5), bytes_of(LOSSES[name], 10**7)
    for first, second in zip(few, many, strict=True):  # Many rows have outer cells and boxes too.
        assert first / 1.1 <= second <= 1.5 * first
