"""The objective: grouped sums equal sums over comparisons, derivatives equal differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank.ratings import objective as module
from pairrank.ratings.comparisons import check_comparisons
from pairrank.ratings.likelihoods import LIKELIHOODS, add_up, distinct
from pairrank.ratings.objective import LikelihoodObjective
from ratings_definition import TIES, arguments, log_likelihood, make_votes

STEP = 1e-5


def make_objective(kind, votes, alpha):
    found = check_comparisons(**arguments(votes))
    return LikelihoodObjective(add_up(found), LIKELIHOODS[kind], alpha)


@pytest.mark.parametrize("kind", TIES)
@pytest.mark.parametrize("covariates", [0, 2])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_value_gradient_and_hessian(kind, covariates, alpha, monkeypatch):
    votes = make_votes(0, covariates=covariates)
    objective = make_objective(kind, votes, alpha)
    rng = np.random.default_rng(0)
    w = 0.3 * rng.normal(size=objective.n_features)
    scores, effects = w[:5], w[5 : 5 + covariates] / objective.margins.unit
    parameter = objective.likelihood.shown(objective.tie_parameter(w))
    wanted = alpha / 2 * scores @ scores - log_likelihood(votes, scores, effects, kind, parameter)
    point = objective.at(w)
    np.testing.assert_allclose(point.value, wanted, rtol=1e-12)
    again = objective.at(w, point.scores)
    assert again.value == point.value
    moves = STEP * np.eye(w.size)
    slope = [(objective.at(w + h).value - objective.at(w - h).value) / (2 * STEP) for h in moves]
    np.testing.assert_allclose(point.gradient, slope, atol=1e-6)
    changes = [objective.at(w + h).gradient - objective.at(w - h).gradient for h in moves]
    hessian = point.hessian()
    np.testing.assert_allclose(hessian.dense(), np.array(changes) / (2 * STEP), atol=1e-6)
    v = rng.normal(size=w.size)
    np.testing.assert_allclose(hessian.matvec(v), hessian.dense() @ v, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(hessian.diagonal(), hessian.dense().diagonal(), rtol=1e-12)
    monkeypatch.setattr(module, "_FEW_FEATURES", 0)
    np.testing.assert_allclose(point.preconditioner().matvec(v), v / hessian.diagonal())
    monkeypatch.undo()
    v[:5] -= v[:5].mean()
    product = hessian.matvec(v)
    scores = objective.at(w).preconditioner().matvec(product)
    np.testing.assert_allclose(scores, v, atol=1e-10)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 60), st.integers(0, 2))
def test_equal_comparisons_are_added_up(seed, n_items, size, n_covariates):
    rng = np.random.default_rng(seed)
    winner = rng.integers(0, n_items, size)
    loser = (winner + rng.integers(1, n_items, size)) % n_items
    tie, weight = rng.random(size) < 0.3, rng.integers(1, 5, size) / 4
    covariates = rng.integers(-1, 2, (size, n_covariates)).astype(float)
    found = check_comparisons(winner, loser, tie=tie, weight=weight, covariates=covariates)
    margins = add_up(found)
    dense = margins.design.toarray()
    X = np.zeros((size, found.items.size))
    X[np.arange(size), found.winner], X[np.arange(size), found.loser] = 1.0, -1.0
    X = np.column_stack((X, covariates / margins.unit))
    sign = np.where(found.winner < found.loser, 1.0, -1.0)
    np.testing.assert_allclose(dense[margins.place], sign[:, None] * X, atol=1e-15)
    assert np.unique(dense, axis=0).shape == dense.shape
    wanted = np.where(tie, 1, np.where(sign > 0, 0, 2))
    np.testing.assert_array_equal(margins.outcome, wanted)
    for power, sums in ((1, margins.weight), (2, margins.square)):
        slow = np.zeros((3, len(dense)))
        np.add.at(slow, (wanted, margins.place), weight**power)
        np.testing.assert_array_equal(sums, slow)


def test_many_margins_keep_their_outcomes():
    n_items = 40
    winner, loser = np.nonzero(~np.eye(n_items, dtype=bool))
    margins = add_up(check_comparisons(winner, loser))
    assert margins.weight.shape == (3, n_items * (n_items - 1) // 2)
    np.testing.assert_array_equal(margins.weight[[0, 2]], 1.0)
    np.testing.assert_array_equal(margins.weight[1], 0.0)


@given(st.lists(st.integers(0, 30), min_size=1), st.sampled_from([31, 2**62]))
def test_distinct_keys_are_those_of_a_sort(keys, span):
    keys = np.array(keys, dtype=np.int64)
    found, place = distinct(keys, span)
    wanted, wanted_place = np.unique(keys, return_inverse=True)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(place, wanted_place)
