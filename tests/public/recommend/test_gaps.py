"""Ratings with gaps: rankers that take missing values get NaN, others are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pairrank import RankBoost, RankRLS
from pairrank.datasets import make_ratings
from pairrank.exceptions import PairrankError
from pairrank.recommend import Protocol, UserRankers, evaluate_users, fit_users, impute

PROTOCOL = Protocol((5, 99), 20, 10, (10, 99), impute="missing")


def test_gaps_are_left():
    known = np.array([[1.0, np.nan], [2.0, 4.0]])
    np.testing.assert_array_equal(impute(known, "missing", np.random.default_rng(0)), known)


def test_rankboost_learns_from_ratings_with_gaps():
    ratings = make_ratings(random_state=0)
    problems = PROTOCOL.draw(ratings, 0)
    assert all(np.isnan(problem.X_train).any() for problem in problems)
    found = evaluate_users(problems, RankBoost(20))
    assert found.mean("accuracy") > 0.6
    by_hand = [
        RankBoost(20).fit(problem.X_train, problem.y_train).score(problem.X_test, problem.y_test)
        for problem in problems
    ]
    np.testing.assert_allclose(found.metrics["accuracy"], by_hand, rtol=1e-12)


def test_rankers_that_take_no_gaps_are_refused():
    ratings = make_ratings(random_state=0)
    with pytest.raises(PairrankError, match='impute="missing" leaves gaps, which a RankRLS'):
        evaluate_users(PROTOCOL.draw(ratings, 0), RankRLS())
    evaluate_users(replace(PROTOCOL, impute="median").draw(ratings, 0), RankRLS())


def test_rankers_by_user_are_saved_with_their_gaps(tmp_path):
    rankers = fit_users(
        make_ratings(random_state=0), [3, 7], ranker=RankBoost(5), impute="missing",
        n_references=20,
    )  # fmt: skip
    rankers.save(tmp_path / "rankers")
    loaded = UserRankers.load(tmp_path / "rankers")
    np.testing.assert_array_equal(loaded.predict(3), rankers.predict(3))
