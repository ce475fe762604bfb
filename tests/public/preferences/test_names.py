"""Names as codes: every kind of column gives the same rows, and faults name the row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pairrank import Pairs
from pairrank.exceptions import PairrankError

COLUMNS = [
    list,
    tuple,
    np.array,
    lambda names: np.array(names, dtype=object),
    lambda names: np.array(names)[:, None],
    iter,
    pd.Series,
    pd.Index,
    lambda names: pd.Series(names, dtype=object),
    lambda names: pd.Series(names).astype("category"),
    pl.Series,
    pa.array,
    lambda names: pa.array(names).dictionary_encode(),
    lambda names: pa.chunked_array([names[:1], names[1:]]),
]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("names", [["b", "a", "c", "a"], [20, 10, 30, 10]])
def test_every_kind_of_column_has_the_same_codes(column, names):
    other = [names[1], names[2], names[1], names[0]]
    pairs, items = Pairs.from_names(column(names), other)
    np.testing.assert_array_equal(items, sorted(set(names)))
    assert items.dtype.kind in "iU"
    assert items[pairs.i].tolist() == names
    assert items[pairs.j].tolist() == other
    assert pairs.n_rows == 3


def test_the_order_of_mixed_names_is_that_of_appearance():
    a, b = ("x", 1), ("y", 2)
    pairs, items = Pairs.from_names([b, "z"], ["z", a], weight=[2.0, 3.0], magnitude=[1.0, 0.0])
    assert items.tolist() == [b, "z", a]
    assert pairs.i.tolist() == [0, 1]
    assert pairs.j.tolist() == [1, 2]
    assert pairs.weight.tolist() == [2.0, 3.0]
    assert pairs.magnitude.tolist() == [1.0, 0.0]


def test_tuples_of_one_length_are_names():
    pairs, items = Pairs.from_names([(1, 2), (3, 4)], [(3, 4), (5, 6)])
    assert items.tolist() == [(1, 2), (3, 4), (5, 6)]
    assert pairs.j.tolist() == [1, 2]


def test_dates_are_names():
    days = np.array(["2024-01-02", "2024-01-01"], dtype="datetime64[D]")
    pairs, items = Pairs.from_names(days, days[::-1])
    assert pairs.i.tolist() == [0, 1]
    assert items[0] == days[0]


@pytest.mark.parametrize(
    "column",
    [
        ["a", None],
        ["a", float("nan")],
        ["a", pd.NA],
        [1.0, np.nan],
        pl.Series([1.0, np.nan]),
        np.array([1.0, np.nan]),
        np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"),
        np.array(["a", None], dtype=object),
        pd.Series(["a", None]),
        pd.Series([1.0, None]),
        pd.Series(["a", None]).astype("category"),
        pl.Series(["a", None]),
        pa.array(["a", None]),
        pa.chunked_array([["a"], [None]]),
    ],
)
def test_a_missing_name_is_refused_with_its_row(column):
    with pytest.raises(PairrankError, match="loser is missing in row 1"):
        Pairs.from_names(["x", "y"], column)


@pytest.mark.parametrize(
    ("winner", "loser", "message"),
    [
        (["a", "b"], ["b", "b"], "winner and loser are both 'b' in row 1"),
        ([1, 2], [3.0, 2.0], "winner and loser are both 2.* in row 1"),
        (["a"], ["b", "c"], "loser has 2 entries for 1 rows"),
        ("ab", ["b", "c"], "winner must hold one name per comparison, got 'ab'"),
        ({"a": 1}, ["b"], "winner must hold one name"),
        (3, ["b"], "winner must hold one name"),
        ([["a"], ["b"]], ["c", "d"], r"winner in row 0 is not hashable: \['a'\]"),
        (np.ones((2, 2)), ["c", "d"], r"one dimension, got shape \(2, 2\)"),
        (pl.LazyFrame({"a": [1]}), ["b"], "call collect"),
        ([1, 2], ["2", "1"], "both the number 2 and the text '2'.*all names as text"),
        (["a", 3.0], ["3", "b"], "both the number 3.0 and the text '3'"),
    ],
)
def test_other_faults_are_refused(winner, loser, message):
    with pytest.raises(PairrankError, match=message):
        Pairs.from_names(winner, loser)
