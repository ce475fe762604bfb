"""CSV and Parquet: columns by role, clear errors, files written whole or not at all."""

from __future__ import annotations

import numpy as np
import pytest

import pairrank.io.tables as tables
from pairrank.io import Rows, read_rows, write_rows
from pairrank.io.dispatch import format_of


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_blocks_of_rows_change_nothing(tmp_path, monkeypatch, name, size):
    monkeypatch.setattr(tables, "_CELLS_PER_TABLE", size)
    X = np.arange(40.0).reshape(20, 2)
    write_rows(tmp_path / name, Rows(X, X[:, 1] / 3, X[:, 0].astype(int)))
    rows = read_rows(tmp_path / name, qid="qid")
    assert np.array_equal(rows.X, X)
    assert np.array_equal(rows.y, X[:, 1] / 3)
    assert rows.qid.tolist() == list(range(0, 40, 2))
    assert rows.qid.dtype == np.int64


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a.TXT", "svmlight"), ("b.letor.xz", "svmlight"), ("c.csv.bz2", "csv"), ("-", "svmlight")],
)
def test_the_name_tells_the_format(name, expected):
    assert format_of(name) == expected
