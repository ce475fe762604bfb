"""The counting sort, scatters and degrees of rows against their definitions, for many blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from pairrank.preferences import Levels, OrderGraph, _codes, ordering


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    for module in (_codes, ordering):
        monkeypatch.setattr(module, "ROWS_A_BLOCK", 5)
    monkeypatch.setattr(ordering, "_ROWS_PER_KEY", 0)


@given(keys=st.lists(st.integers(0, 6), max_size=40), spare=st.integers(0, 3))
def test_counting_order_is_the_stable_sort(keys, spare):
    keys = np.array(keys, dtype=np.int32)
    n_keys = int(keys.max(initial=-1)) + 1 + spare
    order, starts = ordering.counting_order(keys, n_keys)
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))
    np.testing.assert_array_equal(starts, np.searchsorted(keys[order], np.arange(n_keys + 1)))


@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=40))
def test_a_second_sort_keeps_the_order_of_the_first(pairs):
    query, level = np.array(pairs, dtype=np.int32).T.copy()
    by_level, _ = ordering.counting_order(level, 7)
    order, starts = ordering.counting_order(query, 5, by_level)
    np.testing.assert_array_equal(order, np.lexsort((level, query)))
    np.testing.assert_array_equal(starts, np.searchsorted(query[order], np.arange(6)))


@pytest.mark.parametrize("n_rows", [0, 1, 5, 23])
def test_scattered_values_stand_at_their_places(n_rows):
    places = np.random.default_rng(0).permutation(n_rows).astype(np.int32)
    values = np.arange(n_rows, dtype=np.uint8)
    found = ordering.scattered(values, places)
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found[places], values)


def test_one_and_two_threads_give_the_same_order():
    keys = np.random.default_rng(0).integers(0, 9, 1000).astype(np.int32)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            found.append(ordering.counting_order(keys, 9))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("roles", [False, True], ids=["one-weight", "roles"])
@pytest.mark.parametrize("reduction", ["sum", "query"])
@pytest.mark.parametrize("graph", ["full", OrderGraph([(0, 1), (0, 3)])], ids=["full", "graph"])
def test_degrees_of_some_places_are_wins_and_losses(weighted, roles, reduction, graph):
    generator = np.random.default_rng(3)
    y, qid = generator.integers(0, 4, 60).astype(float), generator.integers(0, 3, 60)
    weight = generator.integers(0, 3, (3, 60)).astype(float)
    given = {"sample_weight": weight[0] if weighted else None}
    if roles:
        given |= {"winner_weight": weight[1], "loser_weight": weight[2]}
    levels = Levels.build(y, qid, graph=graph, **given).reduced(reduction)
    wins, losses = levels.wins_and_losses()
    rows = levels.row_of[::7]
    found = levels.degrees_at(slice(None, None, 7))
    np.testing.assert_allclose(found, (wins + losses)[rows], rtol=1e-14)


@given(swapped=st.none() | st.integers(0, 21))
def test_rows_are_in_order_only_if_no_two_neighbours_are_swapped(swapped):
    y = np.arange(23.0)
    if swapped is not None:
        y[[swapped, swapped + 1]] = y[[swapped + 1, swapped]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairrank.preferences.levels._ROWS_A_BLOCK", 5)
        assert Levels.build(y).in_order == (swapped is None)
