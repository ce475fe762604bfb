"""Ratings tables and the papers' protocols: what is drawn, and that no test rating leaks."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.datasets import make_ratings
from pairrank.exceptions import PairrankError
from pairrank.recommend import Protocol, RatingsTable, References, impute, suited_params

pytestmark = pytest.mark.numeric

RATINGS = make_ratings(60, 80, random_state=0)


@pytest.fixture(scope="module")
def table():
    return RatingsTable.build(RATINGS)


def as_dense(table):
    dense = np.full((table.n_users, table.n_items), np.nan)
    for user in range(table.n_users):
        dense[user, table.items_of(user)] = table.ratings_of(user)
    return dense


def test_a_table_holds_every_rating_by_user_and_item():
    user, item, rating = RATINGS
    shuffled = np.random.default_rng(0).permutation(user.size)
    table = RatingsTable.build(tuple(column[shuffled] for column in RATINGS))
    dense = np.full((60, 80), np.nan)
    dense[user, item] = rating
    np.testing.assert_array_equal(as_dense(table), dense[np.ix_(table.user_ids, table.item_ids)])
    assert table.n_ratings == user.size


def test_a_table_takes_names_of_any_kind():
    table = RatingsTable.build((["b", "a"], ["y", "x"], [1, 2]))
    assert table.user_ids.tolist() == ["a", "b"]
    assert table.find_users(["b", "a", "b"]).tolist() == [1, 0]
    assert table.ratings_of(1).tolist() == [1.0]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_a_frame_are_found_by_name(library):
    columns = {
        "rating": [4.0, 3.0, 1.0],
        "item": ["x", "x", "y"],
        "at": [7, 8, 9],
        "user": [2, 1, 2],
    }
    for frame in (pytest.importorskip(library).DataFrame(columns), columns):
        table = RatingsTable.build(frame)
        assert table.user_ids.tolist() == [1, 2]
        assert table.rating.tolist() == [3.0, 4.0, 1.0]


@pytest.mark.parametrize("names", [{}, {"item": "film", "rating": "stars"}])
def test_columns_of_a_frame_have_the_names_that_ratings_files_have(names):
    columns = {"User-ID": [2, 1], "film": ["x", "y"], "stars": [4.0, 3.0], "at": [7, 8]}
    table = RatingsTable.build(columns, **names)
    assert table.user_ids.tolist() == [1, 2]
    assert table.item_ids.tolist() == ["x", "y"]
    assert table.rating.tolist() == [3.0, 4.0]
    with pytest.raises(PairrankError, match="no column 'movie' to take as the item"):
        RatingsTable.build(columns, item="movie")


@pytest.mark.parametrize(("rule", "kept"), [("mean", 2.5), ("last", 1.0)])
def test_duplicate_ratings_are_merged_by_the_rule(rule, kept):
    ratings = (["a", "b", "a"], ["x", "x", "x"], [4, 3, 1])
    table = RatingsTable.build(ratings, duplicates=rule)
    assert table.rating.tolist() == [kept, 3.0]
    with pytest.raises(PairrankError, match=r'user a rates item x twice.*duplicates.*"mean"'):
        RatingsTable.build(ratings)


@pytest.mark.parametrize(
    ("ratings", "complaint"),
    [
        (([], [], []), "there is no rating"),
        (([1], [1], [np.nan]), "rating 0 is nan"),
        (([1, 2], [1], [3.0]), "different lengths"),
        (([1], [1], ["good"]), "rating must hold numbers"),
        (5, "three sequences"),
        ("abc", "three sequences.*got a str"),
        (np.ones((3, 3)), "three sequences.*got a ndarray"),
        ({"user": [1], "rating": [3]}, "columns 1, 2, 2"),
        (([[1, 2]], [1], [1]), "users in row 0 is not hashable"),
    ],
)
def test_bad_ratings_are_refused(ratings, complaint):
    with pytest.raises(PairrankError, match=complaint):
        RatingsTable.build(ratings)


def test_restricting_counts_items_among_the_users_left(table):
    few = table.restricted(min_user_ratings=12, min_item_ratings=5)
    dense = as_dense(table)
    users = np.count_nonzero(~np.isnan(dense), axis=1) >= 12
    items = np.count_nonzero(~np.isnan(dense[users]), axis=0) >= 5
    left = dense[np.ix_(users, items)]
    left = left[~np.isnan(left).all(axis=1)]
    np.testing.assert_array_equal(as_dense(few), left)
    with pytest.raises(PairrankError, match="no rating is left"):
        table.restricted(min_user_ratings=1000)


def test_medians_fill_the_gaps_of_their_own_column():
    known = np.array([[1.0, np.nan], [np.nan, 2.0], [4.0, 5.0], [4.0, np.nan]])
    filled = impute(known, "median", np.random.default_rng(0))
    np.testing.assert_array_equal(filled, [[1, 3.5], [4, 2], [4, 5], [4, 3.5]])


@pytest.mark.parametrize(("how", "axis"), [("gaussian", 0), ("gaussian-item", 1)])
def test_samples_have_the_moments_of_what_is_known(how, axis):
    generator = np.random.default_rng(0)
    known = generator.normal([[2.0], [-3.0]], [[0.5], [3.0]], size=(2, 100_000))
    known = known if axis else known.T
    gaps = generator.random(known.shape) < 0.5
    filled = impute(np.where(gaps, np.nan, known), how, generator)
    np.testing.assert_array_equal(filled[~gaps], known[~gaps])
    drawn = np.ma.array(filled, mask=~gaps)
    np.testing.assert_allclose(drawn.mean(axis=axis), [2.0, -3.0], atol=0.05)
    np.testing.assert_allclose(drawn.std(axis=axis), [0.5, 3.0], rtol=0.03)


def test_an_item_that_no_reference_rated_takes_the_moments_of_all():
    known = np.full((2000, 3), np.nan)
    known[0] = [1.0, 3.0, 5.0]
    filled = impute(known, "gaussian-item", np.random.default_rng(0))
    assert filled[1:].mean() == pytest.approx(3.0, abs=0.1)
    assert filled[1:].std() == pytest.approx(np.std([1, 3, 5]), rel=0.05)


def test_cortes_draws_from_the_groups_of_activity(table):
    protocol = Protocol((8, 20), n_references=10, n_users=10, activity=(20, 60))
    problems = protocol.draw(table, random_state=0)
    counts = table.counts
    assert (
        (counts[problems.references.users] >= 8) & (counts[problems.references.users] < 20)
    ).all()
    judged = counts[[task.user for task in problems.tasks]]
    assert ((judged >= 20) & (judged <= 60)).all()


def test_groups_exclude_their_end_and_activity_includes_it():
    sizes = [4, 5, 5, 6, 6, 7, 8, 8, 9]
    user = np.repeat(np.arange(len(sizes)), sizes)
    item = np.concatenate([np.arange(size) for size in sizes])
    ratings = user, item, 1.0 + item % 5
    problems = Protocol((5, 6), 2, 3, activity=(7, 8)).draw(ratings, random_state=0)
    assert problems.references.users.tolist() == [1, 2]
    assert [task.user for task in problems.tasks] == [5, 6, 7]


def test_judged_users_have_as_many_ratings_as_asked(table):
    problems = Protocol(n_references=10, n_users=8, activity=(18, 1000)).draw(table, random_state=0)
    assert table.counts[[task.user for task in problems.tasks]].min() >= 18


@pytest.mark.parametrize(
    ("protocol", "complaint"),
    [
        (Protocol(n_references=500, n_users=5), "n_references=500, but only 55 of 60"),
        (Protocol(n_references=5, n_users=500), "n_users=500, but only 60 of 60"),
        (Protocol(n_references=0, n_users=5), "n_references must be at least 1"),
        (Protocol((0, 99), 5, 5, (999, 999)), "n_users=5, but only 0 of 60 users can be judged"),
        (Protocol((0, 99), 5, 5, train_share="half"), "train_share must be a finite number"),
        (Protocol((0, 99), 5, 5, train_share=1.0), "train_share must be less than 1"),
        (Protocol((0, 99), 5, 5, impute="mean"), "impute must be one of"),
        (Protocol((900, 901), 5, 5, (10, 70)), "only 0 of 60 users can be references"),
        (Protocol(min_user_ratings=1000), "no rating is left"),
        (Protocol(min_user_ratings=-1), "the least ratings must be at least 0"),
    ],
)
def test_an_impossible_draw_is_refused(protocol, complaint):
    with pytest.raises(PairrankError, match=complaint):
        protocol.draw(RATINGS)


def test_reference_users_must_exist_and_differ(table):
    with pytest.raises(PairrankError, match="one or more users, each once"):
        References.build(table, [1, 1])
    with pytest.raises(PairrankError, match="one or more users"):
        References.build(table, [])


def test_support_counts_the_references_ratings(table):
    references = References.build(table, [3, 5, 8])
    dense = as_dense(table)[[3, 5, 8]]
    np.testing.assert_array_equal(references.support, np.count_nonzero(~np.isnan(dense), axis=0))
    np.testing.assert_array_equal(np.where(np.isnan(dense.T), np.nan, references.matrix), dense.T)


def test_suited_regularisation_follows_the_size_of_ratings(table):
    tenfold = RatingsTable.build((RATINGS[0], RATINGS[1], 10 * RATINGS[2]))
    for strength, differences, power in (("alpha", True, 2), ("C", False, -2), ("C", True, -2)):
        small, large = (
            suited_params(each, 20, strength, differences=differences)[strength]
            for each in (table, tenfold)
        )
        assert large / small == pytest.approx(10.0**power)
    size = 20 * table.rating.var()
    suited = suited_params(table, 20, "C", differences=True)["C"]
    assert suited == pytest.approx(np.median(table.counts) / (2 * size))
    assert suited_params(table, 20, "C", differences=False, kernel="poly") == {}
    assert set(suited_params(table, 20, "C", differences=False, kernel="rbf")) == {"gamma"}


def test_made_ratings_are_of_low_rank_and_four_a_user_at_least():
    user, item, rating = make_ratings(50, 40, density=0.01, random_state=3)
    assert np.bincount(user).min() >= 4
    assert np.unique(user * 40 + item).size == user.size
    assert set(np.unique(rating)) == {1.0, 2.0, 3.0, 4.0, 5.0}
    again = make_ratings(50, 40, density=0.01, random_state=3)
    np.testing.assert_array_equal(rating, again[2])
    full = make_ratings(60, 50, rank=2, density=1e9, noise=0.0, random_state=0)
    liking = full[2].reshape(60, 50)
    explained = np.linalg.svd(liking - liking.mean(), compute_uv=False) ** 2
    assert explained[:4].sum() > 0.8 * explained.sum()
