"""ParquetBlocks: reading from a later block on."""

from __future__ import annotations

import numpy as np
import pyarrow.dataset as ds
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from block_sources import NAMES, parquet_folder, rows_of
from pairrank.io import parquet_blocks


@given(batch_rows=st.integers(1, 70), start=st.integers(0, 9), batch=st.integers(1, 20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reading_from_a_later_block_skips_those_before(tmp_path, batch_rows, start, batch):
    folder = parquet_folder(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_blocks, "_BATCH_ROWS", batch)
        for data in (str(folder / "*.parquet"), ds.dataset(folder, format="parquet")):
            source = parquet_blocks.ParquetBlocks(data, NAMES, batch_rows=batch_rows)
            found = [block[0].copy() for block in source.read(start, labelled=True)]
            wanted = rows_of(0)[0][start * batch_rows :].astype(np.float32)
            assert np.array_equal(np.vstack([wanted[:0], *found]), wanted)
