"""What RankRLS predicts for queries, pairs and comparisons left out equals refits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import sparse

from pairrank.estimators._rows import Rows
from pairrank.model_selection import rls_left_out
from pairrank.model_selection.rls_equations import CentredRows, Comparisons, least_squares
from pairrank.model_selection.rls_left_out import (
    Spectrum,
    leave_comparison_out,
    leave_pair_out,
    leave_query_out,
)
from pairrank.objective import normal_equations
from pairrank.preferences import Pairs
from rls_definitions import refit, refit_pairs

pytestmark = pytest.mark.numeric

ALPHAS = np.array([2.0**-10, 0.5, 30.0])


def made(n_rows, n_features, n_queries, seed=0, *, kind="dense", weighted=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    if kind == "sparse":
        X[rng.random(X.shape) < 0.6] = 0.0
    y = rng.integers(0, 3, (n_rows, 2)).astype(float)
    qid = rng.integers(0, n_queries, n_rows)
    weight = rng.integers(0, 3, n_rows) * 0.7 if weighted else np.ones(n_rows)
    return X, y, qid, weight


def problem_of(X, y, qid, weight, kind="dense"):
    return CentredRows.build(sparse.csr_array(X) if kind == "sparse" else X, y, qid, weight)


SHAPES = [(60, 5, 8), (30, 50, 6), (60, 5, 2), (25, 25, 20)]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("shape", SHAPES)
def test_leaving_a_query_out_equals_refits(shape, kind):
    X, y, qid, weight = made(*shape, kind=kind)
    problem = problem_of(X, y, qid, weight, kind)
    left_out = leave_query_out(Spectrum(problem), ALPHAS)
    for at, alpha in enumerate(ALPHAS):
        for query in np.unique(qid[weight > 0]):
            rest = qid != query
            coef = refit(X[rest], y[rest], qid[rest], weight[rest], alpha)
            here = np.flatnonzero(qid[problem.row_of] == query)
            rows = problem.row_of[here]
            scores = X[rows] @ coef
            scores -= weight[rows] @ scores / weight[rows].sum()
            np.testing.assert_allclose(left_out[at, here], scores, rtol=0, atol=1e-8)


@pytest.mark.parametrize("shape", [(40, 4, 1), (20, 30, 1), (24, 3, 9), (14, 20, 5)])
def test_leaving_a_pair_out_equals_refits(shape):
    X, y, qid, weight = made(*shape)
    shares = leave_pair_out(Spectrum(problem_of(X, y, qid, weight)), ALPHAS)
    right, total = np.zeros(shares.shape), np.zeros(2)
    for i, j in np.argwhere((qid[:, None] == qid) & (weight[:, None] * weight > 0)):
        if (y[i] <= y[j]).all():
            continue
        rest = ~np.isin(np.arange(len(X)), (i, j))
        pair = weight[i] * weight[j] * (y[i] > y[j])
        total += pair
        for at, alpha in enumerate(ALPHAS):
            margin = (X[i] - X[j]) @ refit(X[rest], y[rest], qid[rest], weight[rest], alpha)
            right[at] += pair * np.where(np.abs(margin) < 1e-12, 0.5, margin > 0)
    np.testing.assert_allclose(shares, right / total, rtol=0, atol=1e-12)


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


@pytest.mark.parametrize(("n_rows", "n_features"), [(12, 4), (12, 60)])
def test_leaving_comparisons_out_equals_refits(n_rows, n_features):
    rng = np.random.default_rng(1)
    X, qid = rng.normal(size=(n_rows, n_features)), np.arange(n_rows) % 3
    i = rng.integers(0, n_rows, 40)
    j = (i + 3 * rng.integers(1, n_rows // 3, 40)) % n_rows
    pairs = Pairs(i, j, rng.exponential(size=40), rng.normal(size=40), n_rows=n_rows)
    spectrum = Spectrum(Comparisons.build(X, pairs, None))
    margins = leave_comparison_out(spectrum, ALPHAS)
    by_query = least_squares(Rows(X, pairs, qid, None))
    of_queries = leave_query_out(Spectrum(by_query), ALPHAS)[:, :, 0]
    for at, alpha in enumerate(ALPHAS):
        for k in range(40):
            rest = np.where(np.arange(40) == k, 0.0, pairs.weight)
            wanted = (X[i[k]] - X[j[k]]) @ refit_pairs(X, pairs, rest, alpha)
            assert margins[at, k] == pytest.approx(wanted, rel=1e-8, abs=1e-9)
        for query in range(3):
            rest = np.where(qid[i] == query, 0.0, pairs.weight)
            coef = refit_pairs(X, pairs, rest, alpha)
            here = qid[by_query.first] == query
            wanted = (X[by_query.first[here]] - X[by_query.second[here]]) @ coef
            np.testing.assert_allclose(of_queries[at, here], wanted, rtol=0, atol=1e-8)


@pytest.mark.parametrize("shape", [(60, 5, 2), (30, 50, 6)])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_small_blocks_give_the_same_numbers(shape, kind, monkeypatch):
    data = (*made(*shape, kind=kind), kind)
    pairs = Pairs(np.arange(20), np.arange(20)[::-1], n_rows=shape[0])

    def numbers():
        spectrum = Spectrum(problem_of(*data))
        compared = Spectrum(least_squares(Rows(spectrum.problem.X, pairs, None, None)))
        return [
            spectrum.coefs(ALPHAS),
            leave_query_out(spectrum, ALPHAS),
            leave_pair_out(spectrum, ALPHAS),
            compared.coefs(ALPHAS),
            leave_comparison_out(compared, ALPHAS),
        ]

    whole = numbers()
    monkeypatch.setattr(normal_equations, "_BLOCK_ENTRIES", 40)
    monkeypatch.setattr(rls_left_out, "_ENTRIES", 40)
    monkeypatch.setattr(rls_left_out, "_PAIR_ENTRIES", 40)
    for cut, expected in zip(numbers(), whole, strict=True):
        np.testing.assert_allclose(cut, expected, rtol=1e-8, atol=1e-9)


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


@pytest.mark.parametrize("n_features", [3, 40])
def test_rows_alike_within_their_query_stay_tied(n_features):
    rng = np.random.default_rng(4)
    X, qid = rng.normal(size=(24, n_features)), np.repeat([0, 1, 2], 8)
    X[:8] = 1e7 * rng.normal(size=n_features)
    X[8:12] = X[12:16]
    problem = CentredRows.build(X, rng.normal(size=(24, 1)), qid, 0.1 + rng.random(24))
    left_out = leave_query_out(Spectrum(problem), np.array([0.3]))[0, :, 0]
    assert (left_out[:8] == 0).all()
    assert (left_out[8:12] == left_out[12:16]).all()
    assert np.unique(left_out[8:]).size == 12


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


def test_comparisons_that_have_a_feature_to_themselves_keep_their_digits():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(16, 3))
    X[:, 2] = np.where(np.arange(16) == 15, 3e4, 0.0)
    pairs = Pairs(np.arange(1, 16), np.arange(15), magnitude=np.ones(15), n_rows=16)
    margins = leave_comparison_out(Spectrum(Comparisons.build(X, pairs, None)), ALPHAS)
    for k in range(15):
        rest = (np.arange(15) != k).astype(float)
        wanted = (X[k + 1] - X[k]) @ refit_pairs(X, pairs, rest, ALPHAS[0])
        assert margins[0, k] == pytest.approx(wanted, rel=1e-5, abs=1e-6)
