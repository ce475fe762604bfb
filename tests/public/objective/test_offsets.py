"""Features far from zero: the answer is that of their differences, or a warning says so."""

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
from pairrank.exceptions import PairrankError, PairrankWarning

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
