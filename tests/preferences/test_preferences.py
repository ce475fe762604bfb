"""Who is preferred to whom: Levels and OrderGraph against their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank import OrderGraph, Pairs
from pairrank.exceptions import NoPairsError, PairrankError, PairrankWarning
from pairrank.preferences import Levels, draw_sample, merge_levels
from pairrank.preferences._codes import level_codes

ODD_GRAPH = OrderGraph([(0.0, 2.0), (1.0, 2.0), (0.0, 3.0)])


def preferred(y, qid, graph):
    """Every (i, j), i preferred to j, by definition."""
    found = []
    for q in set(qid):
        rows = [row for row in range(len(y)) if qid[row] == q]
        present = sorted({y[row] for row in rows})
        above = dict(itertools.pairwise(present))
        for i in rows:
            for j in rows:
                if graph == "full":
                    joined = y[i] > y[j]
                elif graph == "chain":
                    joined = above.get(y[j]) == y[i]
                else:
                    joined = (y[j], y[i]) in graph.edges
                if joined:
                    found.append((i, j))
    return found


def drawn_rows():
    row = st.tuples(
        st.sampled_from([0.0, 1.0, 2.0, 3.0]),
        st.sampled_from("abc"),
        st.sampled_from([0, 0.5, 1, 3]),
    )
    return st.lists(row, min_size=1, max_size=25)


@pytest.mark.filterwarnings("ignore:the order graph names")
@pytest.mark.parametrize("graph", ["full", "chain", ODD_GRAPH], ids=["full", "chain", "edges"])
@given(rows=drawn_rows())
def test_pairs_and_weights_equal_the_definition(graph, rows):
    y, qid, weight = (np.array(column) for column in zip(*rows, strict=True))
    weight = weight.astype(float)
    levels = Levels.build(y, qid, graph=graph, sample_weight=weight)
    pairs = [(i, j) for i, j in preferred(y, qid, graph) if weight[i] * weight[j] > 0]
    kept = {(q, value) for q, value, w in zip(qid, y, weight, strict=True) if w > 0}
    if graph == "chain":
        alive = weight > 0
        renumber = np.flatnonzero(alive)
        pairs = [(renumber[i], renumber[j]) for i, j in preferred(y[alive], qid[alive], graph)]
    assert levels.n_pairs == len(pairs)
    assert levels.group_level.size == len(kept)
    assert levels.pair_weight == pytest.approx(sum(weight[i] * weight[j] for i, j in pairs))
    expected = np.zeros((2, y.size))
    for i, j in pairs:
        expected[0, i] += weight[i] * weight[j]
        expected[1, j] += weight[i] * weight[j]
    np.testing.assert_allclose(levels.wins_and_losses(), expected, atol=1e-12)


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


@pytest.mark.parametrize(
    "qid",
    [
        np.array([3, 1, 3, 1]),
        np.array(["b", "a", "b", "a"]),
        np.array([(1, 2), None, (1, 2), None], dtype=object)[[0, 0, 2, 2]],
        np.array([2.5, -1.0, 2.5, -1.0]),
    ],
    ids=["int", "text", "object", "float"],
)
def test_queries_may_be_any_hashable(qid):
    levels = Levels.build(np.array([0.0, 1.0, 1.0, 0.0]), qid)
    assert levels.n_pairs == (4 if levels.n_queries == 1 else 2)


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, 1, 1, 2.0]),
        np.array([-5, 7, 7, 1e9]),
        np.array([0.25, 0.5, 0.5, 0.75]),
        np.array([-1e300, 0.0, 0.0, 1e300]),
    ],
)
def test_labels_of_any_size_become_levels(y):
    levels = Levels.build(y)
    np.testing.assert_array_equal(levels.labels, np.unique(y))
    assert levels.n_pairs == 5


def test_text_labels_follow_an_order_graph():
    y = np.array(["poor", "good", "fair", "good"])
    graph = OrderGraph([("poor", "fair"), ("fair", "good")])
    assert Levels.build(y, graph=graph).n_pairs == 3
    with pytest.raises(PairrankError, match="OrderGraph"):
        Levels.build(y)


@pytest.mark.filterwarnings("ignore:the order graph names")
@pytest.mark.parametrize("mode", ["sum", "rows", "query"])
@pytest.mark.parametrize("graph", ["chain", ODD_GRAPH], ids=["chain", "edges"])
@given(rows=drawn_rows())
def test_few_rows_per_edge_become_the_same_comparisons(graph, mode, rows):
    y, qid, weight = (np.array(column) for column in zip(*rows, strict=True))
    levels = Levels.build(y, qid, graph=graph, sample_weight=weight.astype(float))
    if not levels.n_pairs:
        return
    levels = levels.reduced(mode)
    pairs = levels.compact()
    assert (pairs.n_rows, pairs.n_pairs) == (levels.n_rows, levels.n_pairs)
    assert pairs.row_weight == levels.row_weight
    np.testing.assert_allclose(pairs.wins_and_losses(), levels.wins_and_losses(), rtol=1e-14)
    listed = {(y[i], y[j], qid[i], qid[j]) for i, j in zip(pairs.i, pairs.j, strict=True)}
    assert all(own == other for _, _, own, other in listed)


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


def test_an_edge_to_an_absent_label_warns_while_pairs_remain():
    with pytest.warns(PairrankWarning, match=r"absent from y: 9\.0"):
        levels = Levels.build(np.array([0.0, 1.0]), graph=OrderGraph([(0.0, 1.0), (1.0, 9.0)]))
    levels.require_pairs()


@pytest.mark.parametrize(
    ("y", "qid", "message"),
    [
        ([1.0], None, "1 sample"),
        ([1.0, 1.0], None, "one class only"),
        ([0.0, 1.0], ["a", "b"], "no preference among 2 rows in 2 queries"),
    ],
)
def test_no_pair_left_says_why(y, qid, message):
    levels = Levels.build(np.array(y), None if qid is None else np.array(qid))
    with pytest.raises(NoPairsError, match=message):
        levels.require_pairs()


def test_normalisation_counts_queries_without_a_preference():
    y, qid = np.array([0.0, 1.0, 5.0]), np.array([1, 1, 2])
    scale = Levels.build(y, qid).reduced("query").pair_scale
    np.testing.assert_allclose(scale, [1.5, 0.0])


def test_normalisation_scales_as_documented():
    y, qid = np.array([0.0, 1.0, 0.0, 1.0, 1.0]), np.array([1, 1, 2, 2, 2])
    levels = Levels.build(y, qid)
    assert levels.reduced("sum").pair_scale == 1.0
    assert levels.reduced("rows").pair_scale == pytest.approx(5 / 3)
    np.testing.assert_allclose(levels.reduced("query").pair_scale, [2.5 / 1, 2.5 / 2])


@pytest.mark.parametrize("graph", ["full", "chain"])
@pytest.mark.parametrize("queries", [1, 400])
def test_a_sample_stands_for_all_pairs(graph, queries):
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 3, 20_000).astype(float), rng.integers(0, queries, 20_000)
    weight = rng.random(20_000) + 0.5
    levels = Levels.build(y, qid, graph=graph, sample_weight=weight).reduced("rows")
    rows, sample = draw_sample(levels, 4_000, rng)
    assert rows.size == sample.n_rows == len(set(rows))
    assert 3_000 < rows.size < 5_200
    if queries > 1:
        assert {tuple(np.flatnonzero(qid == q)) for q in set(qid[rows])} == {
            tuple(sorted(rows[qid[rows] == q])) for q in set(qid[rows])
        }
    ratio = np.sum(sample.pair_scale * sample.query_pair_weight)
    assert ratio == pytest.approx(levels.pair_scale * levels.pair_weight)
    again = Levels.build(y[rows], qid[rows], graph=graph, sample_weight=weight[rows])
    assert sample.n_pairs == again.n_pairs


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


@pytest.mark.parametrize("heavy", [0, 2, 4])
def test_a_heavy_row_costs_the_others_no_digits(heavy):
    weight = np.full(6, 0.5)
    weight[heavy] = 1e60
    y, qid = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0]), np.array([0, 0, 0, 1, 1, 1])
    levels = Levels.build(y, qid, sample_weight=weight)
    pairs = [(i, j) for i in range(6) for j in range(6) if qid[i] == qid[j] and y[i] > y[j]]
    products = np.array([weight[i] * weight[j] for i, j in pairs])
    i, j = np.array(pairs).T
    wins, losses = levels.wins_and_losses()
    np.testing.assert_allclose(wins, np.bincount(i, products, 6), rtol=1e-14)
    np.testing.assert_allclose(losses, np.bincount(j, products, 6), rtol=1e-14)
    np.testing.assert_allclose(
        levels.query_pair_weight, np.bincount(qid[i], products, 2), rtol=1e-14
    )


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
