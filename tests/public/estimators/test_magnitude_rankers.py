"""MPRank and SVRank as their users meet them: optimum, solvers, kernels, inputs, model files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from pairrank import Kernel, MPRank, Pairs, SVRank
from pairrank.exceptions import ZeroWeightsWarning
from programs import Comparisons as Listed
from programs import all_differences, tube_by_clarabel, tube_cost
from strategies import differs, problems

pytestmark = pytest.mark.numeric

TIGHT = {"tol": 1e-8, "max_iter": 5000}
ALL = [MPRank(), MPRank(n=1), SVRank(), SVRank(n=2)]


def named(ranker):
    return f"{type(ranker).__name__} n={ranker.n} {ranker.solver}"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = np.round(X @ [2, -1, 0.5, 0] + rng.normal(size=200), 1)
    return X, y, rng.integers(0, 8, 200)


@pytest.mark.parametrize(("form", "n_features"), [(np.asarray, 60), (sparse.csr_array, 4)])
@given(problem=problems(graphs=("full",)), C=st.sampled_from([1e-2, 1.0, 100.0]))
def test_the_optimum_of_squares_is_that_of_the_listed_pairs(form, n_features, problem, C):
    X = np.random.default_rng(0).normal(size=(problem.y.size, n_features))
    if not differs(problem):
        return
    listed = all_differences(problem.y, C, problem.qid, problem.weight)
    D = X[listed.i] - X[listed.j]
    expected = np.linalg.solve(
        (D.T * listed.cost) @ D + np.eye(n_features), D.T @ (listed.cost * listed.wanted)
    )
    for solver in ("cg", "direct"):
        ranker = MPRank(C, solver=solver, tol=1e-12)
        ranker.fit(form(X), problem.y, qid=problem.qid, sample_weight=problem.weight)
        np.testing.assert_allclose(ranker.coef_, expected, atol=1e-9 * max(1, abs(expected).max()))


def check_optimum(ranker, X, y, listed, **given):
    ranker = clone(ranker).set_params(**TIGHT).fit(X, y, **given)
    epsilon = getattr(ranker, "epsilon", 0.0)
    best = tube_cost(tube_by_clarabel(X, listed, epsilon, ranker.n), X, listed, epsilon, ranker.n)
    found = tube_cost(ranker.coef_, X, listed, epsilon, ranker.n)
    assert abs(found - best) <= 1e-6 * best + 1e-12
    assert ranker.objective_ == pytest.approx(found, rel=1e-9)


TUBES = [
    (MPRank, {"n": 1}),
    *[(SVRank, {"n": n, "epsilon": epsilon}) for n in (1, 2) for epsilon in (0.0, 0.3, 2.0)],
]


@pytest.mark.parametrize("C", [0.1, 3.0, 1e3])
@pytest.mark.parametrize(("kind", "options"), TUBES)
def test_the_optimum_is_that_of_a_program_over_all_pairs(rows, kind, options, C):
    X, y, qid = (part[:45] for part in rows)
    weight = np.random.default_rng(1).exponential(size=45) * (np.arange(45) % 7 > 0)
    for qids in (None, qid):
        for weights in (None, weight):
            listed = all_differences(y, C, qids, weights)
            check_optimum(kind(C, **options), X, y, listed, qid=qids, sample_weight=weights)


@pytest.mark.filterwarnings("ignore::pairrank.exceptions.ZeroWeightsWarning")
@pytest.mark.parametrize(("kind", "options"), [(MPRank, {"n": 2}), *TUBES])
def test_the_optimum_over_comparisons_is_that_of_the_program_over_them(rows, kind, options):
    X, rng, C = rows[0][:40], np.random.default_rng(0), 20.0
    i, j = rng.integers(0, 40, (2, 150))
    i, j = i[i != j], j[i != j]
    magnitude, weight = np.round(rng.normal(size=i.size), 1), rng.exponential(size=i.size)
    row_weight = rng.exponential(size=40)
    whole = weight * row_weight[i] * row_weight[j]
    listed = Listed(i, j, magnitude, C * whole / whole.sum())
    pairs = Pairs(i, j, weight, magnitude, n_rows=40)
    check_optimum(kind(C, **options), X, pairs, listed, sample_weight=row_weight)
    plain = Listed(i, j, np.ones(i.size), np.full(i.size, C / i.size))
    check_optimum(kind(C, **options), X, Pairs(i, j, n_rows=40), plain)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
@pytest.mark.parametrize(("kind", "options"), [(MPRank, {"n": 2}), *TUBES[:3], TUBES[5]])
def test_a_kernel_s_optimum_is_that_of_the_program_on_its_features(rows, kind, options, kernel):
    X, y, qid = (part[:40] for part in rows)
    K = rbf_kernel(X, gamma=0.3)
    values, vectors = np.linalg.eigh(K)
    Z = vectors * np.sqrt(np.maximum(values, 0.0))
    listed = all_differences(y, 30.0, qid)
    ranker = kind(30.0, kernel=Kernel(kernel, gamma=0.3), **options, **TIGHT)
    ranker.fit(X if kernel == "rbf" else K, y, qid=qid)
    epsilon = getattr(ranker, "epsilon", 0.0)
    w = tube_by_clarabel(Z, listed, epsilon, ranker.n)
    best = tube_cost(w, Z, listed, epsilon, ranker.n)
    assert abs(ranker.objective_ - best) <= 1e-6 * best
    scores = ranker.predict(X if kernel == "rbf" else K)
    error = np.abs(scores[listed.i] - scores[listed.j] - listed.wanted)
    cost = listed.cost @ np.maximum(0.0, error - epsilon) ** ranker.n
    norm = np.linalg.solve(K + 1e-10 * np.eye(40), scores) @ scores
    assert norm + cost == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("ranker", ALL, ids=named)
def test_labels_that_differ_by_no_more_than_epsilon_cost_nothing(rows, ranker):
    X, _, _ = rows
    with pytest.warns(ZeroWeightsWarning, match="lower epsilon"):
        fitted = SVRank(n=ranker.n, epsilon=0.5).fit(X, 1e6 + 0.4 * (X[:, 0] > 0))
    assert not fitted.coef_.any()
    assert fitted.status_ in ("converged", "gap_closed")
    assert fitted.objective_ == 0.0


def test_weights_of_zero_are_warned_of(rows):
    X, _, _ = rows
    y = np.zeros(200)
    y[:20] = 1.0
    with pytest.warns(ZeroWeightsWarning, match="most labels .* raise C, or lower tol"):
        assert not MPRank(n=1).fit(X, y).coef_.any()
    with pytest.warns(ZeroWeightsWarning, match="features are equal .* or so small"):
        assert not SVRank().fit(1e-6 * X, X[:, 0]).coef_.any()
    with pytest.warns(ZeroWeightsWarning, match="of target 1 is all zero"):
        fitted = MPRank().fit(X, np.column_stack((X[:, 0], y * 0)))
    assert fitted.coef_[0].any()


@pytest.mark.parametrize("scale", [1e-150, 1e-80, 1e80, 1e149])
def test_squares_of_labels_of_any_size_scale_the_weights(rows, scale):
    X, y, qid = rows
    wanted = SVRank(1.0, epsilon=0.5, n=2).fit(X, y, qid=qid)
    found = SVRank(1.0, epsilon=0.5 * scale, n=2).fit(X, scale * y, qid=qid)
    assert (found.status_, found.n_iter_) == ("converged", wanted.n_iter_)
    np.testing.assert_allclose(found.coef_ / scale, wanted.coef_, rtol=1e-6)


@pytest.mark.parametrize("ranker", [MPRank(50.0), SVRank(50.0, n=2)], ids=named)
def test_many_features_of_different_sizes_are_no_obstacle(ranker):
    rng = np.random.default_rng(0)
    S = sparse.random(3000, 1200, density=0.01, random_state=0, format="csr")
    y = S @ rng.normal(size=1200) + rng.normal(size=3000)
    X = sparse.csr_array(S.multiply(10 ** rng.uniform(0, 3, 1200)))
    fitted = clone(ranker).set_params(tol=1e-6).fit(X, y)
    assert fitted.status_ == "converged"
    assert fitted.history_[-1].n_products < 100
    residual = y - fitted.predict(X)
    some = rng.integers(0, 3000, (2, 40000))
    error = np.abs(residual[some[0]] - residual[some[1]])
    cost = 50.0 * np.mean(np.maximum(0.0, error - getattr(fitted, "epsilon_", 0.0)) ** 2)
    value = fitted.coef_ @ fitted.coef_ + cost
    assert fitted.objective_ == pytest.approx(value, rel=0.05)
    if fitted.n == 2 and isinstance(ranker, MPRank):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            plain = MPRank(50.0, solver="cg", max_iter=100).fit(X, y)
        assert plain.objective_ > fitted.objective_
