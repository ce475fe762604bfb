"""Comparisons of named items in files: columns by name, and faults with their line."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pairrank.exceptions import PairrankError
from pairrank.io import read_votes

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
        ("winner,loser\n", {}, "no comparisons below the header"),
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
