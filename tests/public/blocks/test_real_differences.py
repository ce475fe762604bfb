"""Fits on blocks of MQ2008 and of Californian districts, against fits in memory."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from pairrank import ConvexHullRanker, MPRank, RankRLS, RankRLSCV, RowBlocks, SVRank
from reproduction.data import load

RANKERS = [RankRLS(), MPRank(), SVRank(n=2, tol=1e-8), SVRank(tol=1e-4)]


@pytest.fixture(scope="module")
def districts(data_home):
    data = load("cal_housing", data_home)
    few = np.random.default_rng(0).choice(len(data.y), 4000, replace=False)
    return data.X[few], data.y[few]


@pytest.mark.parametrize("ranker", RANKERS, ids=["RankRLS", "MPRank", "SVRank 2", "SVRank 1"])
def test_districts_as_one_query_over_blocks(ranker, districts):
    X, y = districts
    blocks = RowBlocks.from_arrays(X, y, batch_rows=900).standardized()
    found = clone(ranker).fit(blocks)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    wanted = clone(ranker).fit(scaled, y)
    gaps = getattr(found, "gap_", 0.0) + getattr(wanted, "gap_", 0.0)
    assert abs(found.objective_ - wanted.objective_) <= gaps + 1e-8 * wanted.objective_
    if not gaps:
        own = wanted.coef_ / X.std(axis=0)
        np.testing.assert_allclose(found.coef_, own, atol=1e-6 * np.abs(own).max())


def test_limits_of_standardised_blocks_are_those_of_raw_scores(districts):
    X, y = districts
    classes = np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
    blocks = RowBlocks.from_arrays(X, classes, batch_rows=900).standardized()
    found = ConvexHullRanker().fit(blocks)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    wanted = ConvexHullRanker().fit(scaled, classes)
    gaps = [each.objective_ - each.lower_bound_ for each in (found, wanted)]
    assert abs(found.objective_ - wanted.objective_) <= sum(gaps)
    scores, (lower, upper) = found.predict(X), found.limits_[classes.astype(int)].T
    slack = np.maximum(0.0, np.maximum(scores - upper, lower - scores))
    penalty = 0.5 * np.sum((found.coef_ * X.std(axis=0)) ** 2)
    value = found.nu * np.square(slack).sum() + penalty
    assert value == pytest.approx(found.objective_, rel=1e-9)
    with pytest.raises(ValueError, match="of RowBlocks, has no training rows"):
        found.violations()


def test_queries_of_mq2008_over_blocks(data_home):
    train, valid = (
        load("letor4_mq2008", data_home, fold=1, subset=subset) for subset in ("train", "valid")
    )
    blocks, held = (
        RowBlocks.from_arrays(each.X, each.y, qid=each.qid, batch_rows=1000)
        for each in (train, valid)
    )
    found = RankRLS().fit(blocks)
    wanted = RankRLS().fit(train.X, train.y, qid=train.qid)
    np.testing.assert_allclose(found.coef_, wanted.coef_, atol=1e-6 * np.abs(wanted.coef_).max())
    search = RankRLSCV().fit(blocks, X_val=held)
    alone = RankRLS(alpha=search.alpha_).fit(train.X, train.y, qid=train.qid)
    assert search.best_score_ == pytest.approx(
        alone.score(valid.X, valid.y, qid=valid.qid), abs=1e-6
    )
    hull = ConvexHullRanker().fit(blocks)
    whole = ConvexHullRanker().fit(train.X, train.y, qid=train.qid)
    gaps = [each.objective_ - each.lower_bound_ for each in (hull, whole)]
    assert abs(hull.objective_ - whole.objective_) <= sum(gaps)
