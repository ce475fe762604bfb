"""Labels and features at the ends of float64, and singular systems: refused, or answered."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pairrank import ConvexHullRanker, GreedyRankRLS, MPRank, Pairs, RankRLS, SVRank
from pairrank.exceptions import PairrankError, ZeroWeightsWarning

pytestmark = pytest.mark.numeric

OF_DIFFERENCES = [RankRLS(), MPRank(), MPRank(n=1), SVRank(), SVRank(n=2), GreedyRankRLS(2)]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.digitize(X @ [1.0, 2.0, 3.0], [-1.0, 1.0]).astype(float)


@pytest.mark.parametrize("ranker", OF_DIFFERENCES, ids=str)
def test_labels_whose_squares_overflow_are_refused_by_row(ranker, rows):
    X, y = rows
    y[7] = -1e308
    with pytest.raises(
        PairrankError, match=r"y\[7\] = -1e\+308 is too large.*: scale the values of y"
    ):
        ranker.fit(X, y)


@pytest.mark.parametrize("ranker", OF_DIFFERENCES[:-1], ids=str)
def test_comparisons_whose_squares_overflow_are_refused(ranker):
    pairs = Pairs([0, 1], [1, 2], magnitude=[1.0, -1e308])
    with pytest.raises(PairrankError, match=r"magnitude\[1\] = -1e\+308 is too large"):
        ranker.fit(np.eye(3), pairs)


def test_the_largest_labels_are_learnt(rows):
    X, y = rows
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        large = RankRLS().fit(X, np.where(y > 1, 1e150, -1e150))
    np.testing.assert_allclose(large.coef_ / 1e150, RankRLS().fit(X, 2.0 * (y > 1)).coef_)


@pytest.mark.parametrize("scale", [1e-200, 1e-300])
def test_weights_without_scores_are_reported(rows, scale):
    X, y = rows
    with pytest.warns(ZeroWeightsWarning, match="Scale the features to unit variance, raise nu"):
        ranker = ConvexHullRanker().fit(scale * X, y)
    assert ranker.coef_.any()
    assert not ranker.predict(scale * X).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ConvexHullRanker().fit(1e-150 * X, y).score(1e-150 * X, y) > 0.9


@pytest.mark.parametrize("ranker", [SVRank(), MPRank(n=1)], ids=str)
def test_features_whose_squares_overflow_are_refused_by_cutting_planes(ranker, rows):
    X, y = rows
    with pytest.raises(PairrankError, match="overflowed: scale the features"):
        ranker.fit(1e154 * X, y)


@pytest.mark.parametrize("n_rows", [40, 49, 58])
@pytest.mark.parametrize("columns", [[0, 0], [0, 1, 3], [0, 1, 2, 3, 0]])
def test_collinear_features_without_a_penalty_are_refused_by_direct(columns, n_rows, rows):
    X = np.column_stack((rows[0], rows[0][:, 0] + rows[0][:, 1]))[:n_rows, columns]
    y = rows[1][:n_rows]
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
