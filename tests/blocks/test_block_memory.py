"""Memory of blocks: used again once no one holds it, and never before."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from block_sources import rows_of
from pairrank.io import parquet_blocks
from pairrank.io._block_memory import BlockMemory

X, Y, _ = rows_of(0)
FLOAT = np.dtype(np.float32)


def address_of(array):
    return array.__array_interface__["data"][0]


def test_memory_of_a_dropped_block_is_used_again():
    memory = BlockMemory(10, 3, FLOAT)
    first = memory.take(10)
    place = address_of(first)
    assert first.shape == (10, 3)
    assert first.flags.f_contiguous
    del first
    assert address_of(memory.take(4)) == place


@pytest.mark.parametrize("hold", [lambda X: X, lambda X: X[2:3], lambda X: X.T[0]])
def test_memory_that_an_array_refers_to_is_not_used_again(hold):
    memory = BlockMemory(10, 3, FLOAT)
    held = [hold(memory.take(10)) for _ in range(6)]
    for value, each in enumerate(held):
        each[:] = value
    assert all((each == value).all() for value, each in enumerate(held))


def test_blocks_of_a_pass_share_three_places(tmp_path):
    """So many are in use where the reader is a block ahead."""
    path = tmp_path / "rows.parquet"
    columns = {name: X[:, at].astype(FLOAT) for at, name in enumerate("abc")}
    pq.write_table(pa.table({**columns, "grade": Y}), path, row_group_size=7)
    source = parquet_blocks.ParquetBlocks(path, {"label": "grade"}, batch_rows=10)
    places, in_use = set(), None
    for block in source.read(0, labelled=False):
        places.add(address_of(block[0]))
        in_use = block
    assert in_use is not None
    assert len(places) <= 3


@pytest.mark.parametrize("group_rows", [7, 60])
def test_blocks_that_are_kept_stay_as_they_were(tmp_path, group_rows):
    path = tmp_path / "rows.parquet"
    columns = {name: X[:, at].astype(FLOAT) for at, name in enumerate("abc")}
    pq.write_table(pa.table({**columns, "grade": Y}), path, row_group_size=group_rows)
    source = parquet_blocks.ParquetBlocks(path, {"label": "grade"}, batch_rows=10)
    kept = [block[0] for block in source.read(0, labelled=True)]
    assert np.array_equal(np.vstack(kept), X.astype(FLOAT))
