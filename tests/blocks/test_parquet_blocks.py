"""RowBlocks.from_parquet: files, patterns, folders, datasets; columns, types and damage."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from block_sources import rows_of
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
