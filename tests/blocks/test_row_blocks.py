"""RowBlocks inside: the size of blocks, and an interrupt of the first evaluation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from block_sources import rows_of
from pairrank import RankSVM, RowBlocks
from pairrank.blocks.local_passes import INTERPRETER_BYTES

X, Y, QID = rows_of(0)


@pytest.mark.parametrize("room", [1e3, 3e6, 4e7, 6e8, 1e12])
def test_blocks_take_at_most_an_eighth_of_a_small_memory_limit(room):
    """An X of more than 64 MiB that is never read; the least block has 64 KiB."""
    rows = np.broadcast_to(np.zeros(()), (1 << 22, 4))
    limit = INTERPRETER_BYTES + room
    source = RowBlocks.from_arrays(rows, memory_limit=limit)._source
    size = len(next(source.read(0, labelled=False)).X) * 32
    assert size <= max(1 << 16, min(1 << 26, room / 8))
    assert size >= min(1 << 26, max(1 << 16, room / 16))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_an_interrupt_of_the_first_evaluation_keeps_the_start(loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 5)), rng.integers(0, 3, 900)
    ranker = RankSVM(loss=loss, warm_start=True).fit(X, y)
    start = ranker.coef_.copy()

    def interrupt(reading):
        if reading.number == 2:
            raise KeyboardInterrupt

    blocks = RowBlocks.from_arrays(X, y, batch_rows=250)._reporting(interrupt)
    with pytest.warns(ConvergenceWarning):
        ranker.set_params(C=2.0).fit(blocks)
    assert ranker.status_ == "interrupted"
    assert np.array_equal(ranker.coef_, start)
