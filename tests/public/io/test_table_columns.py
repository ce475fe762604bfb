"""Columns of CSV and Parquet: those of text, and those that do not exist."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from pairrank import RowBlocks
from pairrank.exceptions import FileFormatError, InputTypeError, PairrankError
from pairrank.io import Rows, read_rows


def read_csv(text: str, **options) -> Rows:
    return read_rows(io.BytesIO(text.encode()), format="csv", **options)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_columns_of_text_are_refused_at_once_or_left_out(tmp_path, format):
    path = tmp_path / f"rows.{format}"
    words = {"label": [1.0, 0.0], "a": [1.5, 2.0], "kind": ["film", "show"], "when": ["x", "y"]}
    words["b"] = [3, 4]
    if format == "csv":
        cells = zip(*words.values(), strict=True)
        path.write_text("\n".join([",".join(words), *(",".join(map(str, row)) for row in cells)]))
    else:
        pq.write_table(pa.table(words), path)
    with pytest.raises(FileFormatError, match=r"text or dates: 'kind', 'when'; .* drop_text=True"):
        read_rows(path)
    rows = read_rows(path, drop_text=True)
    assert rows.feature_names == ["a", "b"]
    assert rows.X.tolist() == [[1.5, 3], [2, 4]]
    assert read_rows(path, drop_text=True, qid="kind").qid.tolist() == ["film", "show"]
    with pytest.raises(FileFormatError, match=r"must be numbers, .* text or dates: 'kind'; name"):
        read_rows(path, features=["a", "kind"], drop_text=True)
    with pytest.raises(FileFormatError, match="no column is left as a feature"):
        read_rows(path, drop=["a", "b"], drop_text=True)


def test_dates_and_lists_of_parquet_count_as_text_and_booleans_do_not(tmp_path):
    columns = {
        "label": [1, 0],
        "seen": pa.array([0, 1], pa.timestamp("s")),
        "tags": [["x"], []],
        "bought": [True, False],
        "price": pa.array(["1.5", "2"]).cast(pa.decimal128(4, 2)),
    }
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    rows = read_rows(tmp_path / "rows.parquet", drop_text=True)
    assert rows.feature_names == ["bought", "price"]


@pytest.mark.parametrize(
    ("cells", "kept"),
    [
        (["film", "300"] * 2 + ["x"], False),  # more words than numbers
        (["300", "film", "show"], False),
        (["300", "film"], True),  # as many
        (["1", "2", "x"], True),
        (["", "", "x"], False),  # empty cells are neither
        (["", "1", "1"], True),
        (["nan", "x", "inf"], True),
    ],
)
def test_a_csv_column_is_text_if_words_outnumber_numbers(cells, kept):
    text = "label,a,b\n" + "".join(f"{k % 2},1,{cell}\n" for k, cell in enumerate(cells))
    if kept:
        with pytest.raises(FileFormatError, match=r"column 'b': .*(not a finite|an empty)"):
            read_csv(text, drop_text=True)
    else:
        assert read_csv(text, drop_text=True).feature_names == ["a"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"label": "Label"}, r"no column 'Label' \(did you mean 'label'\?\); the columns are"),
        ({"qid": "x72"}, r"no column 'x72' \(did you mean 'x7\d?'\?\)"),
        ({"qid": "nothing like it"}, "no column 'nothing like it'; the columns are"),
        ({"drop": ["u", "v"]}, "no column 'u', 'v'; the columns are"),
        ({"qid": "zzz"}, "'label', 'x0', .* 'x8' and 61 more$"),
        ({"features": [f"f{k}" for k in range(12)]}, "no column 'f0', .*'f9' and 2 more; the"),
    ],
)
def test_unknown_columns_are_named_with_a_near_name_and_long_lists_are_cut(asked, message):
    names = ",".join(f"x{k}" for k in range(70))
    with pytest.raises(FileFormatError, match=message):
        read_csv(f"label,{names}\n", **asked)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_columns_between_other_marks_than_commas_are_refused(mark):
    with pytest.raises(FileFormatError, match="is one column; separate columns with commas"):
        read_csv(mark.join(["label", "a"]) + "\n" + mark.join("12") + "\n")


def test_another_number_of_features_is_told_with_their_names(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("label,a,b\n1,2,3\n")
    with pytest.raises(PairrankError, match="are expected; they are 'a', 'b'; leave out those"):
        read_rows(path, n_features=1)
    with pytest.raises(PairrankError, match="'a', 'b'; the file is of another set of features"):
        read_rows(path, n_features=3)


@pytest.mark.parametrize("argument", ["features", "drop"])
@pytest.mark.parametrize("read", [read_rows, RowBlocks.from_parquet])
def test_one_text_is_no_list_of_columns(tmp_path, read, argument):
    """Its letters would be taken for columns."""
    is_csv = read is read_rows
    path = tmp_path / ("rows.csv" if is_csv else "rows.parquet")
    path.write_text("label,a,b\n1,2,3\n0,4,5\n")
    if not is_csv:
        pq.write_table(pa.table({"label": [1.0, 0.0], "a": [2.0, 4.0], "b": [3.0, 5.0]}), path)
    with pytest.raises(InputTypeError, match=rf"{argument} must be a list .* such as \['ab'\]"):
        read(path, label="label", **{argument: "ab"})
