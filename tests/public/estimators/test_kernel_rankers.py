"""Rankers with a kernel: the optimum, the forms of rows, folds, and model files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV

import pairrank
from definitions import preferences_of
from pairrank import Kernel, Pairs, RankNCG, RankNCGCV, RankSVM, RankSVMCV
from pairrank.exceptions import PairrankError

pytestmark = pytest.mark.numeric

RANKERS = {"RankSVM": RankSVM(1.0, tol=1e-8), "RankNCG": RankNCG(tol=1e-8, eps=1e-10)}
CHOSEN = {
    "RankSVM": RankSVMCV(Cs=[0.01, 1.0], cv=2),
    "RankNCG": RankNCGCV(alphas=[0.01, 1.0], cv=2),
}
SLOPES = {
    "RankSVM": lambda d: -2 * np.maximum(1 - d, 0),
    "RankNCG": lambda d: -1 / (1 + np.exp(d)),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60), [-0.5, 0.5]).astype(float)
    return X, y, rng.integers(0, 4, 60)


def ranker(name, **parameters):
    return clone(RANKERS[name]).set_params(**parameters)


@pytest.mark.parametrize("name", RANKERS)
def test_the_optimum_is_that_over_all_functions_of_the_kernel(name, rows):
    """Of |f|^2/2 + sum of phi(f_i - f_j) in the kernel's norm: f = -K times the sum's gradient."""
    X, y, qid = rows
    high, low = np.transpose(preferences_of(y, qid, "full"))
    ours = ranker(name, kernel=Kernel("rbf", gamma=0.5), reduction="sum").fit(X, y, qid=qid)
    f = ours.predict(X)
    gradient = np.zeros(60)
    np.add.at(gradient, high, SLOPES[name](f[high] - f[low]))
    np.subtract.at(gradient, low, SLOPES[name](f[high] - f[low]))
    np.testing.assert_allclose(f, -rbf_kernel(X, gamma=0.5) @ gradient, atol=1e-5)
    assert ours.n_features_in_ == 3
    assert ours.coef_.shape == (ours.kernel_.n_components_,)


@pytest.mark.parametrize("name", RANKERS)
def test_forms_of_the_same_kernel_agree(name, rows):
    X, y, qid = rows
    K = rbf_kernel(X, gamma=0.5)
    named = ranker(name, kernel=Kernel("rbf", gamma=0.5)).fit(X, y, qid=qid)
    expected = named.predict(X[:20])
    called = ranker(name, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5)).fit(X, y, qid=qid)
    np.testing.assert_allclose(called.predict(X[:20]), expected, atol=1e-5)
    given = ranker(name, kernel="precomputed").fit(K, y, qid=qid)
    np.testing.assert_allclose(given.predict(K[:20]), expected, atol=1e-5)
    thin = clone(named).fit(sparse.csr_array(X), y, qid=qid)
    np.testing.assert_allclose(thin.predict(X[:20]), expected, atol=1e-5)
    narrow = clone(named).set_params(tol=1e-4).fit(X.astype(np.float32), y, qid=qid)
    np.testing.assert_allclose(narrow.predict(X[:20].astype(np.float32)), expected, atol=1e-2)
    high, low = np.transpose(preferences_of(y, qid, "full"))
    compared = clone(named).set_params(reduction="rows").fit(X, Pairs(high, low, n_rows=60))
    np.testing.assert_allclose(compared.predict(X[:20]), expected, atol=1e-5)


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed"])
def test_a_kernel_ranker_comes_back_from_its_file(name, kernel, rows, tmp_path):
    X, y, qid = rows
    X = rbf_kernel(X) if kernel == "precomputed" else sparse.csr_array(X)
    fitted = ranker(name, kernel=Kernel(kernel, n_components=20)).fit(X, y, qid=qid)
    assert fitted.kernel_.method_ == "nystroem"
    fitted.save(tmp_path / "model")
    for again in (pairrank.load_model(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
        assert repr(again) == repr(fitted)


@pytest.mark.parametrize("name", RANKERS)
def test_a_callable_kernel_cannot_be_saved(name, rows, tmp_path):
    X, y, _ = rows
    fitted = ranker(name, kernel=laplacian_kernel).fit(X, y)
    with pytest.raises(PairrankError, match="holds no code"):
        fitted.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


@pytest.mark.parametrize("name", RANKERS)
def test_folds_cut_a_precomputed_matrix_both_ways(name, rows):
    X, y, qid = rows
    K = rbf_kernel(X, gamma=0.5)
    for table, kernel in ((X, "rbf"), (K, "precomputed")):
        grid = GridSearchCV(
            ranker(name, kernel=Kernel(kernel, gamma=0.5)), {"reduction": ["rows", "query"]}, cv=3
        )
        grid.fit(table, y)
        chosen = clone(CHOSEN[name]).set_params(kernel=Kernel(kernel, gamma=0.5))
        chosen.fit(table, y, qid=qid)
        if kernel == "rbf":
            expected = grid.cv_results_["mean_test_score"], chosen.validation_scores_
    np.testing.assert_allclose(grid.cv_results_["mean_test_score"], expected[0], atol=0.02)
    np.testing.assert_allclose(chosen.validation_scores_, expected[1], atol=0.02)
    assert chosen.predict(K).shape == (60,)


@pytest.mark.parametrize("name", RANKERS)
def test_validation_rows_are_scored_by_the_kernel(name, rows):
    X, y, _ = rows
    fitted = ranker(name, kernel="rbf").fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    assert fitted.validation_scores_[-1] == pytest.approx(fitted.score(X[40:], y[40:]), abs=1e-12)


@pytest.mark.parametrize("name", RANKERS)
def test_the_linear_kernel_is_the_ranker_without_one(name, rows):
    X, y, qid = rows
    plain, linear = (ranker(name, kernel=each).fit(X, y, qid=qid) for each in (None, "linear"))
    np.testing.assert_array_equal(plain.coef_, linear.coef_)
    assert not hasattr(linear, "kernel_")


@pytest.mark.parametrize("name", RANKERS)
def test_grids_reach_the_settings_of_a_kernel(name, rows):
    X, y, _ = rows
    grid = {"kernel__gamma": [0.05, 5.0], "kernel__function": ["rbf", "poly"]}
    search = GridSearchCV(ranker(name, kernel=Kernel()), grid, cv=3).fit(X, y)
    best = search.best_estimator_
    assert best.get_params().items() >= search.best_params_.items()
    assert best.kernel_.gamma_ == search.best_params_["kernel__gamma"]


def test_a_fit_leaves_the_kernel_that_it_was_given_as_it_was(rows):
    X, y, _ = rows
    kernel = Kernel("rbf", method="nystroem", n_components=10)
    first, second = (RankSVM(kernel=kernel, random_state=seed).fit(X, y) for seed in (1, 2))
    assert not hasattr(kernel, "landmarks_")
    assert kernel.random_state is None
    assert (first.kernel_.landmarks_ != second.kernel_.landmarks_).any()
    own = clone(first).set_params(kernel__random_state=2).fit(X, y)
    np.testing.assert_array_equal(own.coef_, second.coef_)
