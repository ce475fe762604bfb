"""RowBlocks: what its sources deliver, the checks of each block, and changes to X."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from block_parts import parts_of
from block_sources import cut, rows_of
from pairrank import RowBlocks
from pairrank.blocks.memory_plan import INTERPRETER_BYTES
from pairrank.exceptions import PairrankError

X, Y, QID = rows_of(0)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_standardised_features_have_deviation_1(is_sparse):
    shifted = X * [1.0, 20.0, 0.3] + [3.0, -4.0, 0.0]
    rows = cut([20, 33], sparse.csr_array(shifted) if is_sparse else shifted, Y)
    found = np.vstack(
        [part.toarray() if is_sparse else part for part in parts_of(rows.standardized())]
    )
    mean = np.zeros(3) if is_sparse else shifted.mean(axis=0)
    np.testing.assert_allclose(found, (shifted - mean) / shifted.std(axis=0), rtol=1e-10)
    with pytest.raises(PairrankError, match="already"):
        rows.standardized().standardized()
    with pytest.raises(PairrankError, match="map the blocks first"):
        rows.standardized().map(abs)


@pytest.mark.parametrize("room", [1e3, 3e6, 4e7, 6e8, 1e12])
def test_blocks_take_at_most_an_eighth_of_a_small_memory_limit(room):
    """An X of more than 64 MiB that is never read; the least block has 64 KiB."""
    rows = np.broadcast_to(np.zeros(()), (1 << 22, 4))
    limit = INTERPRETER_BYTES + room
    source = RowBlocks.from_arrays(rows, memory_limit=limit)._source
    size = len(next(source.read(0, labelled=False)).X) * 32
    assert size <= max(1 << 16, min(1 << 26, room / 8))
    assert size >= min(1 << 26, max(1 << 16, room / 16))


def test_smaller_blocks_are_advised_only_where_they_help():
    X = np.zeros((1 << 16, 16))
    limit = INTERPRETER_BYTES + 12e6
    with pytest.raises(PairrankError, match=r"too small: .* or take fewer rows per block"):
        parts_of(RowBlocks.from_arrays(X, batch_rows=1 << 16, memory_limit=limit))
    with pytest.raises(PairrankError, match=r"too small: .* libraries 400 MB; raise it$"):
        RowBlocks.from_arrays(X, memory_limit=1e8)._passes()
