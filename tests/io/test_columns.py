"""Tables of results as CSV and Parquet."""

from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow.parquet as pq
import pytest

from pairrank.io.tables import write_columns

COLUMNS = {
    "qid": np.array(["a,b", 'say "x"', "c"]),
    "ndcg@10": np.array([0.5, np.nan, 1e-300]),
    "none": np.array([None, None, None]),
    "n": np.array([1, 2, 3]),
}


def test_csv_has_one_line_per_row_and_empty_cells(tmp_path):
    write_columns(tmp_path / "t.csv", COLUMNS)
    with (tmp_path / "t.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["qid", "ndcg@10", "none", "n"],
            ["a,b", "0.5", "", "1"],
            ['say "x"', "", "", "2"],
            ["c", "1e-300", "", "3"],
        ]


@pytest.mark.parametrize("name", ["t.parquet", "T.PARQUET"])
def test_parquet_keeps_types(tmp_path, name):
    write_columns(tmp_path / name, COLUMNS)
    found = pq.read_table(tmp_path / name)
    assert found.to_pydict() == {
        "qid": ["a,b", 'say "x"', "c"],
        "ndcg@10": [0.5, None, 1e-300],
        "none": [None] * 3,
        "n": [1, 2, 3],
    }
    assert [str(field.type) for field in found.schema] == ["string", "double", "string", "int64"]


def test_a_file_object_takes_csv():
    target = io.BytesIO()
    write_columns(target, {"a": np.array([1.0])})
    assert target.getvalue() == b"a\n1\n"


def test_columns_are_written_as_csv_or_parquet(tmp_path):
    names = np.empty(2, dtype=object)
    names[:] = ["a, b", 'c"']
    columns = {"item": names, "score": np.array([0.1, -2.0]), "n": np.array([3, 4])}
    write_columns(tmp_path / "x.csv", columns)
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[1:] == ['"a, b",0.1,3', '"c""",-2,4']
    write_columns(tmp_path / "x.parquet", columns)
    assert pq.read_table(tmp_path / "x.parquet").to_pydict() == {
        name: values.tolist() for name, values in columns.items()
    }
