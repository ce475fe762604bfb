"""RankNet on real rows: judged queries, and the prices of houses."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("torch.nn", reason="needs torch: make test-extras")
from pairrank import RankNCG, RankNet, RankSVM  # noqa: E402
from pairrank.metrics import ndcg_score  # noqa: E402
from reproduction.data import load  # noqa: E402


def ndcg_of(ranker, test):
    return ndcg_score(test.y, ranker.predict(test.X), qid=test.qid, k=10)


def test_judged_queries_are_ranked_as_well_as_by_linear_rankers(data_home):
    train, valid, test = (
        load("letor4_mq2008", fold=1, subset=subset) for subset in ("train", "valid", "test")
    )
    held = {"X_val": valid.X, "y_val": valid.y, "qid_val": valid.qid}
    linear = [ranker.fit(train.X, train.y, qid=train.qid) for ranker in (RankSVM(), RankNCG())]
    nets = [
        RankNet((), alpha=1.0),
        RankNet(alpha=100.0, patience=10, validation_metric="ndcg@10"),
    ]
    for net in nets:
        net.fit(train.X, train.y, qid=train.qid, **(held if net.patience else {}))
    # An NDCG lies in [0, 1], so its standard deviation is at most 1/2, and that of a query mean of
    # differences at most 1/sqrt(queries); models of the same rows differ by far less.
    slack = 1.0 / np.sqrt(np.unique(test.qid).size)
    worst, best = (
        min(ndcg_of(net, test) for net in nets),
        max(ndcg_of(each, test) for each in linear),
    )
    assert worst > best - slack


def test_houses_are_ranked_better_than_by_a_linear_ranker(data_home):
    data = load("cal_housing")
    y = np.digitize(data.y, np.quantile(data.y, [0.2, 0.4, 0.6, 0.8]))
    rng = np.random.default_rng(0)
    places = rng.permutation(y.size)
    train, test = places[:8000], places[8000:]
    scaled = (data.X - data.X[train].mean(axis=0)) / data.X[train].std(axis=0)
    linear = RankNCG().fit(scaled[train], y[train])
    net = RankNet(max_iter=150, solver="lbfgs", tol=1e-2).fit(data.X[train], y[train])
    assert net.status_ == "converged"
    assert net.score(data.X[test], y[test]) > linear.score(scaled[test], y[test]) + 0.01
