"""The counting sort and scatters against their definitions, for many blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from pairrank.preferences import Levels, _codes


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(_codes, "ROWS_A_BLOCK", 5)
    monkeypatch.setattr(_codes, "_ROWS_PER_KEY", 0)


@given(keys=st.lists(st.integers(0, 6), max_size=40), spare=st.integers(0, 3))
def test_counting_order_is_the_stable_sort(keys, spare):
    keys = np.array(keys, dtype=np.int32)
    n_keys = int(keys.max(initial=-1)) + 1 + spare
    order, starts = _codes.counting_order(keys, n_keys)
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(starts, np.searchsorted(keys[order], np.arange(n_keys + 1)))


@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=40))
def test_a_second_sort_keeps_the_order_of_the_first(pairs):
    query, level = np.array(pairs, dtype=np.int32).T.copy()
    by_level, _ = _codes.counting_order(level, 7)
    order, starts = _codes.counting_order(query, 5, by_level)
    np.testing.assert_array_equal(order, np.lexsort((level, query)))
    np.testing.assert_array_equal(starts, np.searchsorted(query[order], np.arange(6)))


@pytest.mark.parametrize("n_rows", [0, 1, 5, 23])
def test_scattered_values_stand_at_their_places(n_rows):
    places = np.random.default_rng(0).permutation(n_rows).astype(np.int32)
    values = np.arange(n_rows, dtype=np.uint8)
    found = _codes.scattered(values, places)
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found[places], values)


def test_one_and_two_threads_give_the_same_order():
    keys = np.random.default_rng(0).integers(0, 9, 1000).astype(np.int32)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(_codes.counting_order(keys, 9))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


@given(swapped=st.none() | st.integers(0, 21))
def test_rows_are_in_order_only_if_no_two_neighbours_are_swapped(swapped):
    y = np.arange(23.0)
    if swapped is not None:
        y[[swapped, swapped + 1]] = y[[swapped + 1, swapped]]
    assert Levels.build(y).in_order == (swapped is None)
