"""Features and labels of any size, or far from zero: the right answer, or a clear refusal."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from pairrank import (
    ConvexHullRanker,
    GreedyRankRLS,
    MPRank,
    OrderGraph,
    Pairs,
    RankNCG,
    RankRLS,
    RankRLSCV,
    RankSVM,
    SVRank,
)
from pairrank.exceptions import PairrankError, PairrankWarning, ZeroWeightsWarning

RANKERS = {
    "RankSVM": RankSVM(tol=1e-8),
    "RankSVM, chain": RankSVM(tol=1e-8, graph="chain"),
    "RankSVM, graph": RankSVM(tol=1e-8, graph=OrderGraph([(2.0, 0.0), (1.0, 0.0)])),
    "RankSVM, tron": RankSVM(tol=1e-8, solver="tron"),
    "RankSVM, hinge": RankSVM(loss="hinge", tol=1e-9),
    "RankNCG": RankNCG(tol=1e-8),
    "RankNCG, ncg": RankNCG(tol=1e-8, solver="ncg"),
    "RankRLS": RankRLS(),
    "RankRLS, cg": RankRLS(solver="cg", tol=1e-9),
    "ConvexHullRanker": ConvexHullRanker(tol=1e-9),
    "MPRank": MPRank(),
    "MPRank, n=1": MPRank(n=1, tol=1e-9),
    "SVRank": SVRank(tol=1e-9),
    "SVRank, n=2": SVRank(n=2, tol=1e-9),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X @ rng.normal(size=4) + rng.normal(size=300), [-1.0, 1.0]).astype(float)
    return X, y, np.repeat(np.arange(10), 30)


pytestmark = pytest.mark.numeric


def assert_near(coef, expected, part=1e-3):
    assert np.abs(coef - expected).max() <= part * np.abs(expected).max()


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("by_query", [False, True])
def test_an_offset_does_not_change_the_weights(name, by_query, rows):
    X, y, qid = rows
    qid = qid if by_query else None
    far = X + 1e9
    expected = clone(RANKERS[name]).fit(far - 1e9, y, qid=qid).coef_
    assert_near(clone(RANKERS[name]).fit(far, y, qid=qid).coef_, expected)


@pytest.mark.parametrize("name", [name for name in RANKERS if name != "ConvexHullRanker"])
def test_each_query_may_have_an_offset_of_its_own(name, rows):
    X, y, qid = rows
    offset = (1e9 * (qid + 1))[:, None]
    far = X + offset
    expected = clone(RANKERS[name]).fit(far - offset, y, qid=qid).coef_
    assert_near(clone(RANKERS[name]).fit(far, y, qid=qid).coef_, expected)


def test_pairs_are_counted_from_one_row(rows):
    X, y, _ = rows
    pairs = Pairs(np.flatnonzero(y == 2)[:50], np.flatnonzero(y == 0)[:50], n_rows=300)
    for name in ("RankSVM", "RankNCG", "RankRLS"):
        expected = clone(RANKERS[name]).fit(X + 1e9 - 1e9, pairs).coef_
        assert_near(clone(RANKERS[name]).fit(X + 1e9, pairs).coef_, expected)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("offset", [1e9, 1e12])
def test_sparse_rows_with_an_offset_end_without_an_error_of_linear_algebra(offset, rows):
    X, y, qid = rows
    far = sparse.csr_array(X + offset)
    ranker = RankSVM().fit(far, y, qid=qid)
    assert np.isfinite(ranker.coef_).all()
    assert ranker.score(far, y, qid=qid) > 0.8


def test_digits_that_are_lost_in_the_rows_are_told(rows):
    X, y, qid = rows
    X = X.copy()
    X[:, 2] += 1e14
    with pytest.warns(PairrankWarning, match=r"feature 2 .* standardise"):
        RankSVM().fit(X, y, qid=qid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X[:, 2] -= 1e14
        RankSVM().fit(X + 1e9, y, qid=qid)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_singular_equations_are_refused_with_a_remedy(rows):
    X, y, qid = rows
    with pytest.raises(PairrankError, match="raise alpha"):
        GreedyRankRLS(3, alpha=1e-320).fit(np.repeat(X[:, :1], 3, axis=1), y, qid=qid)
    with pytest.raises(PairrankError, match="leave out such small alphas"):
        RankRLSCV(alphas=[1e-320], kernel="rbf").fit(X, y, qid=qid)


@pytest.mark.parametrize("ranker", [RankRLS(1.0), MPRank(1e3), SVRank(1e3, n=2)], ids=str)
def test_what_differs_little_teaches_all_the_same(ranker):
    rng = np.random.default_rng(0)
    X, y = 1e9 + np.round(rng.normal(size=(3000, 1)), 3), rng.normal(size=3000)
    wanted = clone(ranker).fit(X - 1e9, y)
    np.testing.assert_allclose(ranker.fit(X, y).coef_, wanted.coef_, rtol=1e-3)


OF_DIFFERENCES = [RankRLS(), MPRank(), MPRank(n=1), SVRank(), SVRank(n=2), GreedyRankRLS(2)]


@pytest.fixture
def few():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.digitize(X @ [1.0, 2.0, 3.0], [-1.0, 1.0]).astype(float)


@pytest.mark.parametrize("ranker", OF_DIFFERENCES, ids=str)
def test_labels_whose_squares_overflow_are_refused_by_row(ranker, few):
    X, y = few
    y[7] = -1e308
    message = r"y\[7\] = -1e\+308 is too large.*: scale the values of y"
    with pytest.raises(PairrankError, match=message):
        ranker.fit(X, y)


@pytest.mark.parametrize("ranker", OF_DIFFERENCES[:-1], ids=str)
def test_comparisons_whose_squares_overflow_are_refused(ranker):
    pairs = Pairs([0, 1], [1, 2], magnitude=[1.0, -1e308])
    with pytest.raises(PairrankError, match=r"magnitude\[1\] = -1e\+308 is too large"):
        ranker.fit(np.eye(3), pairs)


def test_the_largest_labels_are_learnt(few):
    X, y = few
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        large = RankRLS().fit(X, np.where(y > 1, 1e150, -1e150))
    np.testing.assert_allclose(large.coef_ / 1e150, RankRLS().fit(X, 2.0 * (y > 1)).coef_)


@pytest.mark.parametrize("scale", [1e-200, 1e-300])
def test_weights_without_scores_are_reported(few, scale):
    X, y = few
    with pytest.warns(ZeroWeightsWarning, match="Scale the features to unit variance, raise nu"):
        ranker = ConvexHullRanker().fit(scale * X, y)
    assert ranker.coef_.any()
    assert not ranker.predict(scale * X).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ConvexHullRanker().fit(1e-150 * X, y).score(1e-150 * X, y) > 0.9


@pytest.mark.parametrize("ranker", [SVRank(), MPRank(n=1)], ids=str)
def test_features_whose_squares_overflow_are_refused_by_cutting_planes(ranker, few):
    X, y = few
    with pytest.raises(PairrankError, match="overflowed: scale the features"):
        ranker.fit(1e154 * X, y)


@pytest.mark.parametrize("n_rows", [40, 49, 58])
@pytest.mark.parametrize("columns", [[0, 0], [0, 1, 3], [0, 1, 2, 3, 0]])
def test_collinear_features_without_a_penalty_are_refused_by_direct(columns, n_rows, few):
    X = np.column_stack((few[0], few[0][:, 0] + few[0][:, 1]))[:n_rows, columns]
    y = few[1][:n_rows]
    with pytest.raises(PairrankError, match="singular at this precision"):
        RankRLS(1e-300, solver="direct").fit(X, y)
    by_default = RankRLS(1e-300).fit(X, y)
    iterated = RankRLS(1e-300, solver="cg").fit(X, y)
    np.testing.assert_allclose(by_default.predict(X), iterated.predict(X), atol=1e-3)


@pytest.mark.parametrize("kernel", [None, "precomputed"])
def test_a_penalty_lost_in_the_kernel_matrix_is_refused_by_direct(kernel):
    X = np.random.default_rng(0).normal(size=(10, 30))
    features = X if kernel is None else X @ X.T
    with pytest.raises(PairrankError, match="singular at this precision"):
        RankRLS(1e-300, solver="direct", kernel=kernel).fit(features, X[:, 0])


DESCENTS = {
    "ranksvm": RankSVM(),
    "tron": RankSVM(solver="tron"),
    "auto": RankNCG(),
    "ncg": RankNCG(solver="ncg"),
    "newton": RankNCG(solver="tron"),
    "raykar": RankNCG(loss="raykar"),
}


@pytest.fixture
def noisy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, np.round(X[:, 0] + rng.normal(size=300))


@pytest.mark.parametrize("ranker", [*DESCENTS.values(), *OF_DIFFERENCES[:-1]], ids=str)
@pytest.mark.parametrize("size", [0.0, np.float32(0.1), 3.3, 1e7])
def test_features_without_a_difference_leave_the_weights_at_zero(ranker, size, noisy):
    X = np.full((300, 3), size)
    for labels in (noisy[1], noisy[1] + 0.1 * noisy[0][:, 1]):
        with pytest.warns(ZeroWeightsWarning, match="features are equal within queries"):
            ranker.fit(X, labels, qid=np.arange(300) % 3)
        assert ranker.status_ in ("converged", "gap_closed")
        assert ranker.n_iter_ <= 1
        assert not ranker.coef_.any()


@pytest.mark.parametrize("name", DESCENTS)
@pytest.mark.parametrize("size", [1e-30, 1e-10, 1e10, 1e20])
def test_features_of_float32_may_have_squares_beyond_it(name, size, noisy):
    X = (size * noisy[0]).astype(np.float32)
    ranker = DESCENTS[name].fit(X, noisy[1])
    assert ranker.status_ == "converged"
    assert ranker.coef_[0] > 5.0 * np.abs(ranker.coef_[1:]).max()


@pytest.mark.parametrize("name", ["ranksvm", "auto", "ncg", "raykar"])
@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_features_of_float64_may_be_far_from_one(name, size, noisy):
    X = size * noisy[0]
    ranker = DESCENTS[name].fit(X, noisy[1])
    assert ranker.status_ == "converged"
    assert ranker.score(X, noisy[1]) > 0.7


@pytest.mark.parametrize("ranker", [RankSVM(), RankNCG(), RankRLS(regularization="iteration")])
@pytest.mark.parametrize("seed", ["a", -1, 0.5])
def test_a_seed_that_is_none_is_refused_by_name(ranker, seed, noisy):
    with pytest.raises(PairrankError, match=r"random_state must be (a whole number|at least 0)"):
        ranker.set_params(random_state=seed).fit(*noisy)
