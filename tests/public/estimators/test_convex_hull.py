"""ConvexHullRanker as its users meet it: formulation (28), queries, weights, kernels, files."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

import pairrank
from pairrank import ConvexHullRanker, Kernel, OrderGraph, Pairs, RankSVM
from pairrank.exceptions import NoPairsError, PairrankError
from programs import hull_by_clarabel

pytestmark = pytest.mark.numeric

ODD = [(0.0, 2.0), (1.0, 2.0), (1.0, 4.0), (4.0, 3.0)]
GRAPHS = {
    "chain": ("chain", [(0, 1), (1, 2), (2, 3), (3, 4)]),
    "full": ("full", [(low, high) for low in range(5) for high in range(low + 1, 5)]),
    "odd": (ODD, ODD),
    "two parts": ([(1.0, 0.0), (3.0, 4.0)], [(1, 0), (3, 4)]),
}


def make_rows(noise=1.0, n_rows=150, n_features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    signal = X @ rng.normal(size=n_features)
    cuts = np.quantile(signal, [0.2, 0.4, 0.6, 0.8])
    return X, np.digitize(signal + noise * rng.normal(size=n_rows), cuts).astype(float)


@pytest.fixture(scope="module")
def rows():
    X, y = make_rows()
    return X, y, np.random.default_rng(1).integers(0, 12, y.size)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("noise", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("nu", [1e-3, 1.0, 1e3])
def test_the_optimum_is_that_of_formulation_28(graph, noise, nu):
    X, y = make_rows(noise)
    ours, edges = GRAPHS[graph]
    fitted = ConvexHullRanker(nu, graph=ours, tol=1e-9).fit(X, y)
    reference = hull_by_clarabel(X, y, nu, edges)
    assert fitted.objective_ == pytest.approx(reference.value, rel=1e-7)
    assert fitted.lower_bound_ <= fitted.objective_ <= fitted.lower_bound_ * (1 + 1e-9)
    np.testing.assert_allclose(fitted.coef_, reference.coef, atol=1e-4 * abs(reference.coef).max())


@pytest.mark.parametrize("graph", ["chain", "odd"])
@pytest.mark.parametrize("regularizer", ["rkhs", "coefficients"])
def test_a_kernel_s_optimum_is_that_of_formulation_27(graph, regularizer):
    X, y = make_rows(0.5, n_rows=70, n_features=2)
    ours, edges = GRAPHS[graph]
    fitted = ConvexHullRanker(
        0.7, graph=ours, kernel=Kernel("rbf", gamma=0.8), regularizer=regularizer, tol=1e-9
    ).fit(X, y)
    gram = rbf_kernel(X, gamma=0.8)
    penalty = gram if regularizer == "rkhs" else np.eye(70)
    reference = hull_by_clarabel(gram, y, 0.7, edges, penalty=penalty)
    assert fitted.objective_ == pytest.approx(reference.value, rel=1e-7)
    np.testing.assert_allclose(fitted.predict(X), gram @ reference.coef, atol=1e-4)
    expansion = fitted.kernel_.projection_ @ fitted.coef_
    new = X + 0.1
    np.testing.assert_allclose(fitted.predict(new), rbf_kernel(new, X, gamma=0.8) @ expansion)


def test_a_class_that_no_edge_names_has_no_limits(rows):
    X, y, _ = rows
    fitted = ConvexHullRanker(graph=OrderGraph([(0, 1), (3, 4)])).fit(X, y)
    np.testing.assert_array_equal(fitted.limits_[2], [-np.inf, np.inf])
    assert (fitted.slacks_[y == 2] == 0).all()


def test_limits_and_slacks_say_what_the_objective_does(rows):
    X, y, qid = rows
    weight = np.random.default_rng(0).random(y.size)
    fitted = ConvexHullRanker(0.5).fit(X + 7, y, qid=qid, sample_weight=weight)
    scores = fitted.predict(X + 7)
    group = [
        np.flatnonzero((fitted.limit_labels_ == label) & (fitted.limit_qid_ == query))[0]
        for label, query in zip(y, qid, strict=True)
    ]
    lower, upper = fitted.limits_[group].T
    slacks = np.maximum(0, np.maximum(scores - upper, lower - scores))
    np.testing.assert_allclose(fitted.slacks_, slacks, atol=1e-12)
    value = 0.5 * weight @ slacks**2 + fitted.coef_ @ fitted.coef_ / 2
    assert fitted.objective_ == pytest.approx(value, rel=1e-12)
    for query in np.unique(qid):
        lower, upper = fitted.limits_[fitted.limit_qid_ == query].T
        assert (lower[1:] - upper[:-1] >= 1 - 1e-9).all()
    found = fitted.violations()
    np.testing.assert_array_equal(np.sort(found.row), np.flatnonzero(slacks > 0))
    assert (np.diff(found.slack) <= 0).all()
    lower, upper = fitted.limits_[np.asarray(group)[found.row]].T
    crossing = np.where(found.side > 0, scores[found.row] - upper, lower - scores[found.row])
    np.testing.assert_allclose(crossing, found.slack, atol=1e-12)


def test_offsets_and_float32_offsets_cost_no_digits(rows):
    X, y, qid = rows
    X = np.round(X, 2)
    reference = ConvexHullRanker(tol=1e-10).fit(X, y, qid=qid)
    fitted = ConvexHullRanker(tol=1e-10).fit(X + 1e7, y, qid=qid)
    np.testing.assert_allclose(fitted.coef_, reference.coef_, rtol=1e-5)
    small = ConvexHullRanker(tol=1e-10).fit((64 * X + 2**17).astype(np.float32), y)
    exact = ConvexHullRanker(tol=1e-10).fit((64 * X).astype(np.float32).astype(float), y)
    np.testing.assert_allclose(small.objective_, exact.objective_, rtol=1e-2)


@pytest.mark.filterwarnings("ignore::pairrank.exceptions.ZeroWeightsWarning")
@given(seed=st.integers(0, 10**6))
def test_ties_single_rows_and_constant_features_are_solved(seed):
    rng = np.random.default_rng(seed)
    n_rows, n_features = rng.integers(2, 25), rng.integers(1, 4)
    X = rng.integers(-2, 3, (n_rows, n_features)).astype(float)
    y = rng.integers(0, 3, n_rows).astype(float)
    y[:2] = 0, 1
    qid = rng.integers(0, 3, n_rows)
    qid[:2] = 0
    weight = rng.integers(0, 3, n_rows).astype(float)
    weight[:2] = 1
    nu = 10.0 ** rng.integers(-3, 4)
    fitted = ConvexHullRanker(nu, tol=1e-7).fit(X, y, qid=qid, sample_weight=weight)
    kept = weight > 0
    classes = 10 * qid + y
    present = np.unique(classes[kept])
    edges = [(a, b) for a, b in itertools.pairwise(present) if a // 10 == b // 10]
    reference = hull_by_clarabel(X[kept], classes[kept], nu, edges, weight=weight[kept])
    assert fitted.objective_ == pytest.approx(reference.value, rel=1e-6)


def test_more_features_than_rows_and_conjugate_gradients_agree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2300)) * (rng.random((60, 2300)) < 0.1)
    y = np.digitize(X[:, :50].sum(axis=1) + rng.normal(size=60), [-1, 1]).astype(float)
    through_rows = ConvexHullRanker(1.0, tol=1e-8).fit(X, y)
    iterated = ConvexHullRanker(1.0, tol=1e-8).fit(sparse.csr_array(X), y)
    assert iterated.objective_ == pytest.approx(through_rows.objective_, rel=1e-7)
    np.testing.assert_allclose(iterated.coef_, through_rows.coef_, atol=1e-4)
    gram = X @ X.T
    edges = [(0, 1), (1, 2)]
    reference = hull_by_clarabel(gram, y, 1.0, edges, penalty=gram)
    assert through_rows.objective_ == pytest.approx(reference.value, rel=1e-6)


def test_as_many_classes_as_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=60)
    fitted = ConvexHullRanker(1.0, tol=1e-8).fit(X, y)
    ordered = np.sort(y)
    reference = hull_by_clarabel(X, y, 1.0, list(itertools.pairwise(ordered)))
    assert fitted.objective_ == pytest.approx(reference.value, rel=1e-6)
    assert fitted.limits_.shape == (60, 2)


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_a_model_file_predicts_as_the_model_did(rows, tmp_path, kernel):
    X, y, qid = rows
    names = [f"q{query}" for query in qid]
    ranker = ConvexHullRanker(graph=[(0, 1), (2, 4)], kernel=kernel).fit(X, y, qid=names)
    ranker.save(tmp_path / "model")
    loaded = pairrank.load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    for name in ("limits_", "limit_labels_", "limit_qid_", "lower_bound_", "n_edges_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(ranker, name))
    assert loaded.score(X, y, qid=names) == ranker.score(X, y, qid=names)
    with pytest.raises(PairrankError, match="fit it again"):
        loaded.violations()


@pytest.mark.parametrize("parameters", [{}, {"kernel": "rbf", "regularizer": "coefficients"}])
def test_a_callback_sees_the_weights_as_they_will_be(parameters):
    X, y = make_rows(n_rows=20, n_features=30)
    seen = []
    fitted = ConvexHullRanker(**parameters).fit(
        X, y, callback=lambda step: seen.append(step.coef) is not None
    )
    assert len(seen) == fitted.n_iter_ + 1
    np.testing.assert_allclose(seen[-1], fitted.coef_)


def test_validation_rows_may_be_compared_by_pairs(rows):
    X, y, _ = rows
    pairs = Pairs([0, 1, 2], [3, 4, 5], n_rows=y.size)
    ranker = ConvexHullRanker().fit(X, y, X_val=X, y_val=pairs)
    right = ranker.predict(X)[:3] > ranker.predict(X)[3:6]
    assert ranker.validation_scores_[-1] == pytest.approx(right.mean())


@pytest.mark.parametrize(
    ("valid", "message"),
    [
        ({"qid_val": [1]}, "qid_val is given without X_val"),
        ({"X_val": [[0.0] * 3], "y_val": [1.0]}, "3 features"),
        ({"X_val": [[0.0] * 4], "y_val": [1.0, 2.0]}, "y"),
        ({"X_val": [[0.0] * 4], "y_val": [1.0], "qid_val": [1, 2]}, "qid"),
    ],
)
@pytest.mark.parametrize("ranker", [ConvexHullRanker(), RankSVM()])
def test_validation_rows_that_are_wrong_are_refused_before_the_fit(rows, ranker, valid, message):
    X, y, _ = rows
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, y, **valid, callback=lambda _: pytest.fail("a fit was begun"))


def test_what_is_no_classes_is_refused(rows):
    X, y, _ = rows
    with pytest.raises(PairrankError, match="got Pairs"):
        ConvexHullRanker().fit(X, Pairs([0], [1], n_rows=y.size))
    with pytest.raises(NoPairsError, match="one class only"):
        ConvexHullRanker().fit(X, np.ones(y.size))
    with pytest.raises(PairrankError, match="no order of their own"):
        ConvexHullRanker().fit(X, [str(label) for label in y])
    with pytest.raises(PairrankError, match="bins of y"):
        ConvexHullRanker(graph="full").fit(np.zeros((1500, 1)), np.arange(1500.0))
