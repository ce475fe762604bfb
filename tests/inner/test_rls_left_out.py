"""What RankRLS predicts for queries left out equals refits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pairrank.model_selection.rls_equations import CentredRows
from pairrank.model_selection.rls_left_out import Spectrum, leave_query_out
from rls_definitions import awkward_rows, refit

pytestmark = pytest.mark.numeric

ALPHAS = np.array([2.0**-10, 0.5, 30.0])


@given(st.integers(0, 2**32 - 1), st.sampled_from(["ties", "offset", "constant", "float32"]))
@example(2749, "ties")
@example(14657, "ties")
def test_left_out_scores_are_those_of_refits_on_awkward_rows(seed, kind):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2, 25))
    X = awkward_rows(kind, rng, n_rows, int(rng.integers(1, 9)))
    y = rng.integers(0, 3, n_rows).astype(float)[:, None]
    qid = rng.integers(0, 6, n_rows)
    assume(np.ptp(qid) > 0)  # a single query is never left out
    weight = np.where(rng.random(n_rows) < 0.2, 0.0, rng.exponential(size=n_rows)) + 1e-9
    problem = CentredRows.build(X, y, qid, weight)
    left_out = leave_query_out(Spectrum(problem), np.array([0.5]))[0, :, 0]
    centred = X.astype(np.float64) - X.astype(np.float64)[0]
    for query in np.unique(qid):
        rest = qid != query
        coef = refit(centred[rest], y[rest], qid[rest], weight[rest], 0.5)[:, 0]
        here = np.flatnonzero(qid[problem.row_of] == query)
        scores = centred[problem.row_of[here]] @ coef
        differences = scores[:, None] - scores
        ours = left_out[here][:, None] - left_out[here]
        np.testing.assert_allclose(ours, differences, rtol=0, atol=1e-7)
        if np.abs(left_out).max() > 1e-12:  # else all scores are rounding
            same = (X[problem.row_of[here]][:, None] == X[problem.row_of[here]]).all(axis=2)
            assert (ours[same] == 0).all()


@pytest.mark.parametrize("size", [3, 30])
def test_a_query_that_has_a_feature_to_itself_keeps_its_digits(size):
    rng = np.random.default_rng(6)
    X, qid = rng.normal(size=(60, 5)), np.arange(60) % 6 + 1
    qid[:size] = 0
    X[:, 4] = np.where(qid == 0, 1e7 * X[:, 4], 0.0)
    problem = CentredRows.build(X, rng.normal(size=(60, 1)), qid, None)
    left_out = leave_query_out(Spectrum(problem), ALPHAS)
    rest = qid != 0
    for at, alpha in enumerate(ALPHAS):
        y, ones = problem.y[np.argsort(problem.row_of)], np.ones(60)
        coef = refit(X[rest], y[rest], qid[rest], ones[rest], alpha)
        here = np.flatnonzero(qid[problem.row_of] == 0)
        scores = X[problem.row_of[here]] @ coef
        np.testing.assert_allclose(left_out[at, here], scores - scores.mean(), rtol=0, atol=1e-8)
