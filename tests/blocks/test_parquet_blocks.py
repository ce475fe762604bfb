"""RowBlocks.from_parquet: files, patterns, folders, datasets; columns, types and damage."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from block_parts import parts_of
from block_sources import rows_of
from pairrank import RowBlocks
from pairrank.io import parquet_blocks

X, Y, QID = rows_of(0)
NAMES = {"label": "grade", "qid": "query"}


def table_of(rows=slice(None), dtype=np.float32, **more):
    features = {name: X[rows, at].astype(dtype) for at, name in enumerate("abc")}
    return pa.table({"query": QID[rows], **features, "grade": Y[rows].astype("i1"), **more})


@pytest.fixture
def folder(tmp_path):
    for number, rows in enumerate([slice(0, 25), slice(25, 26), slice(26, 60)]):
        pq.write_table(table_of(rows), tmp_path / f"{number}.parquet", row_group_size=10)
    return tmp_path


@given(batch_rows=st.integers(1, 70), start=st.integers(0, 9), batch=st.integers(1, 20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reading_from_a_later_block_skips_those_before(folder, batch_rows, start, batch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_blocks, "_BATCH_ROWS", batch)
        for data in (str(folder / "*.parquet"), ds.dataset(folder, format="parquet")):
            source = parquet_blocks.ParquetBlocks(data, NAMES, batch_rows=batch_rows)
            found = [block[0] for block in source.read(start, labelled=True)]
            wanted = X[start * batch_rows :].astype(np.float32)
            assert np.array_equal(np.vstack([wanted[:0], *found]), wanted)


@pytest.mark.parametrize("batch_rows", [10, 9])
def test_only_the_columns_and_row_groups_needed_are_read(folder, monkeypatch, batch_rows):
    """Row groups of 10 rows are read as wholes if a block is as large, else in batches."""
    read = []
    in_batches, as_whole = pq.ParquetFile.iter_batches, pq.ParquetFile.read_row_group

    def watched(self, *args, columns, row_groups, **more):
        read.append((columns, row_groups))
        return in_batches(self, *args, columns=columns, row_groups=row_groups, **more)

    def watched_group(self, number, *, columns, **more):
        read.append((columns, number))
        return as_whole(self, number, columns=columns, **more)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", watched)
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", watched_group)
    source = parquet_blocks.ParquetBlocks(
        str(folder / "*.parquet"), NAMES, features=["c", "a"], batch_rows=batch_rows
    )
    start = 10 // batch_rows
    found = np.vstack([block[0] for block in source.read(start, labelled=False)])
    assert np.array_equal(found, X[start * batch_rows :, [2, 0]].astype(np.float32))
    wanted = {10: [1, 2, 0, 0, 1, 2, 3], 9: [[0, 1, 2], 0, [0, 1, 2, 3]]}[batch_rows]
    assert read == [(["c", "a"], groups) for groups in wanted]


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_columns_of_a_row_group_are_decoded_in_parts(folder, monkeypatch, n_threads):
    read = []
    as_whole = pq.ParquetFile.read_row_group

    def watched(self, number, *, columns, **more):
        read.append(len(columns))
        return as_whole(self, number, columns=columns, **more)

    monkeypatch.setattr(parquet_blocks, "_PART_BYTES", 4)
    monkeypatch.setattr(pa, "cpu_count", lambda: n_threads)
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", watched)
    rows = RowBlocks.from_parquet(folder / "0.parquet", **NAMES, batch_rows=12)
    labels = rows.labels()
    assert np.array_equal(labels.y, Y[:25])
    assert np.array_equal(labels.qid, QID[:25])
    read.clear()
    assert np.array_equal(np.vstack(parts_of(rows)), X[:25].astype(np.float32))
    parts = {1: [1, 1, 1, 2], 2: [2, 1, 2], 5: [3, 2]}[n_threads]
    assert read == parts * (len(read) // len(parts))
