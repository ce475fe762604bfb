"""What RankRLS predicts for queries, pairs and comparisons left out equals refits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from pairrank.model_selection.rls_equations import CentredRows
from pairrank.model_selection.rls_left_out import Spectrum, leave_pair_out, leave_query_out
from rls_definitions import refit

pytestmark = pytest.mark.numeric

ALPHAS = np.array([2.0**-10, 0.5, 30.0])


def problem_of(X, y, qid, weight, kind="dense"):
    return CentredRows.build(sparse.csr_array(X) if kind == "sparse" else X, y, qid, weight)


@pytest.mark.parametrize("n_queries", [1, 2])
def test_a_small_alpha_loses_no_pair_of_wide_rows(n_queries):
    rng = np.random.default_rng(0)
    alphas = np.array([1e-9, 1e-6, 1e-4])
    for _ in range(10):
        X, y = rng.normal(size=(12, 30)), rng.integers(0, 4, (12, 1)).astype(float)
        qid, weight = np.arange(12) % n_queries, rng.exponential(size=12)
        shares = leave_pair_out(Spectrum(problem_of(X, y, qid, weight)), alphas)[:, 0]
        np.testing.assert_allclose(shares, _share_right(X, y, qid, weight), atol=1e-9)


def _share_right(X, y, qid, weight):
    """Return the weight of pairs that the least weights of no penalty at all order rightly."""
    right = total = 0.0
    root = np.sqrt(weight)[:, None]
    for i, j in np.argwhere((qid[:, None] == qid) & (y > y.T)):
        rest = ~np.isin(np.arange(len(X)), (i, j))
        centred = np.eye(len(X))
        for query in np.unique(qid):
            here = np.flatnonzero(rest & (qid == query))
            centred[np.ix_(here, here)] -= weight[here] / weight[here].sum()
        A, b = ((root * (centred @ part))[rest] for part in (X, y))
        margin = float((X[i] - X[j]) @ (np.linalg.pinv(A, rcond=1e-9) @ b)[:, 0])
        total += weight[i] * weight[j]
        right += weight[i] * weight[j] * (margin > 0)
    return right / total


@given(st.integers(0, 2**32 - 1), st.sampled_from(["ties", "offset", "constant", "float32"]))
@example(2749, "ties")
def test_left_out_scores_are_those_of_refits_on_awkward_rows(seed, kind):
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.integers(2, 25)), int(rng.integers(1, 9))
    X = rng.integers(0, 2, (n_rows, n_features)).astype(float)
    if kind in ("offset", "float32"):
        X = rng.normal(size=X.shape) + (1e7 if kind == "offset" else 0.0)
    if kind == "constant":
        X[:] = 0.1
    X = X.astype(np.float32) if kind == "float32" else X
    y = rng.integers(0, 3, n_rows).astype(float)[:, None]
    qid = rng.integers(0, 6, n_rows)
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
