"""Airola 2010: parts of data, pairs, and what the three methods choose."""

import numpy as np
import pytest

from reproduction.papers.airola2010 import fits, rows


@pytest.fixture(scope="module")
def problem():
    return rows.problem_of("documents", 300)


def test_parts_share_no_query():
    parts = rows.problem_of("parses", 40)
    queries = [set(part.qid.tolist()) for part in parts]
    assert not queries[0] & queries[1]
    assert not (queries[0] | queries[1]) & queries[2]
    assert sum(map(len, queries)) == 40


def test_pairs_prefer_the_upper_class(problem):
    pairs = rows.with_pairs(problem, 500).train.y
    assert len(pairs.i) == 500
    assert (problem.train.y[pairs.i] > problem.train.y[pairs.j]).all()


def test_the_chosen_lambda_has_the_least_validation_error(problem):
    alphas = (2.0**-6, 1.0, 2.0**8)
    errors = [fits._error(fits._fit(problem, "tikhonov", each), problem.valid) for each in alphas]
    assert fits._choose(problem, "tikhonov", alphas).alpha == alphas[int(np.argmin(errors))]


def test_a_curve_has_the_error_of_every_step():
    found = fits.curve_of(data="documents", size=200, alpha=1.0, steps=6)
    error = np.asarray(found["error"])
    assert len(error) == found["steps"] + 1 <= 7
    assert error[0] == pytest.approx(0.5)
    assert found["best"] == error.min() == error[found["best step"]]
    assert found["last"] == error[-1]


def test_errors_of_rows_in_queries_are_means_over_queries():
    class Ranker:
        def predict(self, X):
            return np.array([2.0, 1.0, 1.0, 2.0, 1.0, 1.0])

    judged = rows.Rows(np.zeros((6, 1)), np.array([1, 0, 1, 0, 0, 1]), np.array([0, 0, 1, 1, 2, 2]))
    assert fits._error(Ranker(), judged) == pytest.approx((0.0 + 1.0 + 0.5) / 3)
