"""CSV and Parquet: columns by role, clear errors, files written whole or not at all."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet as pq
from scipy import sparse

from pairrank import RowBlocks
from pairrank.exceptions import FileFormatError, InputTypeError, PairrankError
from pairrank.io import Rows, read_rows, write_rows

ROLES = {"label": "grade", "qid": "query", "weight": "w"}


def example(dtype=np.float64, *, text=False) -> Rows:
    rng = np.random.default_rng(3)
    y = np.array(["low", "high", "low"] if text else [0.0, 2.5, -1.0])
    return Rows(
        rng.standard_normal((3, 2)).astype(dtype),
        y,
        np.array(["q 1", "é,2", "q 1"]),
        np.array([1.0, 0.5, 2.0]),
        ["a b", 'c"d'],
    )


def read_csv(text: str | bytes, **options) -> Rows:
    data = text if isinstance(text, bytes) else text.encode()
    return read_rows(io.BytesIO(data), format="csv", **options)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.parquet"])
def test_what_is_written_reads_back(tmp_path, name, text, dtype):
    rows = example(dtype, text=text)
    write_rows(tmp_path / name, rows, **ROLES)
    back = read_rows(tmp_path / name, **ROLES, dtype=dtype)
    assert back.X.dtype == rows.X.dtype
    for one, other in zip(back[:4], rows[:4], strict=True):
        assert np.array_equal(one, other)
    assert back.feature_names == rows.feature_names


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9),
    narrow=st.booleans(),
)
def test_every_number_survives_csv(values, narrow):
    dtype = np.float32 if narrow else np.float64
    with np.errstate(over="ignore"):
        X = np.array(values, dtype=dtype)[:, None]
    X[~np.isfinite(X)] = 1
    target = io.BytesIO()
    write_rows(target, Rows(X, np.array(values)), format="csv")
    back = read_csv(target.getvalue(), dtype=dtype)
    assert np.array_equal(back.X, X)
    assert np.array_equal(back.y, values)


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_sparse_rows_are_written_with_their_zeros(tmp_path, name):
    X = sparse.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    write_rows(tmp_path / name, Rows(X, np.array([1.0, 2.0])))
    back = read_rows(tmp_path / name)
    assert np.array_equal(back.X, X.toarray())
    assert back.feature_names == ["f1", "f2"]
    assert back.qid is None
    assert back.weight is None


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_columns_can_be_named_and_dropped(tmp_path, name):
    path = tmp_path / name
    write_rows(path, example(), **ROLES)
    X = example().X
    picked = read_rows(path, label=None, features=['c"d'])
    assert picked.y is None
    assert np.array_equal(picked.X[:, 0], X[:, 1])
    dropped = read_rows(path, label="grade", drop=["query", "a b"])
    assert dropped.feature_names == ["w", 'c"d']
    with pytest.raises(PairrankError, match="2 feature columns, but 3 are expected"):
        read_rows(path, **ROLES, n_features=3)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
@pytest.mark.parametrize("start", ["", "\n", "\r\n\r\n", "\ufeff", "\ufeff\n"])
def test_blank_lines_are_ignored_before_the_header_too(start, end):
    lines = ["label,q,a,b", *(f"{k % 3},{k // 2},{k},+{k}.5" for k in range(20))]
    rows = read_csv(start + end.join(lines), qid="q")
    assert rows.X.tolist() == [[k, k + 0.5] for k in range(20)]
    assert rows.qid.tolist() == [k // 2 for k in range(20)]
    assert rows.y.tolist() == [k % 3 for k in range(20)]


def test_cells_may_hold_commas_quotes_and_line_breaks():
    text = 'label,"q\n1",a\n1,"x,""y""\nz",2\n\n0, w ,"3"\n'
    rows = read_csv(text, qid="q\n1")
    assert rows.qid.tolist() == ['x,"y"\nz', " w "]
    assert rows.X.tolist() == [[2], [3]]
    with pytest.raises(FileFormatError, match="line 6: column 'a': 'x' is not a finite number"):
        read_csv(text.replace('"3"', "x"), qid="q\n1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty; a header"),
        ("a,label\n", "no rows below the header"),
        ("a,b\n1,2\n", "no column 'label'; the columns are 'a', 'b'"),
        ("label\n1\n", "no column is left as a feature; the columns are 'label'"),
        ("a,a,label\n1,2,3\n", "the header names 'a' more than once"),
        ("a,label\n1,2\n\n3\n", "line 4: 1 cells, 2 are expected"),
        ("a,label\n1,2\n,3\n", "line 3: column 'a' is empty"),
        ("a,label\n1,2\nnan,3\n", "line 3: column 'a': 'nan' is not a finite number"),
        ("a,label\n1,2\n1_0,3\n", "line 3: column 'a': '1_0' is not a finite number"),
        ("a,label\n1,\n", "line 2: column 'label' is empty"),
        ("a,label\n1,2\n1,nan\n", "line 3: the label 'nan' is not a finite number"),
        ("a,label\n1,x\n1,2\n", "line 3: the label '2' is not a name"),
        ('a,label\n"1,2\n', "line 2: unexpected end of data"),
        ('a,label\n1,"2\n3,4\n5,6\n', "line 4: unexpected end of data"),
        ("a,label\n1,2\n1,9007199254740993\n", "line 3: the label 9007199254740993 is not exact"),
        ("a,label\n1,x\n1,x\0\n", "holds a NUL character"),
        (b"a,label\n1,2\n1,\xff\n", "not UTF-8"),
    ],
)
def test_bad_csv_is_refused_with_column_and_line(text, message):
    with pytest.raises(FileFormatError, match=message):
        read_csv(text)


@pytest.mark.parametrize("names", [["01", "1"], ["a", "a "], ["+1", "1"]])
def test_qids_of_another_spelling_stay_apart(tmp_path, names):
    assert read_csv(f"label,q,a\n1,{names[0]},1\n1,{names[1]},1\n", qid="q").qid.tolist() == names
    pq.write_table(pa.table({"label": [1, 2], "q": names, "a": [1, 2]}), tmp_path / "r.parquet")
    assert read_rows(tmp_path / "r.parquet", qid="q").qid.tolist() == names


def test_threads_do_not_change_the_order_of_rows():
    count = 200_000
    rows = read_csv("label,a\n" + "".join(f"{k},{k}\n" for k in range(count)))
    assert np.array_equal(rows.y, np.arange(count))
    assert np.array_equal(rows.X[:, 0], np.arange(count))


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_a_value_that_overflows_float32_is_refused_with_its_place(tmp_path, name):
    X = np.array([[1.0, 2.0], [3.0, -1e39]])
    write_rows(tmp_path / name, Rows(X, np.ones(2)))
    assert np.array_equal(read_rows(tmp_path / name).X, X)
    place = "line 3" if name.endswith("csv") else r"row 1 \(from 0\)"
    with pytest.raises(FileFormatError, match=f"{place}: column 'f2': -1e.39 overflows float32"):
        read_rows(tmp_path / name, dtype=np.float32)


def test_a_column_has_one_role():
    with pytest.raises(PairrankError, match="column 'q' has two roles"):
        read_csv("label,q,a\n1,x,1\n", qid="q", weight="q")


@pytest.mark.parametrize("format", ["csv", "svmlight"])
def test_an_unknown_column_is_refused_in_every_format(format):
    message = "there is no column wieght; name label, qid, weight"
    with pytest.raises(PairrankError, match=message):
        read_rows(io.BytesIO(b""), format=format, wieght="w")
    with pytest.raises(PairrankError, match=message):
        write_rows(io.BytesIO(), example(), format=format, wieght="w")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": [1.0, 2.0], "a": [1.0, None]}, "row 1 .*column 'a' is empty"),
        ({"label": [1.0, 2.0], "a": [float("nan"), 1.0]}, "row 0 .*column 'a': 'nan' is not"),
        ({"label": [1.0, None], "a": [1, 2]}, "row 1 .*column 'label' is empty"),
        ({"label": ["x", None], "a": [1, 2]}, "row 1 .*column 'label' is empty"),
        ({"label": [], "a": []}, "no rows"),
        ({"label": [2**53, 2**53 + 1], "a": [1, 2]}, "row 1 .*label 9007199254740993 is not exact"),
        ({"label": [1.0]}, "no column is left"),
    ],
)
def test_bad_parquet_is_refused_with_column_and_row(tmp_path, columns, message):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(FileFormatError, match=message):
        read_rows(path)


@pytest.mark.parametrize(
    "text", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
)
def test_parquet_labels_may_be_booleans_or_text(tmp_path, text):
    names = pa.array(["low", "high"]).cast(text)
    path = tmp_path / "rows.parquet"
    columns = {"label": [True, False], "q": names, "a": [True, False]}
    large = pa.array([2**63 + 1, 2**63], pa.uint64())
    pq.write_table(pa.table(columns | {"number": large}), path)
    rows = read_rows(path, qid="q", drop=["number"])
    assert rows.y.tolist() == [1.0, 0.0]
    assert rows.y.dtype == np.float64
    assert rows.X.tolist() == [[1.0], [0.0]]
    assert rows.qid.tolist() == ["low", "high"]
    assert read_rows(path, label="q", drop=["label", "number"]).y.tolist() == ["low", "high"]
    assert read_rows(path, qid="number", drop=["q"]).qid.tolist() == [2**63 + 1, 2**63]


def test_cut_parquet_is_refused(tmp_path):
    path = tmp_path / "rows.parquet"
    write_rows(path, example())
    data = path.read_bytes()
    for bad in (data[:-9], data[:4] + data[-4:], b""):
        path.write_bytes(bad)
        with pytest.raises(FileFormatError, match="damaged, cut, or not Parquet"):
            read_rows(path, label=None)


def test_an_unknown_format_is_refused():
    with pytest.raises(PairrankError, match="is of no known format"):
        read_rows("rows.xlsx")
    with pytest.raises(PairrankError, match="no format 'xls'"):
        read_rows("rows.txt", format="xls")
    with pytest.raises(PairrankError, match="compresses by itself"):
        write_rows("rows.parquet.gz", example())


def test_two_columns_of_one_name_are_refused(tmp_path):
    rows = example()._replace(feature_names=["label", "b"])
    with pytest.raises(PairrankError, match="two columns would be named 'label'"):
        write_rows(tmp_path / "rows.csv", rows)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_columns_to_ignore_need_not_be_there(tmp_path, name):
    write_rows(tmp_path / name, example(text=True), **ROLES)
    roles = {"label": None, "qid": "query", "weight": "w"}
    rows = read_rows(tmp_path / name, ignore=["grade", "nowhere"], **roles)
    assert rows.y is None
    assert rows.feature_names == ["a b", 'c"d']
    with pytest.raises(FileFormatError, match="'nowhere'"):
        read_rows(tmp_path / name, drop=["nowhere"], **ROLES)


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
        with pytest.raises(FileFormatError, match=r"column 'b'.* is (not a finite|empty)"):
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
