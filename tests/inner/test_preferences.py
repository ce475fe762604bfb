"""Preferences inside: layouts, orders, samples, bands and codes of labels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank import OrderGraph, Pairs
from pairrank.exceptions import PairrankError
from pairrank.preferences import Levels, _codes, draw_sample, merge_levels
from pairrank.preferences._codes import level_codes
from pairrank.preferences.pair_inputs import name_codes


def drawn_rows():
    row = st.tuples(
        st.sampled_from([0.0, 1.0, 2.0, 3.0]),
        st.sampled_from("abc"),
        st.sampled_from([0, 0.5, 1, 3]),
    )
    return st.lists(row, min_size=1, max_size=25)


@given(rows=drawn_rows())
def test_the_layout_sorts_by_query_then_level_and_finds_its_way_back(rows):
    y, qid, weight = (np.array(column) for column in zip(*rows, strict=True))
    levels = Levels.build(y, qid, sample_weight=weight.astype(float) + 1)
    values = np.arange(y.size, dtype=float)
    np.testing.assert_array_equal(levels.from_layout(values[levels.row_of]), values)
    laid_out, start = levels.row_of, levels.query_start
    for first, last in itertools.pairwise(start):
        assert len(set(qid[laid_out[first:last]])) == 1
        assert (np.diff(y[laid_out[first:last]]) >= 0).all()


def test_many_rows_per_edge_stay_levels():
    assert isinstance(Levels.build(np.arange(1000.0) % 2, graph="chain").compact(), Levels)
    assert isinstance(Levels.build(np.arange(1000.0)).compact(), Levels)
    assert isinstance(Levels.build(np.arange(1000.0), graph="chain").compact(), Pairs)


def test_a_dense_graph_of_many_labels_joins_what_the_full_graph_does():
    rng = np.random.default_rng(0)
    y, qid = rng.permutation(np.tile(np.arange(60.0), 3)), rng.integers(0, 3, 180)
    graph = OrderGraph(list(itertools.combinations(range(60), 2)))
    levels = Levels.build(y, qid, graph=graph)
    full = Levels.build(y, qid)
    assert levels.n_pairs == full.n_pairs
    np.testing.assert_array_equal(levels.wins_and_losses(), full.wins_and_losses())
    assert (np.lexsort(levels.edges.T[::-1]) == np.arange(len(levels.edges))).all()


def test_rows_far_heavier_than_their_preferences_are_refused():
    y, qid = np.array([0.0, 1.0, 5.0]), np.array([1, 1, 2])
    weight = np.array([1e-100, 1e-100, 1e100])
    with pytest.raises(PairrankError, match=r"the rows weigh 1e\+100, but their pref.* 1e-200"):
        Levels.build(y, qid, sample_weight=weight).reduced("rows")


@pytest.mark.parametrize("reduction", ["rows", "query", "sum"])
def test_preferences_among_no_rows_are_reduced(reduction):
    assert Levels.build(np.empty(0)).reduced(reduction).pair_weight == 0.0


def test_a_rare_level_is_kept_in_larger_part_and_weighted_down():
    y = np.zeros(100_000)
    y[:200] = 1.0
    rows, sample = draw_sample(Levels.build(y), 2_000, np.random.default_rng(0))
    assert (y[rows] == 1).sum() == 200
    assert sample.weight is not None
    assert sample.weight.sum() == pytest.approx(100_000)


@given(rows=drawn_rows(), n_bands=st.integers(1, 3))
def test_bands_merge_neighbouring_levels_and_weigh_as_much(rows, n_bands):
    y, qid, weight = (np.array(column) for column in zip(*rows, strict=True))
    levels = Levels.build(y, qid, sample_weight=weight.astype(float) + 1)
    banded = merge_levels(levels, n_bands)
    level_of_row = np.repeat(levels.group_level, np.diff(levels.group_start))
    band_of_row = np.repeat(banded.group_level, np.diff(banded.group_start))
    bands = {level: set(band_of_row[level_of_row == level]) for level in set(level_of_row)}
    assert all(len(found) == 1 for found in bands.values())
    ordered = [min(bands[level]) for level in sorted(bands)]
    assert ordered == sorted(ordered)
    assert max(ordered) < n_bands
    query = np.repeat(np.arange(levels.n_queries), np.diff(levels.query_start))
    again = Levels.build(band_of_row, query, sample_weight=levels.weight)
    assert banded.n_pairs == again.n_pairs
    if banded.n_pairs:
        assert banded.pair_scale * banded.pair_weight == pytest.approx(levels.pair_weight)


def test_places_drawn_twice_by_rounding_are_weighted_once():
    class Edges:
        """Draws the last number below 1 and 0 in turn: a stretch's end meets the next's start."""

        def random(self, size):
            return np.where(np.arange(size) % 2, 0.0, np.nextafter(1.0, 0.0))

    y = np.repeat([0.0, 1.0, 2.0], [20_000, 30_000, 700])
    levels = Levels.build(y)
    rows, sample = draw_sample(levels, 4_001, Edges())
    assert np.unique(rows).size == rows.size == sample.weight.size == sample.row_of.size
    weight = np.bincount(sample.group_level.repeat(np.diff(sample.group_start)), sample.weight)
    np.testing.assert_allclose(weight, [20_000, 30_000, 700])


@pytest.mark.parametrize(
    "y",
    [
        np.array([127, -128, 0, 127], np.int8),
        np.array([30_000, -30_000] * 40_000, np.int16),
        np.array([2, 255, 2], np.uint8),
        np.array([True, True]),
        np.array([True, False]),
        np.array([-3.0, 1e3, 0.0], np.float32),
        np.append(np.zeros(20_000), 0.5),
        np.append(np.zeros(20_000), 3.0),
        np.append(np.arange(20_000) % 2, 3).astype(np.int16),
    ],
    ids=lambda y: str(y.dtype) if y.any() != y.all() else f"{y.dtype}, all alike",
)
def test_labels_of_any_dtype_have_the_codes_of_their_order(y):
    """A label may occur in the last of many rows only, and may alone be no whole number."""
    labels, codes = level_codes(y)
    wanted, inverse = np.unique(y.astype(np.float64), return_inverse=True)
    np.testing.assert_array_equal(labels, wanted)
    np.testing.assert_array_equal(codes, inverse)


@pytest.fixture
def pairs():
    return Pairs([2, 0, 3, 4], [0, 1, 1, 2], weight=[1, 2, 3, 4], magnitude=[1, 0, 1, 1])


def test_a_sample_of_comparisons_weighs_as_much_as_all():
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 5000, (2, 20_000))
    pairs = Pairs(i[i != j], j[i != j], rng.random((i != j).sum()), n_rows=5000)
    rows, sample = draw_sample(pairs.bound(5000, reduction="rows"), 300, rng)
    assert sample.n_pairs == 300
    assert sample.n_rows == rows.size
    assert {tuple(pair) for pair in rows[np.column_stack((sample.i, sample.j))]} <= set(
        zip(pairs.i, pairs.j, strict=True)
    )
    assert sample.total_weight == pytest.approx(5000)


NAMES = st.one_of(st.integers(-3, 3), st.text(max_size=2), st.tuples(st.integers(0, 1)))


@given(st.lists(NAMES, min_size=1))
def test_codes_are_places_among_the_distinct_names(names):
    distinct, codes = name_codes(names, "names")
    assert [distinct[code] for code in codes] == names
    assert len(set(distinct)) == len(distinct)


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


@given(swapped=st.none() | st.integers(0, 21))
def test_rows_are_in_order_only_if_no_two_neighbours_are_swapped(swapped):
    y = np.arange(23.0)
    if swapped is not None:
        y[[swapped, swapped + 1]] = y[[swapped + 1, swapped]]
    assert Levels.build(y).in_order == (swapped is None)
