"""Files of comparisons: rows in pairs, named items in votes, and faults with their line."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError
from pairrank.io import read_pairs, read_votes

ROLES = ["i", "j", "weight", "magnitude"]
WEIGHTS = st.just(0.0) | st.floats(1e-100, 1e100)
PAIRS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), WEIGHTS, st.floats(-1e300, 1e300)).filter(
        lambda pair: pair[0] != pair[1]
    ),
    min_size=1,
    max_size=30,
)


def read(text: str | bytes, **options):
    return read_pairs(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


def assert_holds(pairs, i, j, weight=None, magnitude=None):
    assert pairs.i.dtype == np.int32
    np.testing.assert_array_equal(pairs.i, i)
    np.testing.assert_array_equal(pairs.j, j)
    for name, wanted in (("weight", weight), ("magnitude", magnitude)):
        if wanted is None:
            assert getattr(pairs, name) is None
        else:
            np.testing.assert_array_equal(getattr(pairs, name), wanted)


@given(
    PAIRS,
    st.booleans(),
    st.permutations(ROLES),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.booleans(),
)
def test_every_number_is_read_as_python_reads_it(cells, header, order, end, quoted):
    columns = dict(zip(ROLES, zip(*cells, strict=True), strict=True))
    order = order if header else ROLES
    mark = '"' if quoted else ""
    lines = [",".join(order)] * header + [
        ",".join(f"{mark}{value!r}{mark}" for value in line)
        for line in zip(*(columns[role] for role in order), strict=True)
    ]
    pairs = read(end.join(lines))
    assert_holds(pairs, *(columns[role] for role in ROLES))


@pytest.mark.parametrize(
    ("text", "weight", "magnitude"),
    [
        ("2,0\n0,1\n", None, None),
        ("j,i\n0,2\n1,0", None, None),
        (b"\xef\xbb\xbf\n\ni , j\n 2, 0\n0.0,1e0\n", None, None),
        ("2,0,1\n0,1,3\n", [1, 3], None),
        ("magnitude,j,i\n-2.5,0,2\n0,1,0\n", None, [-2.5, 0]),
    ],
)
def test_columns_may_be_named_or_left_out(text, weight, magnitude):
    assert_holds(read(text), [2, 0], [0, 1], weight, magnitude)
    assert read(text).n_rows == 3
    assert read(text, n_rows=7).n_rows == 7


@pytest.mark.parametrize("name", ["p.csv", "p.csv.gz", "p"])
def test_a_file_may_be_compressed_and_of_any_name(tmp_path, name):
    text = b"1,0,2\n"
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert_holds(read_pairs(tmp_path / name), [1], [0], [2])


BAD = {
    "empty": ("", "the columns are none; pairs have i, j"),
    "header only": ("i,j\n", "no rows"),
    "five cells": ("3,2,1,0,5\n", "line 1: 5 cells"),
    "other columns": ("i,j,weigth\n1,0,2\n", "'i', 'j', 'weigth'; pairs have i, j"),
    "twice i": ("i,j,i\n1,2,1\n", "pairs have i, j"),
    "a word": ("1,0\n\n2,x\n", "line 3: column 'j': 'x' is not a finite number"),
    "an empty cell": ("1,0\n,2\n", "line 2: column 'i' is empty"),
    "a part of a row": ("1,0\n2,0.5\n", r"line 2: j is 0.5, which is not a row"),
    "a negative row": ("1,0\n-1,2\n", "line 2: i is -1, which is not a row: rows go from 0 to 4"),
    "a row too high": ("i,j\n1,0\n\n4,5\n", "line 4: j is 5, .* from 0 to 4"),
    "itself": ("1,0\n3,3\n4,4\n", "line 2: row 3 is compared with itself"),
    "a negative weight": ("1,0,1\n1,0,-2\n", "line 2: the weight -2 is negative"),
    "semicolons": ("1;0\n", "line 1: 1 cells|'1;0'"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_pair_is_refused_with_its_line(case):
    text, message = BAD[case]
    with pytest.raises(FileFormatError, match=message):
        read(text, n_rows=5)


def test_rows_beyond_any_data_and_missing_files_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match="line 1: i is 0, which is not a row: n_rows is 0"):
        read("0,1\n", n_rows=0)
    with pytest.raises(FileFormatError, match="line 1: i is 2147483647, which is not a row"):
        read("2147483647,0\n")
    with pytest.raises(FileAccessError, match="nowhere"):
        read_pairs(tmp_path / "nowhere.csv")


def parquet_of(**columns):
    file = io.BytesIO()
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def test_columns_of_parquet_go_by_name():
    assert_holds(read(parquet_of(weight=[1, 2], j=[0, 1], i=[2.0, 0.0])), [2, 0], [0, 1], [1, 2])
    assert_holds(read(parquet_of(i=[2], j=[0])), [2], [0])
    found = read(parquet_of(magnitude=[-2, 0], j=[0, 1], i=[2, 0]))
    assert_holds(found, [2, 0], [0, 1], None, [-2, 0])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"i": [1], "k": [0]}, "'i', 'k'; pairs have i, j"),
        ({"i": [1, 5], "j": [0, 0]}, r"row 1 \(from 0\): i is 5, .* from 0 to 4"),
        ({"i": [1, 2], "j": [0, 2]}, r"row 1 \(from 0\): row 2 is compared with itself"),
        ({"i": [1, None], "j": [0, 2]}, r"row 1 \(from 0\): column 'i' is empty"),
        ({"i": ["1"], "j": [0]}, "column 'i' must hold numbers, but holds string"),
        ({"i": [1], "j": [0], "weight": [-1.0]}, "the weight -1 is negative"),
        ({"i": np.array([], dtype=int), "j": np.array([], dtype=int)}, "no rows"),
    ],
)
def test_faults_of_parquet_have_their_row(columns, message):
    with pytest.raises(FileFormatError, match=message):
        read(parquet_of(**columns), n_rows=5)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_groups_are_names_or_whole_numbers(kind):
    def groups_of(cells):
        if kind == "csv":
            lines = ["j,group,i", *(f"{at},{cell},{at + 1}" for at, cell in enumerate(cells))]
            return read("\n".join(lines)).groups
        places = [*range(len(cells) + 1)]
        return read(parquet_of(j=places[:-1], group=cells, i=places[1:])).groups

    assert groups_of(["ann", "bob", "ann"]).tolist() == ["ann", "bob", "ann"]
    assert groups_of([7, 8, 7]).tolist() == [7, 8, 7]
    assert read("i,j\n1,0\n").groups is None
    with pytest.raises(FileFormatError, match=r"column 'group' is empty"):
        groups_of(["ann", "" if kind == "csv" else None, "bob"])


TEXT = """voter, W ,L,tie,times,home
v1, ann ,bob,0,1,1
v2,bob,"cid, jr",TRUE,2.5,-1
v1,ann,bob,no,1,0
"""
COLUMNS = {
    "winner": "W",
    "loser": "L",
    "tie": "tie",
    "weight": "times",
    "covariates": ["home"],
    "groups": "voter",
}


def check(votes):
    assert votes.winner.to_pylist() == ["ann", "bob", "ann"]
    assert votes.loser.to_pylist() == ["bob", "cid, jr", "bob"]
    assert votes.groups.to_pylist() == ["v1", "v2", "v1"]
    np.testing.assert_array_equal(votes.tie, [False, True, False])
    np.testing.assert_array_equal(votes.weight, [1.0, 2.5, 1.0])
    assert list(votes.covariates) == ["home"]
    np.testing.assert_array_equal(votes.covariates["home"], [1.0, -1.0, 0.0])


def test_csv_and_parquet_are_read_alike():
    votes = read_votes(io.BytesIO(gzip.compress(TEXT.encode())), **COLUMNS)
    check(votes)
    columns = {
        "W": ["ann", "bob ", "ann"],
        "L": pa.array(["bob", "cid, jr", "bob"]).dictionary_encode(),
        "tie": [False, True, False],
        "times": [1.0, 2.5, 1.0],
        "home": [1, -1, 0],
        "voter": ["v1", "v2", "v1"],
    }
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    votes = read_votes(io.BytesIO(file.getvalue()), **COLUMNS)
    check(votes)


def test_columns_that_are_not_named_are_none():
    votes = read_votes(io.BytesIO(b"winner,loser\n1,2\n"))
    assert votes.winner.to_pylist() == ["1"]
    assert votes[2:] == (None,) * 4


def test_ties_are_said_by_several_words():
    words = ["1", "1.0", "True", "YES", "0", "0.0", "false", "no"]
    lines = ["winner,loser,t", *(f"x,y,{word}" for word in words)]
    votes = read_votes(io.BytesIO("\n".join(lines).encode()), tie="t")
    assert votes.tie.tolist() == [True] * 4 + [False] * 4


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("", {}, "empty; a header"),
        ("winner,loser\n", {}, "no rows below the header"),
        ("a,b\nx,y\n", {}, "no column 'winner', 'loser'; the columns are 'a', 'b'"),
        ("winner,loser\nx,y\n", {"loser": "winner"}, "column 'winner' has two roles"),
        ("winner,loser,loser\nx,y,z\n", {}, "the header names 'loser' more than once"),
        ("winner,loser\nx,y\n\nx, x\n", {}, "line 4: 'x' is compared with itself"),
        ("winner,loser\nx,y\nx\n", {}, "line 3: 1 cells, 2 are expected"),
        ("winner,loser,t\nx,y,0\nx,y,maybe\n", {"tie": "t"}, "line 3: column 't': 'maybe'"),
        ("winner,loser,w\nx,y,0\nx,y,-2\n", {"weight": "w"}, "line 3: the weight -2 is negative"),
        ("winner,loser,w\nx,y,inf\n", {"covariates": ["w"]}, "line 2: column 'w': 'inf'"),
    ],
)
def test_faults_are_refused_with_their_line(text, columns, message):
    with pytest.raises(PairrankError, match=message):
        read_votes(io.BytesIO(text.encode()), **columns)
