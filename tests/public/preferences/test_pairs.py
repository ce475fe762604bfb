"""Pairs: comparisons as a target that cross-validation can split; order graphs that are none."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable

from pairrank import OrderGraph, Pairs, RankNCG
from pairrank.exceptions import NoPairsError, PairrankError, PairrankWarning

pytestmark = pytest.mark.numeric


@pytest.fixture
def pairs():
    return Pairs([2, 0, 3, 4], [0, 1, 1, 2], weight=[1, 2, 3, 4], magnitude=[1, 0, 1, 1])


def test_it_counts_as_one_value_a_row(pairs):
    assert pairs.shape == (5,)
    assert len(pairs) == 5
    assert Pairs([0], [1], n_rows=9).shape == (9,)
    with pytest.raises(TypeError, match="comparisons, not an array"):
        np.asarray(pairs)


@pytest.mark.parametrize(
    "key",
    [np.array([4, 2, 0]), [4, 2, 0], (np.array([4, 2, 0]),), (np.array([4, 2, 0]), ...)],
    ids=["array", "list", "tuple", "ellipsis"],
)
def test_indexing_keeps_pairs_with_both_ends_renumbered(pairs, key):
    kept = pairs[key]
    np.testing.assert_array_equal(kept.i, [1, 0])
    np.testing.assert_array_equal(kept.j, [2, 1])
    np.testing.assert_array_equal(kept.weight, [1, 4])
    assert kept.n_rows == 3


def test_masks_slices_and_scikit_learn_index_alike(pairs):
    mask = np.array([True, True, True, False, False])
    for kept in (pairs[mask], pairs[:3], _safe_indexing(pairs, np.arange(3))):
        np.testing.assert_array_equal(kept.i, [2, 0])
        np.testing.assert_array_equal(kept.magnitude, [1, 0])
    assert indexable(np.zeros((5, 1)), pairs)[1] is pairs


@pytest.mark.parametrize(
    ("key", "message"),
    [([0, 0], "selected twice"), (3, "many rows at once"), ((slice(2), 0), "rows alone")],
)
def test_indexing_that_makes_no_sense_is_refused(pairs, key, message):
    with pytest.raises(PairrankError, match=message):
        pairs[key]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(i=[0, 1], j=[1]), "one pair each"),
        (dict(i=[0], j=[0]), "compares row 0 with itself"),
        (dict(i=[-1], j=[0]), r"i\[0\] = -1 is not a row"),
        (dict(i=[0], j=[5], n_rows=3), r"j\[0\] = 5 is not a row: rows go from 0 to 2"),
        (dict(i=[0], j=[1], n_rows=0), r"i\[0\] = 0 is not a row: n_rows is 0"),
        (dict(i=[0.5], j=[1]), "whole numbers"),
        (dict(i=[0], j=[1], weight=[-1]), "negative"),
        (dict(i=[0], j=[1], weight=[np.nan]), "weight contains NaN in row 0"),
        (dict(i=[0], j=[1], magnitude=[1, 2]), "magnitude has 2 entries for 1 rows"),
        (dict(i=[[0]], j=[[1]]), "one dimension"),
        (dict(i=[], j=[], n_rows=-3), r"n_rows must be at least 0 \(got -3\)"),
        (dict(i=[0], j=[1], n_rows=7.9), r"n_rows must be a whole number \(got 7.9\)"),
        (dict(i=[np.inf], j=[0]), "whole numbers"),
        (dict(i=[0], j=[1], weight=["a"]), "must hold numbers"),
    ],
)
def test_bad_pairs_are_refused(arguments, message):
    with pytest.raises(PairrankError, match=message):
        Pairs(**arguments)


@pytest.mark.parametrize("weight", [1e308, 1e101, 1e-101, 5e-324])
def test_weights_whose_products_are_no_numbers_are_refused(weight):
    with pytest.raises(PairrankError, match=r"keep weights between 1e-100 and 1e\+100"):
        Pairs([0], [1], weight=[weight])
    largest = Pairs([0], [1], weight=[1e100])
    with pytest.raises(PairrankError, match=r"times the rows' weights.* 1e-200 and 1e\+200"):
        largest.bound(2, sample_weight=np.array([1e100, 1e100]))
    assert largest.bound(2, reduction="rows").total_weight == pytest.approx(2.0)


def test_a_tie_is_both_directions_at_half_the_weight(pairs):
    bound = pairs.bound(5)
    np.testing.assert_array_equal(bound.i, [2, 0, 3, 4, 1])
    np.testing.assert_array_equal(bound.j, [0, 1, 1, 2, 0])
    np.testing.assert_array_equal(bound.weight, [1, 1, 3, 4, 1])
    with pytest.raises(PairrankError, match=r"magnitude\[0\] = 2"):
        Pairs([0], [1], magnitude=[2]).bound(2)


def test_row_weights_multiply_and_zero_rows_take_their_pairs_away(pairs):
    bound = pairs.bound(6, sample_weight=np.array([1, 2, 3, 0, 5, 7.0]), ties=False)
    np.testing.assert_array_equal(bound.weight, [3, 4, 60])
    assert bound.row_weight == 18
    with pytest.raises(NoPairsError):
        Pairs([0], [1]).bound(2, sample_weight=np.array([0.0, 1.0])).require_pairs()


def test_pairs_of_weight_zero_do_not_count():
    bound = Pairs([0, 1], [1, 2], weight=[0, 2]).bound(3, reduction="rows")
    assert bound.n_pairs == 1
    assert bound.pair_scale == pytest.approx(1.5)
    with pytest.raises(NoPairsError):
        Pairs([0], [1], weight=[0]).bound(2, reduction="rows").require_pairs()


def test_a_query_without_a_comparison_counts_as_a_query():
    bound = Pairs([3], [4]).bound(5, qid=np.array([1, 1, 1, 2, 2]), reduction="query")
    np.testing.assert_allclose(bound.weight, [2.5])


def test_pairs_stay_within_queries_and_rows(pairs):
    for qid in ([1, 1, 1, 2, 1], list("aaaba")):
        named = rf"different queries \({qid[3]!r} and {qid[2]!r}\)"
        with pytest.raises(PairrankError, match=named):
            pairs.bound(5, qid=np.array(qid))
    with pytest.raises(PairrankError, match="count 5 rows but X has 4"):
        pairs.bound(4)


def test_normalisation_by_rows_and_by_query():
    pairs = Pairs([1, 2, 4], [0, 0, 3])
    assert pairs.bound(5, reduction="rows").pair_scale == pytest.approx(5 / 3)
    scaled = pairs.bound(5, qid=np.array([1, 1, 1, 2, 2]), reduction="query")
    np.testing.assert_allclose(scaled.weight, [1.25, 1.25, 2.5])


def test_wins_and_losses_are_weighed(pairs):
    wins, losses = pairs.bound(5).wins_and_losses()
    np.testing.assert_array_equal(wins, [1, 1, 1, 3, 4])
    np.testing.assert_array_equal(losses, [2, 4, 4, 0, 0])


def test_a_clone_of_pairs_is_a_copy(pairs):
    copy = clone(pairs, safe=False)
    np.testing.assert_array_equal(copy.i, pairs.i)


def test_groups_are_kept_through_indexing_binding_and_selection():
    groups = ["a", "b", ("c", 1), "a"]
    pairs = Pairs([2, 0, 3, 4], [0, 1, 1, 2], magnitude=[1, 0, 1, 1], groups=groups)
    assert pairs[[0, 1, 2]].groups.tolist() == ["a", "b"]
    assert pairs.select([3, 1]).groups.tolist() == ["a", "b"]
    assert pairs.select(np.array([True, False, True, False])).groups.tolist() == ["a", ("c", 1)]
    bound = pairs.bound(5, sample_weight=np.array([1.0, 1, 1, 0, 1]))
    assert bound.groups.tolist() == ["a", "b", "a", "b"]
    assert bound.comparison.tolist() == [0, 1, 2, 1]
    assert pairs.preferred().groups.tolist() == groups
    for wrong, message in ((["a"], "groups has 1 entries for 4 rows"), ("aaaa", "groups")):
        with pytest.raises(PairrankError, match=message):
            Pairs(pairs.i, pairs.j, groups=wrong)
    with pytest.raises(PairrankError, match="missing"):
        Pairs([0, 1], [1, 0], groups=["a", None])


def test_a_tie_is_one_comparison_wherever_comparisons_are_counted():
    pairs = Pairs([0, 1, 2], [1, 2, 0], magnitude=[1, 0, 0], groups=[1, 1, 2])
    assert repr(pairs) == "Pairs(n_pairs=3, n_rows=3, n_ties=2, n_groups=2)"
    bound = pairs.bound(3)
    assert (bound.n_pairs, bound.n_comparisons) == (5, 3)
    assert repr(bound) == "Pairs(n_pairs=3, n_rows=3, n_groups=2)"
    never_wins = pairs.bound(3, winner_weight=np.array([1.0, 0.0, 1.0]))
    assert never_wins.n_comparisons == 3  # one half of a tie is left
    never_meets = pairs.bound(3, winner_weight=np.array([1.0, 0.0, 0.0]))
    assert never_meets.n_comparisons == 2
    ranker = RankNCG().fit(np.eye(3), pairs)
    assert ranker.n_pairs_ == 3


def test_losing_most_pairs_in_a_split_of_rows_warns():
    rng = np.random.default_rng(0)
    i = rng.integers(0, 50, 400)
    pairs = Pairs(i, (i + rng.integers(1, 50, 400)) % 50)
    with pytest.warns(PairrankWarning, match="comparisons of these 10 rows are lost.*RankNCGCV"):
        pairs[:10]
    assert pairs[:40].n_pairs > 200  # two thirds of the rows and more lose less than half
    within = Pairs(np.arange(0, 50, 2), np.arange(1, 50, 2))
    assert within[:10].n_pairs == 5  # whole queries lose none


def test_a_tie_has_the_role_weights_of_each_direction():
    winner, loser = np.array([2.0, 3.0]), np.array([5.0, 7.0])
    bound = Pairs([0], [1], magnitude=[0.0]).bound(2, winner_weight=winner, loser_weight=loser)
    np.testing.assert_array_equal(bound.i, [0, 1])
    np.testing.assert_array_equal(bound.weight, [7.0, 7.5])


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(0, 1), (1, 2), (2, 0)], "cycle: 0 < 1 < 2 < 0"),
        ([(0, 1), (1, 0)], "cycle"),
        ([(1, 1)], "joins 1 with itself"),
        ([], "at least one edge"),
        ([(0, 1, 2)], "a pair"),
        (["ab"], "a pair"),
        (3, "made of edges"),
        ("ab", "made of edges"),
        ([(float("nan"), 1)], r"nan, 1\).*not a label"),
        ([(1, np.float64("nan"))], "not a label"),
        ([(0, [1])], r"ends in \[1\].*not a label"),
        ([(0, np.array([1, 2]))], "not a label"),
        ([({}, 1)], "not a label"),
        ([(0, (1, []))], "not a label"),
    ],
)
def test_a_graph_that_is_none_is_refused(edges, message):
    with pytest.raises(PairrankError, match=message):
        OrderGraph(edges)
