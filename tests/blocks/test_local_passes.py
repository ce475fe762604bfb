"""LocalPasses: order, cached blocks, changed blocks, limits, errors, threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from block_sources import SMALLEST, cut, rows_of
from pairrank import RankSVM, RowBlocks, threads
from pairrank.blocks.cutting import KeptRows
from pairrank.blocks.local_passes import INTERPRETER_BYTES
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


def test_threads_share_the_blocks_that_are_prepared(monkeypatch):
    """Each task waits for the other one; the barrier fails unless both run at the same time."""
    monkeypatch.setattr(threads, "n_threads", lambda: 2)
    both = threading.Barrier(2, timeout=60)

    def task(index, block, shared):
        both.wait()
        return None, index

    passes = cut([30], X, Y)._passes()
    passes.describe(nothing, None)
    assert passes.prepare(task, None) == [0, 1]


def test_blocks_that_do_not_fit_are_read_again():
    started = []

    class Counted:
        shape = WIDE.shape
        dtype = WIDE.dtype

        def __getitem__(self, rows):
            started.append(rows.start)
            return WIDE[rows]

    size = WIDE[:10].nbytes
    limit = INTERPRETER_BYTES + 12 * 60 + Y.size * 8 + 3 * size + 2.5 * size
    passes = RowBlocks.from_arrays(Counted(), Y, batch_rows=10, memory_limit=limit)._passes()
    passes.describe(nothing, None)
    started.clear()
    found = passes.reduce(total, None, add)
    np.testing.assert_allclose(found, WIDE.sum(axis=0), rtol=1e-12, atol=1e-12)
    assert started == [20, 30, 40, 50]


@pytest.mark.parametrize("change", ["value", "order", "fewer", "more", "shorter"])
def test_a_block_that_changes_between_passes_is_named(change):
    calls = []

    def blocks():
        calls.append(1)
        again = len(calls) > 1
        yield WIDE[:20], Y[:20]
        if again and change == "fewer":
            return
        second = WIDE[20:40].copy()
        if again and change == "value":
            second[3, 4] += 1e-9
        if again and change == "order":
            second = second[::-1].copy()
        yield (second[:-1], Y[20:39]) if again and change == "shorter" else (second, Y[20:40])
        if again and change == "more":
            yield WIDE[40:], Y[40:]

    passes = RowBlocks(blocks, memory_limit=INTERPRETER_BYTES + 5.45e6)._passes()
    passes.describe(nothing, None)
    number = 2 if change == "more" else 1
    with pytest.raises(PairrankError, match=f"block {number} of blocks differs from the first"):
        passes.reduce(total, None, add)


def test_a_limit_below_the_blocks_in_flight_is_refused():
    passes = cut([30], WIDE, Y, memory_limit=INTERPRETER_BYTES + 5e6)._passes()
    with pytest.raises(PairrankError, match=r"blocks in flight 7 MB.*fewer rows per block"):
        passes.describe(nothing, None)


@pytest.mark.parametrize("n_together", [6, 8, 10, 12])
def test_validation_blocks_and_training_blocks_share_one_limit(n_together):
    """Blocks of 800 kB: 5 and 3 of them, of which 3 are in flight."""
    cuts = [10, 20, 30, 40]
    limit = INTERPRETER_BYTES + n_together * 8e5 + 1e4
    training = cut(cuts, WIDE[:50], Y[:50], memory_limit=limit)._passes()
    held = cut([10, 20], WIDE[:30], Y[:30])._passes(beside=training)
    training.describe(nothing, None)
    alone = training.cached_bytes
    held.describe(nothing, None)
    assert alone == min(5, n_together - 3) * 8e5
    assert training.cached_bytes + held.cached_bytes == min(8, n_together - 3) * 8e5
    assert training.cached_bytes == alone  # Blocks of validation rows are given up first.
    assert sum(training.reduce(total, None, add)) == pytest.approx(WIDE[:50].sum())
    assert sum(held.reduce(total, None, add)) == pytest.approx(WIDE[:30].sum())


def test_training_blocks_give_way_to_labels_of_validation_blocks():
    limit = INTERPRETER_BYTES + 6 * 8e5 + 1e4
    training = cut([10, 20, 30, 40], WIDE[:50], Y[:50], memory_limit=limit)._passes()
    training.describe(nothing, None)
    assert training.cached_bytes == 3 * 8e5
    thin = np.zeros((30_000, 1))
    held = RowBlocks.from_arrays(thin, thin[:, 0], batch_rows=10_000)._passes(beside=training)
    held.describe(nothing, None)
    assert training.cached_bytes == 1 * 8e5  # 40 bytes per row are 1.2 MB.
    assert sum(training.reduce(total, None, add)) == pytest.approx(WIDE[:50].sum())


def test_validation_rows_for_which_there_is_no_room_are_refused():
    limit = INTERPRETER_BYTES + 3e6
    training = cut([10, 20, 30, 40], WIDE[:50], Y[:50], memory_limit=limit)
    held = RowBlocks.from_arrays(np.zeros((100_000, 1)), np.zeros(100_000))
    with pytest.raises(PairrankError, match=r"100,000 rows \(validation rows included\) need 4 MB"):
        RankSVM().fit(training, X_val=held)


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, 2.0, 300.0]),
        np.array([0.1, 1e300, -5.0]),
        np.arange(1000) // 100,
        np.array(["b", "a", "b"]),
        np.array([2**40, 3], dtype=object),
        np.array([2**63, 3], dtype=np.uint64),
        np.repeat([0.5, 0.25], 500),
        np.array([True, False]),
    ],
)
def test_kept_labels_are_restored(values):
    from pairrank.blocks._contracts import RowBlock

    kept = KeptRows(RowBlock(np.zeros((values.size, 1)), values))
    found = kept.rows().y
    assert found.dtype == values.dtype
    assert np.array_equal(found, values)


@pytest.mark.parametrize("memory_limit", [1e9, SMALLEST], ids=["cached", "read again"])
def test_results_are_merged_in_the_order_of_the_blocks(memory_limit):
    passes = cut([12, 24, 36, 48], WIDE, Y, memory_limit=memory_limit)._passes()
    assert passes.describe(lambda index, block, shared: (index, shared), 7) == [
        (index, 7) for index in range(5)
    ]
    seen = passes.reduce(lambda index, *_: [index], None, concatenated)
    assert seen == list(range(5))
    assert (passes.n_blocks, passes.n_rows, passes.n_features) == (5, 60, 10_000)


def test_blocks_that_fit_are_read_once():
    n_calls = []

    def blocks():
        n_calls.append(1)
        yield X, Y

    passes = RowBlocks(blocks)._passes()
    passes.describe(nothing, None)
    for _ in range(3):
        assert np.array_equal(passes.reduce(total, None, add), X.sum(axis=0))
    assert len(n_calls) == 1


def test_readings_count_blocks_rows_and_bytes():
    seen = []
    passes = cut([10, 40], X, Y)._reporting(seen.append)._passes()
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
        RowBlocks(blocks)._passes().describe(fails, None)
    assert closed == [1]
