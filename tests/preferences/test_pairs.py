"""Pairs: comparisons as a target that cross-validation can split."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable

from pairrank import Pairs
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.preferences import draw_sample

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
        (dict(i=[0], j=[1], weight=[np.nan]), "not finite"),
        (dict(i=[0], j=[1], magnitude=[1, 2]), "there are 1 pairs"),
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


def test_a_clone_of_pairs_is_a_copy(pairs):
    copy = clone(pairs, safe=False)
    np.testing.assert_array_equal(copy.i, pairs.i)
