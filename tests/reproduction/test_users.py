"""Ratings tables and protocols: one ranking problem per user, without the user's own ratings."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from pairrank import Kernel, MPRank
from pairrank.metrics import msd, pairwise_accuracy
from reproduction.data.made import make_ratings
from reproduction.data.ratings import ratings_table, restricted
from reproduction.users import PROTOCOLS, Protocol, evaluate_users, user_metrics

USERS, ITEMS, RATINGS = make_ratings(60, 40, density=0.5, random_state=0)
TABLE = ratings_table(USERS, ITEMS, RATINGS)
PROTOCOL = Protocol((8, 60), 15, 10, (10, 70))


def test_active_users_are_selected_before_items_are_counted():
    found = restricted(TABLE, min_user_ratings=15, min_item_ratings=5)
    active = np.flatnonzero(np.bincount(USERS) >= 15)
    raters = np.bincount(ITEMS[np.isin(USERS, active)])
    assert sorted(set(found["item"])) == np.flatnonzero(raters >= 5).tolist()
    assert set(found["user"]) <= set(active)


def test_features_are_the_ratings_of_others_with_gaps_at_their_medians():
    protocol = replace(PROTOCOLS["leave-one-out"], min_user_ratings=0, min_item_ratings=0)
    known = np.full((40, 60), np.nan)
    known[ITEMS, USERS] = RATINGS
    filled = np.where(np.isnan(known), np.nanmedian(known, axis=0), known)
    for user in (0, 1, 5):
        ((X, y, X_test, y_test),) = replace(protocol, users=[user]).draw(TABLE, 0)
        rows = np.delete(filled, user, axis=1)[ITEMS[user == USERS]]
        given = np.vstack([X, X_test])
        np.testing.assert_array_equal(np.unique(given, axis=0), np.unique(rows, axis=0))
        assert sorted([*y, *y_test]) == sorted(RATINGS[user == USERS])
        assert min(y.size, y_test.size) >= 2
        assert np.ptp(y) > 0.0


def test_judged_users_do_not_refer_and_are_active():
    problems = PROTOCOL.draw(TABLE, 3)
    assert 5 <= len(problems) <= 10
    for X, y, X_test, y_test in problems:
        assert X.shape == (y.size, 15)
        assert X_test.shape == (y_test.size, 15)
        assert 10 <= y.size + y_test.size <= 70
    again = zip(problems, PROTOCOL.draw(TABLE, 3), strict=True)
    assert all(np.array_equal(one.X, two.X) for one, two in again)


@pytest.mark.parametrize("ranker", [MPRank(kernel=Kernel("rbf", gamma=0.01), C=10.0), Ridge(5.0)])
def test_metrics_are_those_of_users_fitted_one_by_one(ranker):
    problems = PROTOCOL.draw(TABLE, 0)
    wanted = {"msd": [], "misranking": []}
    for X, y, X_test, y_test in problems:
        scores = ranker.fit(X, y).predict(X_test)
        wanted["msd"].append(msd(y_test, scores))
        wanted["misranking"].append(1.0 - pairwise_accuracy(y_test, scores, ties="error"))
    found = user_metrics(problems, ranker)
    for name, values in wanted.items():
        values = np.array(values)
        np.testing.assert_allclose(found[name], values[~np.isnan(values)], rtol=1e-6)
        assert evaluate_users(problems, ranker)[name] == pytest.approx(np.nanmean(values), rel=1e-6)
