"""RankRLS as its users meet it: optimum, solvers, targets, kernels, inputs, model files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import pairrank
from pairrank import Pairs, RankRLS
from pairrank.exceptions import PairrankError
from strategies import differs, problems

pytestmark = pytest.mark.numeric

TIGHT = {"solver": "cg", "tol": 1e-12, "max_iter": 5000}


def laplacian(qid, weight):
    """Form L of every query: diag(w) - w w'/n_q."""
    L = np.zeros((qid.size, qid.size))
    for query in set(qid):
        inside = np.flatnonzero((qid == query) & (weight > 0))
        if inside.size:
            w = weight[inside]
            L[np.ix_(inside, inside)] = np.diag(w) - np.outer(w, w) / w.sum()
    return L


def normal_equations(X, y, qid, weight, alpha):
    L = laplacian(qid, weight)
    return np.linalg.solve(X.T @ L @ X + alpha * np.eye(X.shape[1]), X.T @ L @ y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_features", [4, 90])
@given(problem=problems(graphs=("full",)), alpha=st.sampled_from([1e-2, 1.0, 100.0]))
def test_coefficients_are_those_of_the_dense_normal_equations(form, n_features, problem, alpha):
    rng = np.random.default_rng(0)
    n_rows = problem.y.size
    X = rng.normal(size=(n_rows, n_features))
    weight = np.ones(n_rows) if problem.weight is None else problem.weight
    if not differs(problem):
        return
    qid = np.zeros(n_rows) if problem.qid is None else problem.qid
    expected = normal_equations(X, problem.y, qid, weight, alpha)
    for solver in (TIGHT, {"solver": "direct"}, {}):
        ranker = RankRLS(alpha, **solver)
        ranker.fit(form(X), problem.y, qid=problem.qid, sample_weight=problem.weight)
        np.testing.assert_allclose(ranker.coef_, expected, atol=1e-10 * max(1, abs(expected).max()))
        residual = problem.y - ranker.predict(X)
        value = residual @ laplacian(qid, weight) @ residual + alpha * ranker.coef_ @ ranker.coef_
        assert ranker.objective_ == pytest.approx(value)


@pytest.mark.parametrize("n_features", [3, 30])
def test_comparisons_are_solved_as_their_definition_says(n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, n_features))
    i, j = rng.integers(0, 20, (2, 60))
    i, j = i[i != j], j[i != j]
    weight, wanted = rng.exponential(size=i.size), np.round(rng.normal(size=i.size), 1)
    row_weight = rng.exponential(size=20)
    whole = np.sqrt(weight * row_weight[i] * row_weight[j])
    D = whole[:, None] * (X[i] - X[j])
    expected = np.linalg.solve(D.T @ D + 0.5 * np.eye(n_features), D.T @ (whole * wanted))
    pairs = Pairs(i, j, weight, wanted, n_rows=20)
    for form in (np.asarray, sparse.csr_array):
        for solver in ({}, {"solver": "direct"}, TIGHT):
            ranker = RankRLS(0.5, **solver).fit(form(X), pairs, sample_weight=row_weight)
            np.testing.assert_allclose(ranker.coef_, expected, atol=1e-10)
    assert ranker.n_pairs_ == i.size


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_an_offset_of_more_features_than_rows_costs_few_digits(form, weighted):
    rng = np.random.default_rng(0)
    y, qid, noise = rng.normal(size=30), np.repeat(np.arange(5), 6), rng.normal(size=(30, 60))
    offset = 1e3 * (1 + qid[:, None]) * (rng.random(60) < 0.5)
    weight = rng.exponential(size=30) if weighted else np.ones(30)
    expected = normal_equations(noise, y, qid, weight, 1e-3)
    for solver in ("direct", "auto"):
        ranker = RankRLS(1e-3, solver=solver)
        ranker.fit(form(noise + offset), y, qid=qid, sample_weight=weight)
        assert (ranker.status_, ranker.n_iter_) == ("converged", 1)
        np.testing.assert_allclose(ranker.coef_, expected, atol=1e-7)


@pytest.mark.parametrize("options", [{"solver": "direct"}, {"solver": "cg", "tol": 1e-7}])
def test_a_precomputed_kernel_is_the_primal_solution(rows, options):
    X, y, qid = rows
    weight = np.random.default_rng(0).exponential(size=300)
    linear = RankRLS(0.5).fit(X, y, qid=qid, sample_weight=weight)
    for K in (X @ X.T, sparse.csr_array(X @ X.T)):
        ranker = RankRLS(0.5, kernel="precomputed", **options)
        ranker.fit(K, y, qid=qid, sample_weight=weight)
        np.testing.assert_allclose(X.T @ ranker.coef_, linear.coef_, atol=1e-6)
        np.testing.assert_allclose(ranker.predict(K), linear.predict(X), atol=1e-5)
        assert ranker.objective_ == pytest.approx(linear.objective_)


def test_iterations_on_a_kernel_s_products_are_those_on_its_features(rows):
    X, y, qid = rows
    wide = np.hstack((X, X**2, np.tanh(3 * X)))
    held = {"y_val": y[:100], "qid_val": qid[:100]}
    by_features = RankRLS(regularization="iteration", max_iter=7, patience=20)
    by_products = clone(by_features).set_params(kernel="precomputed")
    K = wide @ wide.T
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        by_features.fit(wide, y, qid=qid, X_val=wide[:100], **held)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        by_products.fit(K, y, qid=qid, X_val=K[:100], **held)
    np.testing.assert_allclose(by_products.validation_scores_, by_features.validation_scores_)
    assert by_products.best_iteration_ == by_features.best_iteration_
    np.testing.assert_allclose(wide.T @ by_products.coef_, by_features.coef_, atol=1e-6)


def test_an_interrupt_leaves_later_targets_at_zero(rows, interrupt_at):
    X, y, qid = rows
    ranker = RankRLS(solver="cg", tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ranker.fit(X, np.column_stack((y, -y)), qid=qid, callback=interrupt_at(2))
    assert ranker.coef_[0].any()
    assert not ranker.coef_[1].any()


def test_alpha_may_be_0_where_it_plays_no_part(rows):
    X, y, qid = rows
    fitted = [RankRLS(a, regularization="iteration").fit(X, y, qid=qid) for a in (0, 1.0)]
    np.testing.assert_array_equal(fitted[0].coef_, fitted[1].coef_)
    with pytest.raises(PairrankError, match="alpha must be"):
        RankRLS(0, regularization="hybrid").fit(X, y, qid=qid)


@pytest.mark.parametrize("kernel", [None, "rbf", "precomputed"])
def test_a_model_file_of_several_targets_predicts_as_the_model_did(rows, tmp_path, kernel):
    X, y, qid = (part[:90] for part in rows)
    X = rbf_kernel(X, gamma=0.2) if kernel == "precomputed" else X
    ranker = RankRLS(0.5, kernel=kernel, regularization="hybrid")
    ranker.fit(X, np.column_stack((y, -y)), qid=qid)
    ranker.save(tmp_path / "model")
    loaded = pairrank.load_model(tmp_path / "model")
    assert loaded.get_params() == ranker.get_params()
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert (loaded.status_, loaded.n_pairs_) == (ranker.status_, ranker.n_pairs_)


def test_features_of_very_different_size_are_preconditioned_by_themselves():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((2500, 1200)) * (rng.random((2500, 1200)) < 0.02))
    y = X @ rng.normal(size=1200) + 0.1 * rng.normal(size=2500)
    X = (X @ sparse.diags_array(np.logspace(-1, 1, 1200))).tocsr()
    plain, auto = (RankRLS(0.1, solver=solver, max_iter=1000) for solver in ("cg", "auto"))
    products = [model.fit(X, y).history_[-1].n_products for model in (plain, auto)]
    assert 5 * products[1] < products[0]
    assert auto.objective_ <= plain.objective_ * (1 + 1e-6)
