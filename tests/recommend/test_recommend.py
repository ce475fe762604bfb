"""Ratings tables and the papers' protocols: what is drawn, and that no test rating leaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pairrank.datasets import make_ratings
from pairrank.exceptions import NoPairsWarning, PairrankError
from pairrank.recommend import PROTOCOLS, Protocol, RatingsTable
from reproduction.data import load_ratings

pytestmark = pytest.mark.numeric

RATINGS = make_ratings(60, 80, random_state=0)
CASES = {
    "raykar": {"n_references": 15, "n_users": 10},
    "raykar by item": {"n_references": 15, "n_users": 10, "impute": "gaussian-item"},
    "cortes": {"group": (8, 60), "n_references": 15, "n_users": 10, "activity": (10, 70)},
    "leave-one-out": {"min_user_ratings": 8, "min_item_ratings": 4},
}
each_protocol = pytest.mark.parametrize(
    "protocol",
    [replace(PROTOCOLS[name.partition(" ")[0]], **changes) for name, changes in CASES.items()],
    ids=CASES,
)


@pytest.fixture(scope="module")
def table():
    return RatingsTable.build(RATINGS)


def as_dense(table):
    dense = np.full((table.n_users, table.n_items), np.nan)
    for user in range(table.n_users):
        dense[user, table.items_of(user)] = table.ratings_of(user)
    return dense


@each_protocol
def test_the_same_seed_draws_the_same_problems(protocol):
    first, again = (list(protocol.draw(RATINGS, random_state=7)) for _ in range(2))
    for one, other in zip(first, again, strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)
    others = list(protocol.draw(RATINGS, random_state=8))
    assert any(
        one.items_test.tolist() != other.items_test.tolist()
        for one, other in zip(first, others, strict=False)
    )


@each_protocol
def test_a_split_is_of_the_users_own_ratings(protocol):
    problems = protocol.draw(RATINGS, random_state=0)
    dense = as_dense(problems.table)
    for task, problem in zip(problems.tasks, problems, strict=True):
        items = np.concatenate([problem.items_train, problem.items_test])
        assert np.sort(items).tolist() == np.flatnonzero(~np.isnan(dense[task.user])).tolist()
        np.testing.assert_array_equal(problem.y_train, dense[task.user, problem.items_train])
        np.testing.assert_array_equal(problem.y_test, dense[task.user, problem.items_test])
        assert min(problem.y_train.size, problem.y_test.size) >= 2
        if items.size >= 8:
            assert abs(problem.y_train.size - protocol.train_share * items.size) <= 0.5


@pytest.mark.parametrize("impute", ["median", "gaussian", "gaussian-item"])
@each_protocol
def test_nobodys_own_ratings_are_among_their_features(protocol, impute):
    protocol = replace(protocol, impute=impute)
    problems = protocol.draw(RATINGS, random_state=0)
    for at, (task, before) in enumerate(zip(problems.tasks, problems, strict=True)):
        table = problems.table
        rating = table.rating.copy()
        rating[table.start[task.user] : table.start[task.user + 1]] *= -7.0
        spoilt = RatingsTable(table.user_ids, table.item_ids, table.start, table.item, rating)
        if protocol.n_references is None:
            drawn = replace(protocol, min_user_ratings=0, min_item_ratings=0)
        else:
            drawn = protocol
        after = list(drawn.draw(spoilt, random_state=0))[at]
        np.testing.assert_array_equal(after.items_train, before.items_train)
        np.testing.assert_allclose(after.X_train, before.X_train, rtol=1e-12)
        np.testing.assert_allclose(after.X_test, before.X_test, rtol=1e-12)


@each_protocol
def test_no_reference_is_judged_unless_all_are(protocol):
    problems = protocol.draw(RATINGS, random_state=0)
    judged = {task.user for task in problems.tasks}
    references = set(problems.references.users.tolist())
    if protocol.n_references is None:
        assert references == set(range(problems.table.n_users))
    else:
        assert not judged & references
        assert (len(judged), len(references)) == (10, 15)


@each_protocol
def test_users_can_be_asked_for_by_name(protocol, table):
    busy = np.flatnonzero(table.counts > 15)[:2]
    names = table.user_ids[busy].tolist()
    asked = replace(protocol, users=names)
    assert [problem.user for problem in asked.draw(table, random_state=0)] == names
    with pytest.raises(PairrankError, match="no ratings of user 'nobody'"):
        replace(protocol, users=["nobody"]).draw(table)


def test_a_user_with_too_few_ratings_is_skipped_and_named_in_a_warning():
    user, item, rating = RATINGS
    ratings = (
        np.append(user, [99, 99, 99]),
        np.append(item, [0, 1, 2]),
        np.append(rating, [1, 2, 3]),
    )
    table = RatingsTable.build(ratings)
    with pytest.warns(NoPairsWarning, match="left out user 99, who has 3 ratings; 4 are needed"):
        named = Protocol(n_references=15, users=[3, 99]).draw(ratings)
    assert (len(named), named.n_skipped) == (1, 1)
    problems = replace(PROTOCOLS["leave-one-out"], min_user_ratings=1, min_item_ratings=1).draw(
        table, random_state=0
    )
    few = int(np.count_nonzero(table.counts < 4))
    assert few >= 1
    assert problems.n_skipped == few
    assert len(problems) == table.n_users - few


def test_the_protocols_of_the_papers_can_be_drawn_on_movielens(data_home):
    ratings = load_ratings("ml-100k", data_home)
    problems = Protocol((20, 40), 100, 20).draw(ratings, random_state=0)
    assert len(problems) == 20
    assert next(iter(problems)).X_test.shape[1] == 100
    raykar = replace(PROTOCOLS["raykar"], n_references=50, n_users=20)
    assert len(raykar.draw(ratings, random_state=0)) == 20


def test_the_books_that_are_there_are_enough_for_leave_one_out(data_home):
    ratings = load_ratings("book_crossing_partial", data_home)
    table = RatingsTable.build(ratings, duplicates="mean")
    problems = replace(PROTOCOLS["leave-one-out"], min_user_ratings=20, min_item_ratings=3).draw(
        table, random_state=0
    )
    assert len(problems) > 90
