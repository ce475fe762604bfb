"""Side files with the rows per query: LightGBM's .query, XGBoost's .group, or a named file."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest

from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io import read_rows

ROWS = "1 1:2\n0 1:3\n2 1:4\n"


@pytest.mark.parametrize("suffix", [".query", ".group"])
@pytest.mark.parametrize("name", ["rows.txt", "rows.txt.gz", "rows.csv"])
def test_a_side_file_gives_the_queries(tmp_path, name, suffix):
    text = ROWS if "txt" in name else "label,a\n1,2\n0,3\n2,4\n"
    data = gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
    (tmp_path / name).write_bytes(data)
    assert read_rows(tmp_path / name).qid is None
    side = tmp_path / (name + suffix)
    side.write_text("2\r\n1\r\n")
    assert read_rows(tmp_path / name).qid.tolist() == [1, 1, 2]
    assert read_rows(str(tmp_path / name)).qid.tolist() == [1, 1, 2]
    side.rename(tmp_path / (name.removesuffix(".gz") + suffix))
    assert read_rows(tmp_path / name).qid.tolist() == [1, 1, 2]


def test_a_named_side_file_is_taken_before_one_that_is_found(tmp_path):
    (tmp_path / "rows.txt").write_text(ROWS)
    (tmp_path / "rows.txt.query").write_text("3\n")
    (tmp_path / "sizes").write_bytes(gzip.compress("\ufeff1\n0\n\n2".encode()))
    rows = read_rows(tmp_path / "rows.txt", query_sizes=tmp_path / "sizes")
    assert rows.qid.tolist() == [1, 3, 3]
    assert rows.qid.dtype == np.int64
    assert read_rows(io.BytesIO(ROWS.encode()), query_sizes=tmp_path / "sizes").qid[0] == 1


def test_queries_of_the_rows_come_first(tmp_path):
    (tmp_path / "rows.txt").write_text("1 qid:7 1:2\n")
    (tmp_path / "rows.txt.query").write_text("nonsense")
    assert read_rows(tmp_path / "rows.txt").qid.tolist() == [7]
    with pytest.raises(PairrankError, match="queries of their own; leave out the rows per query"):
        read_rows(tmp_path / "rows.txt", query_sizes=tmp_path / "rows.txt.query")


def test_two_side_files_are_refused(tmp_path):
    (tmp_path / "rows.txt").write_text(ROWS)
    for suffix in ("query", "group"):
        (tmp_path / f"rows.txt.{suffix}").write_text("3\n")
    message = r"query and .*group both give rows per query; name one"
    with pytest.raises(PairrankError, match=message):
        read_rows(tmp_path / "rows.txt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no lines"),
        ("2\nx\n", "line 2: 'x' is not a number of rows"),
        ("2\n-1\n", "line 2: '-1' is not"),
        ("1.5\n", "line 1: '1.5' is not"),
        ("9" * 400 + "\n", "the data has 3"),
        ("2\n2\n", "its 2 queries have 4 rows, the data has 3"),
        (f"{2**62}\n" * 8 + "3\n", "the data has 3"),
    ],
)
def test_bad_side_files_are_refused(tmp_path, text, message):
    (tmp_path / "rows.txt").write_text(ROWS)
    (tmp_path / "rows.txt.group").write_text(text)
    with pytest.raises(FileFormatError, match=f"rows.txt.group.*{message}"):
        read_rows(tmp_path / "rows.txt")
