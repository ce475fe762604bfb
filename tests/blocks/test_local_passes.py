"""LocalPasses: order, cached blocks, changed blocks, digests, limits, errors, threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from block_sources import rows_of
from pairrank import RowBlocks
from pairrank.blocks.checking import digest_of
from pairrank.blocks.local_passes import INTERPRETER_BYTES
from pairrank.exceptions import PairrankError

X, Y, QID = rows_of(0)
WIDE = np.random.default_rng(0).normal(size=(60, 10_000))


def nothing(*_):
    return 0


def total(index, X, state, shared):
    return X.sum(axis=0)


def add(first, second):
    first += second
    return first


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


def test_any_value_the_shape_and_the_format_change_the_digest_and_nothing_else_does():
    X = np.eye(6)
    found = [digest_of(X), digest_of(X.reshape(4, 9)), digest_of(sparse.csr_array(X))]
    for place in np.ndindex(X.shape):
        changed = X.copy()
        changed[place] += 1e-9
        found.append(digest_of(changed))
    assert len(set(found)) == len(found)
    assert digest_of(X) == digest_of(X.copy()) == digest_of(np.repeat(X, 2, axis=0)[::2])


@pytest.mark.parametrize("width", [20, 1021, 1024])
def test_rows_that_change_places_change_the_checksum(width):
    """Of as many words as leave none over."""
    X = np.random.default_rng(0).standard_normal((2042, width))
    for first, other in ((0, 1), (3, 3 + 1021)):
        changed = X.copy()
        changed[[first, other]] = X[[other, first]]
        assert digest_of(changed) != digest_of(X) == digest_of(X.copy())
