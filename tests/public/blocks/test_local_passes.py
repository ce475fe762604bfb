"""LocalPasses: order, reading ahead, cached blocks, changed blocks, limits, errors, threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from block_sources import SMALLEST, cut, rows_of
from pairrank import RowBlocks
from pairrank.exceptions import PairrankError

X, Y, QID = rows_of(0)
WIDE = np.random.default_rng(0).normal(size=(60, 10_000))


def nothing(*_):
    return 0


def concatenated(first, second):
    return [*first, *second]


def total(index, X, state, shared):
    return X.sum(axis=0)


def add(first, second):
    first += second
    return first


def keep_labels(index, block, shared):
    assert block.X is None
    return block.y, float(block.y.sum())


def reading_threads():
    return [each for each in threading.enumerate() if each.name == "pairrank-reader"]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert reading_threads() == []


@pytest.mark.parametrize("memory_limit", [1e9, SMALLEST], ids=["cached", "read again"])
def test_results_are_merged_in_the_order_of_the_blocks(memory_limit):
    passes = cut([12, 24, 36, 48], WIDE, Y, memory_limit=memory_limit).passes()
    assert passes.describe(lambda index, block, shared: (index, shared), 7) == [
        (index, 7) for index in range(5)
    ]
    seen = passes.reduce(lambda index, *_: [index], None, concatenated)
    assert seen == list(range(5))
    assert (passes.n_blocks, passes.n_rows, passes.n_features) == (5, 60, 10_000)


def test_states_come_from_the_labels_kept_by_the_first_pass():
    passes = cut([10, 20], X, Y).passes()
    passes.describe(nothing, None)
    assert passes.prepare(keep_labels, None) == [Y[:10].sum(), Y[10:20].sum(), Y[20:].sum()]
    states = passes.reduce(lambda index, X, state, shared: [*state], None, concatenated)
    assert np.array_equal(states, Y)


def test_blocks_that_fit_are_read_once():
    n_calls = []

    def blocks():
        n_calls.append(1)
        yield X, Y

    passes = RowBlocks(blocks).passes()
    passes.describe(nothing, None)
    for _ in range(3):
        assert np.array_equal(passes.reduce(total, None, add), X.sum(axis=0))
    assert len(n_calls) == 1


def test_a_limit_below_the_state_is_refused_before_rows_are_read():
    class Unread:
        shape = (10**9, 4)
        dtype = np.dtype(np.float32)

        def __getitem__(self, rows):
            raise AssertionError("no row may be read")

    with pytest.raises(PairrankError, match=r"1,000,000,000 rows need 12,000 MB .*raise it"):
        RowBlocks.from_arrays(Unread()).passes()


def test_readings_count_blocks_rows_and_bytes():
    seen = []
    passes = cut([10, 40], X, Y).reporting(seen.append).passes()
    passes.describe(nothing, None)
    passes.reduce(nothing, None, max)
    assert [reading[:3] for reading in seen] == [
        *((1, 1, 10), (1, 2, 40), (1, 3, 60)),
        *((2, 1, 10), (2, 2, 40), (2, 3, 60)),
    ]
    assert [reading.n_bytes for reading in seen[:3]] == [10 * 24, 40 * 24, 60 * 24]
    assert [reading.all_blocks for reading in seen] == [None] * 3 + [3] * 3


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_error_of_a_task_ends_the_reader(error):
    closed = []

    def blocks():
        try:
            while True:
                yield X, Y
        finally:
            closed.append(1)

    def fails(index, block, shared):
        if index == 3:
            raise error
        return 0

    with pytest.raises(error):
        RowBlocks(blocks).passes().describe(fails, None)
    assert closed == [1]
