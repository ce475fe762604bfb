"""svmlight text: every value as Python reads it, every torn line an error with its number."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairrank.datasets import make_queries
from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError
from pairrank.io import Rows, read_rows, write_rows


def read(text: str | bytes, **options) -> Rows:
    return read_rows(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


def dense(X) -> np.ndarray:
    return X if isinstance(X, np.ndarray) else X.toarray()


def random_bits() -> st.SearchStrategy[float]:
    """Finite doubles of any exponent, subnormal ones too."""
    return (
        st.integers(0, 2**64 - 1)
        .map(lambda bits: struct.unpack("d", struct.pack("Q", bits))[0])
        .filter(np.isfinite)
    )


NUMBERS = st.one_of(
    random_bits().map(repr),
    st.builds("{:.{}g}".format, random_bits(), st.integers(1, 40)).filter(
        lambda text: np.isfinite(float(text))
    ),
    st.builds(
        "{}{}.{}e{}".format,
        st.sampled_from(["", "-", "+"]),
        st.integers(0, 10**25),
        st.integers(0, 10**25),
        st.integers(-345, 280),
    ),
    st.integers(2**63 - 3, 2**64 + 3).map(str),
    st.sampled_from(["-0", "+.5", "7.", "0e999", "1e-999", "2.2250738585072011e-308", "1e23"]),
    # Half way between two doubles, with more digits than fit a machine word.
    st.sampled_from(["9007199254740993.00000000000000000001", "1." + "0" * 40 + "1"]),
)


@given(numbers=st.lists(NUMBERS, min_size=1, max_size=8))
def test_every_number_is_the_one_that_python_reads(numbers):
    pairs = " ".join(f"{index}:{number}" for index, number in enumerate(numbers, 1))
    label = numbers[0] if "e" in numbers[0] else f"{numbers[0]}e-1"
    rows = read(f"{label} {pairs}\n")
    expected = np.array([float(number) for number in numbers])
    assert dense(rows.X)[0].tobytes() == expected.tobytes()
    assert rows.y.tobytes() == np.array([float(label)]).tobytes()


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 12),
    n_features=st.integers(1, 7),
    is_sparse=st.booleans(),
    dtype=st.sampled_from([np.float64, np.float32]),
    qid=st.sampled_from([None, "number", "text"]),
    with_docids=st.booleans(),
)
def test_what_is_written_reads_back(seed, n_rows, n_features, is_sparse, dtype, qid, with_docids):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((n_rows, n_features)) * 10.0 ** rng.integers(-30, 30)).astype(dtype)
    X[rng.random(X.shape) < 0.5] = 0
    y = rng.standard_normal(n_rows).round(rng.integers(0, 17))
    queries = {
        None: None,
        "number": rng.integers(-3, 3, n_rows),
        "text": np.array(["é", "a:b", "7"])[rng.integers(0, 3, n_rows)],
    }[qid]
    if qid == "text":
        queries[0] = "é"
    docid = np.array([f"{row}é#=" for row in range(n_rows)]) if with_docids else None
    rows = Rows(sparse.csr_array(X) if is_sparse else X, y, queries, docid=docid)
    target = io.BytesIO()
    write_rows(target, rows)
    back = read(target.getvalue(), dtype=dtype, docid="any" if with_docids else None)
    assert back.X.dtype == dtype
    assert np.array_equal(dense(back.X), X)
    assert np.array_equal(back.y, y)
    assert (back.qid is None) if queries is None else np.array_equal(back.qid, queries)
    assert (back.docid is None) if docid is None else np.array_equal(back.docid, docid)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows"),
        ("1\n2\n", "no row has a feature"),
        ("1 1:2\nabc 1:2\n", r"line 2: the label 'abc' is not a finite number"),
        ("1:2 2:3\n", r"line 1: the label '1:2' is not .* number; a row starts with its label"),
        ("nan 1:2\n", r"line 1: the label 'nan' is not a finite"),
        ("1_0 1:2\n", r"line 1: the label '1_0' is not a finite"),
        ("1e999 1:2\n", r"line 1: the label '1e999' is not a finite"),
        ("\x0b 1:2\n", r"line 1: the label '1:2' is not a finite"),
        ("1 1:2\n1 3: 4:5\n", r"line 2: '3:' is not an index:value pair"),
        ("1 a:2\n", r"line 1: 'a:2' is not an index:value pair; the index is a whole number"),
        ("1 1.5:2\n", r"line 1: '1.5:2' is not an index:value pair"),
        ("1 99999999999999999999:2\n", r"line 1: the index in .* is above the highest, 2147483646"),
        ("1 2147483647:2\n", r"line 1: the index in '2147483647:2' is above the highest"),
        ("1 1:1:2\n", r"line 1: the value in '1:1:2' is not a finite number"),
        ("1 1:0x10\n", r"line 1: the value in '1:0x10' is not a finite number"),
        ("1 1:1_0\n", r"line 1: the value in '1:1_0' is not a finite number"),
        ("1 1:NaN\n", r"line 1: the value in '1:NaN' is not a finite number"),
        ("1 1:2e308\n", r"line 1: the value in '1:2e308' is not a finite number"),
        ("1 1:2 1:3\n", r"line 1: the index of '1:3' is not above the one before it"),
        ("1 2:2 1:3\n", r"line 1: the index of '1:3' is not above"),
        ("1 qid:1 1:2\n1 1:3\n", r"line 2: no qid, unlike the rows before it"),
        ("1 1:2\n1 qid:1 1:3\n", r"line 2: a qid, unlike the rows before it"),
        ("1 qid: 1:2\n", r"line 1: 'qid:' without a query"),
        ("1 qid:1 1:2 qid:3\n", r"line 1: 'qid:3' is not .* qid comes right after the label"),
        (b"1 qid:\xff 1:2\n", r"not UTF-8"),
        ("1 1:2\n1 " + "x" * 100, r"line 2: 'x{40}\.\.\.' is not an index:value pair"),
    ],
)
def test_torn_text_is_refused_with_its_line(text, message):
    with pytest.raises(FileFormatError, match=message):
        read(text)


def test_indices_count_from_one_unless_a_zero_is_there():
    for text, options, X, zero_based in (
        ("1 1:5 3:6\n", {}, [[5, 0, 6]], False),
        ("1 1:5\n1 0:6\n", {}, [[0, 5], [6, 0]], True),
        ("1 1:5\n", {"zero_based": True}, [[0, 5]], True),
    ):
        rows = read(text, **options)
        assert (dense(rows.X).tolist(), rows.zero_based) == (X, zero_based)
    with pytest.raises(FileFormatError, match=r"line 2: index 0, though indices count from 1 \(as"):
        read("1 1:5\n1 0:6\n", zero_based=False)


def test_rows_are_padded_to_n_features_and_more_are_refused():
    padded = read("1 1:5\n0 2:1\n", n_features=3).X
    assert padded.tolist() == [[5, 0, 0], [0, 1, 0]]
    assert dense(read("1\n", n_features=2).X).tolist() == [[0, 0]]
    with pytest.raises(FileFormatError, match=r"line 2: index 4, though 3 features"):
        read("1 1:5\n1 4:6\n2 1:1\n", n_features=3)


def test_a_byte_order_mark_is_no_label():
    assert read(b"\xef\xbb\xbf1 1:2\n").y.tolist() == [1]


def test_few_stated_values_make_a_sparse_matrix():
    assert sparse.issparse(read("1 9:1\n2 1:3\n").X)
    assert not sparse.issparse(read("1 3:1\n2 1:3\n").X)
    wide = read("1 1:2 2147483646:3\n").X
    assert wide.shape == (1, 2147483646)
    assert wide.sum() == 5


def test_qids_are_numbers_only_if_all_are():
    assert read("1 qid:17 1:1\n1 qid:17 1:1\n1 qid:-2 1:1\n").qid.tolist() == [17, 17, -2]
    assert read("1 qid:7 1:1\n1 qid:q#2\n1 qid:7\n").qid.tolist() == ["7", "q", "7"]
    huge = "9" * 30
    assert read(f"1 qid:{huge} 1:1\n").qid.tolist() == [huge]
    assert read("1 1:1\n").qid is None


@pytest.mark.parametrize("names", [["01", "1"], ["+1", "1"], ["0", "-0"]])
def test_qids_of_equal_value_but_another_spelling_stay_apart(names):
    text = "".join(f"1 qid:{name} 1:1\n" for name in names)
    assert read(text).qid.tolist() == names


@pytest.mark.parametrize("labels", [["9007199254740992", "9007199254740993"], ["1", "1e999"]])
def test_labels_that_float64_would_merge_are_refused(labels):
    with pytest.raises(FileFormatError, match=r"line 4: the label .* is not (exact|a finite)"):
        read("# a\n" + "\n".join(f"{label} 1:2" for label in [labels[0], *labels]) + "\n")
    assert read("9007199254740994 1:1\n").y == [2.0**53 + 2]


@pytest.mark.parametrize("opener", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files_are_told_by_their_content(tmp_path, opener):
    path = tmp_path / "rows.txt"
    packed = opener(b"2 1:5 2:1\n" * 1000)
    path.write_bytes(packed)
    assert read_rows(path).X.shape == (1000, 2)
    assert read(packed).y.sum() == 2000
    path.write_bytes(packed[:-12])
    with pytest.raises(FileFormatError, match=r"rows\.txt: the compressed data is damaged or cut"):
        read_rows(path)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_written_files_are_compressed_as_their_name_says(tmp_path, suffix):
    path = tmp_path / f"rows.txt{suffix}"
    write_rows(path, Rows(np.ones((50, 2)), np.arange(50.0)))
    is_plain = path.read_bytes().startswith(b"0 1:1")
    assert is_plain == (suffix == "")
    assert np.array_equal(read_rows(path).y, np.arange(50))
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_standard_streams_carry_rows(monkeypatch):
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))
    write_rows("-", Rows(np.ones((2, 2)), np.array([1.0, 0.5])))
    assert out.getvalue() == b"1 1:1.0 2:1.0\n0.5 1:1.0 2:1.0\n"
    monkeypatch.setattr(
        sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(out.getvalue())))
    )
    assert read_rows("-").y.tolist() == [1, 0.5]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (Rows(np.ones((0, 2)), np.ones(0)), "no rows"),
        (Rows(np.ones((2, 2)), np.array(["a", "b"])), "a number as label"),
        (Rows(np.ones((2, 2)), np.ones(3)), "y has 3 elements, X has 2 rows"),
        (Rows(np.ones((2, 2)), np.ones(2), weight=np.ones(2)), "cannot hold row weights"),
        (Rows(np.full((2, 2), np.nan), np.ones(2)), "NaN or infinity"),
        (Rows(np.ones((2, 2)), np.ones(2), np.array(["a b", "c"])), "row 0 has the qid 'a b'"),
        (Rows(np.ones((2, 2)), np.ones(2), np.array(["a", "c#"])), "row 1 has the qid 'c#'"),
        (Rows(np.ones((2, 2)), np.ones(2), docid=np.array(["a", "a b"])), "row 1 has the docid"),
        (Rows(np.ones((2, 2)), np.ones(2), feature_names=["a"]), "feature_names has 1"),
        (Rows(np.ones(2), np.ones(2)), "two"),
        (make_queries(2, 3, 2, random_state=0), "expected Rows.*, got Generated"),
    ],
)
def test_rows_that_svmlight_cannot_hold_are_refused(tmp_path, rows, message):
    path = tmp_path / "rows.txt"
    path.write_text("old")
    with pytest.raises(PairrankError, match=message):
        write_rows(path, rows)
    assert path.read_text() == "old"


def test_options_are_checked():
    for options, message in (
        ({"zero_based": 3}, "zero_based must be True, False or 'auto'"),
        ({"n_features": 0}, "n_features must be at least 1"),
        ({"dtype": int}, "dtype must be float64 or float32"),
    ):
        with pytest.raises(PairrankError, match=message):
            read("1 1:2\n", **options)
    with pytest.raises(PairrankError, match="binary mode"):
        read_rows(io.StringIO("1 1:2\n"))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileAccessError, match=r"cannot read .*absent\.txt: No such file"):
        read_rows(tmp_path / "absent.txt")
    with pytest.raises(FileAccessError, match="Is a directory"):
        read_rows(tmp_path, format="svmlight")


@given(
    entries=st.lists(st.sets(st.integers(1, 5)), min_size=1, max_size=4),
    n_features=st.integers(1, 7),
)
def test_the_rule_of_padding_is_that_some_entry_is_left_out(entries, n_features):
    text = "".join(f"1 {' '.join(f'{index}:2' for index in sorted(row))}\n" for row in entries)
    width = max((index for row in entries for index in row), default=0)
    states_all = width > 0 and all(row == set(range(1, width + 1)) for row in entries)
    if width > n_features or (states_all and width < n_features):
        with pytest.raises(FileFormatError, match="another set of features"):
            read(text, n_features=n_features)
    else:
        X = read(text, n_features=n_features).X
        wanted = [[2.0 * (index in row) for index in range(1, n_features + 1)] for row in entries]
        assert dense(X).tolist() == wanted
