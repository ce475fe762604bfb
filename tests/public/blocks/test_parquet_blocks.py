"""RowBlocks.from_parquet: files, patterns, folders, datasets; columns, types and damage."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from block_sources import NAMES, all_rows, joined, parquet_folder, rows_of, table_of
from pairrank import RowBlocks
from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError
from pairrank.io import read_rows

X, Y, QID = rows_of(0)


@pytest.fixture
def folder(tmp_path):
    return parquet_folder(tmp_path)


@pytest.mark.parametrize("kind", ["pattern", "folder", "files", "dataset"])
def test_every_way_to_name_files_gives_the_same_rows(folder, kind):
    files = [str(folder / f"{number}.parquet") for number in range(3)]
    data = {
        "pattern": str(folder / "*.parquet"),
        "folder": folder,
        "files": files,
        "dataset": ds.dataset(folder, format="parquet"),
    }[kind]
    rows = RowBlocks.from_parquet(data, **NAMES, batch_rows=7)
    labels = rows.labels()
    assert np.array_equal(joined(rows), X.astype(np.float32))
    assert np.array_equal(labels.y, Y)
    assert np.array_equal(labels.qid, QID)
    assert rows.feature_names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("dtype", "asked", "wanted"),
    [
        ("f4", None, "f4"),
        ("f8", None, "f8"),
        ("i2", None, "f8"),
        ("f8", "f4", "f4"),
        ("f4", "f8", "f8"),
    ],
)
def test_float32_stays_float32(tmp_path, dtype, asked, wanted):
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(dtype=dtype), path)
    parts = all_rows(RowBlocks.from_parquet(path, **NAMES, dtype=asked))
    assert parts[0].dtype == np.dtype(wanted)
    assert np.array_equal(parts[0], X.astype(dtype).astype(wanted))


def test_text_and_weights_are_those_of_a_file_read_as_a_whole(tmp_path):
    path = tmp_path / "rows.parquet"
    grade = np.array(["low", "mid", "high"])[Y.astype(int)]
    query = pa.array([f"q{each}" for each in QID]).dictionary_encode()
    table = table_of().set_column(0, "query", query).append_column("w", pa.array(Y + 1))
    table = table.set_column(table.schema.get_field_index("grade"), "grade", pa.array(grade))
    pq.write_table(table, path, row_group_size=9)
    names = {**NAMES, "weight": "w"}
    found = RowBlocks.from_parquet(path, **names, batch_rows=11).labels()
    wanted = read_rows(path, **names)
    assert np.array_equal(found.y, wanted.y)
    assert np.array_equal(found.qid, wanted.qid)
    assert np.array_equal(found.sample_weight, wanted.weight)


def test_folders_that_name_a_column_give_it(tmp_path):
    for part in range(2):
        (tmp_path / f"query={part}").mkdir()
        table = table_of(slice(30 * part, 30 * part + 30)).drop_columns(["query"])
        pq.write_table(table, tmp_path / f"query={part}" / "rows.parquet")
    rows = RowBlocks.from_parquet(tmp_path, **NAMES, batch_rows=13)
    assert np.array_equal(rows.labels().qid, np.repeat([0, 1], 30))
    assert np.array_equal(joined(rows), X.astype(np.float32))


def test_an_empty_cell_names_its_row(tmp_path):
    path = tmp_path / "rows.parquet"
    cells = pa.array([None if row == 41 else 0.5 for row in range(60)], pa.float32())
    pq.write_table(table_of(d=cells), path)
    rows = RowBlocks.from_parquet(path, **NAMES, batch_rows=20)
    with pytest.raises(FileFormatError, match=r"block 2 of .*row 41 \(from 0\): column 'd'"):
        all_rows(rows)


def test_unknown_columns_and_files_are_refused(folder):
    with pytest.raises(FileFormatError, match=r"no column 'grad'.*did you mean 'grade'"):
        RowBlocks.from_parquet(folder, label="grad")
    for missing in ("none.parquet", "none-*.parquet"):
        with pytest.raises(FileAccessError, match="cannot read"):
            RowBlocks.from_parquet(folder / missing)
    with pytest.raises(PairrankError, match="batch_rows must be"):
        RowBlocks.from_parquet(folder, **NAMES, batch_rows=0)


def test_files_without_a_column_and_damaged_files_are_refused(folder):
    pq.write_table(table_of(slice(0, 5)).drop_columns(["b"]), folder / "9.parquet")
    with pytest.raises(FileFormatError, match=r"9.parquet: no column 'b'"):
        all_rows(RowBlocks.from_parquet(str(folder / "*.parquet"), **NAMES))
    path = folder / "1.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(FileFormatError, match="damaged"):
        all_rows(RowBlocks.from_parquet(str(folder / "*.parquet"), **NAMES))


def test_text_features_are_refused_or_dropped(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(city=["x"] * 60), path)
    with pytest.raises(FileFormatError, match="city"):
        RowBlocks.from_parquet(path, **NAMES)
    assert RowBlocks.from_parquet(path, **NAMES, drop_text=True).feature_names == ["a", "b", "c"]
    assert RowBlocks.from_parquet(path, **NAMES, drop=["city"]).n_features == 3


@pytest.mark.parametrize("n_rows", [20, 59, 60])
def test_rows_that_change_after_the_files_are_opened_are_refused(tmp_path, n_rows):
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(), path)
    rows = RowBlocks.from_parquet(path, **NAMES, batch_rows=20)
    assert len(all_rows(rows)) == 3
    more = [table_of(slice(0, n_rows))] * (2 if n_rows == 60 else 1)
    pq.write_table(pa.concat_tables(more), path)
    with pytest.raises(FileFormatError, match="number of rows has changed"):
        all_rows(rows)
