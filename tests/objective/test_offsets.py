"""Features far from zero: the answer is that of their differences, or a warning says so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import linalg, sparse
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
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.losses import SquaredHinge
from pairrank.objective import Problem, SampledModel
from pairrank.objective.offsets import without_offset
from pairrank.preferences import Differences, Levels

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


def test_rows_near_zero_are_not_copied(rows):
    X, y, qid = rows
    constant = np.column_stack([X, np.ones(300)])
    for preferences in (Levels.build(y), Levels.build(y, qid), Differences.build(y, qid)):
        for form in (X, X + 1e3, constant, sparse.csr_array(X + 1e9), np.full((300, 2), 1e9)):
            assert without_offset(form, preferences) is form


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_differences_within_queries_are_kept_to_the_bit(dtype, rows):
    X, y, qid = rows
    order = np.random.default_rng(0).permutation(300)
    far, y, qid = (X + 1e6 * (qid + 1.0)[:, None]).astype(dtype)[order], y[order], qid[order]
    weight = np.ones(300)
    weight[::7] = 0.0
    levels = Levels.build(y, qid, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        for preferences in (levels, Differences.build(y, qid)):
            near = without_offset(far, preferences)
            assert near.dtype == dtype
            for query in range(10):
                kept = (qid == query) & (weight > 0)
                gaps = (near[kept] - near[kept][:1]).astype(float)
                np.testing.assert_array_equal(gaps, (far[kept] - far[kept][:1]).astype(float))
                assert np.abs(near[kept]).max() < 20


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


def test_a_hessian_without_a_factorisation_gives_way_to_every_pair(rows, monkeypatch):
    def fail(matrix, **options):
        raise linalg.LinAlgError

    monkeypatch.setattr(linalg, "cho_factor", fail)
    X, y, qid = rows
    levels = Levels.build(y, qid)
    problem = Problem(sparse.csr_array(X), levels, SquaredHinge(), penalty=1e-30)
    model = SampledModel(problem, 300, np.random.default_rng(0))
    w = np.zeros(4)
    assert model.hessian(w, np.zeros(300)) is None
    assert model.inverse(w) is None
    assert not model.refine()


def test_a_sampled_hessian_does_not_depend_on_offsets(rows):
    X, y, qid = rows
    levels, w = Levels.build(y, qid), np.zeros(4)
    near, far = (
        SampledModel(Problem(sparse.csr_array(each), levels, SquaredHinge()), 300, generator)
        for each, generator in (
            (X, np.random.default_rng(0)),
            (X + 2.0**30, np.random.default_rng(0)),
        )
    )
    found = [model.hessian(w, np.zeros(300)).matvec(np.ones(4)) for model in (near, far)]
    # X + 2^30 is rounded to 2^-22.
    np.testing.assert_allclose(*found, rtol=1e-5)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_singular_equations_are_refused_with_a_remedy(rows):
    X, y, qid = rows
    with pytest.raises(PairrankError, match="raise alpha"):
        GreedyRankRLS(3, alpha=1e-320).fit(np.repeat(X[:, :1], 3, axis=1), y, qid=qid)
    with pytest.raises(PairrankError, match="leave out such small alphas"):
        RankRLSCV(alphas=[1e-320], kernel="rbf").fit(X, y, qid=qid)
