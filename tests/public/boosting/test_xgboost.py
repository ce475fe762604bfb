"""All pairs in XGBoost: training, metrics, early stopping, folds, weights, pickled models."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from boosting_rows import learnable_rows
from pairrank.boosting import AllPairsObjective, RankingMetric
from pairrank.metrics import ndcg_score, pairwise_accuracy

xgboost = pytest.importorskip("xgboost", reason="needs xgboost: make test-extras")
pytestmark = pytest.mark.extras

SMALL = {"nthread": 1, "tree_method": "hist", "max_depth": 3, "disable_default_eval_metric": 1}


def made(n_queries=40, seed=0, size=12):
    X, y, qid = learnable_rows(n_queries, seed, size)
    return X.astype(np.float32), y, qid


def matrix(rows, **fields):
    X, y, qid = rows
    return xgboost.DMatrix(X, y, qid=qid, nthread=1, **fields)


def trained(objective, data, rounds=15, **parameters):
    own = callable(objective)
    parameters = {**SMALL, **parameters, **({} if own else {"objective": objective})}
    return xgboost.train(parameters, data, rounds, obj=objective if own else None)


def scores(model, X):
    return model.predict(xgboost.DMatrix(X), output_margin=True)


def test_the_regressor_takes_queries_through_the_objective():
    X, y, qid = made()
    native = scores(trained(AllPairsObjective(), matrix((X, y, qid))), X)
    options = {"n_estimators": 15, "max_depth": 3, "tree_method": "hist", "n_jobs": 1}
    regressor = xgboost.XGBRegressor(objective=AllPairsObjective(qid=qid), **options)
    np.testing.assert_allclose(regressor.fit(X, y).predict(X), native, atol=1e-5)
    np.testing.assert_allclose(clone(regressor).fit(X, y).predict(X), native, atol=1e-5)
    order = np.random.default_rng(2).permutation(y.size)
    shuffled = xgboost.XGBRegressor(objective=AllPairsObjective(qid=qid[order]), **options)
    found = shuffled.fit(X[order], y[order]).predict(X)
    assert pairwise_accuracy(y, found, qid=qid) > 0.85


def test_several_evaluation_sets_have_metrics_of_their_own_queries():
    sets = {"train": made(), "one": made(25, seed=1), "two": made(30, seed=2, size=7)}
    data = {name: matrix(rows) for name, rows in sets.items()}
    history: dict = {}
    model = xgboost.train(
        SMALL, data["train"], 10, obj=AllPairsObjective(), custom_metric=RankingMetric("ndcg@5"),
        evals=[(each, name) for name, each in data.items()], evals_result=history,
        verbose_eval=False,
    )  # fmt: skip
    for name, (X, y, qid) in sets.items():
        wanted = ndcg_score(y, scores(model, X), qid=qid, k=5)
        assert history[name]["ndcg@5"][-1] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("name", ["err@5:max_label=3", "ndcg@10"])
def test_early_stopping_keeps_the_best_round_in_the_direction_of_the_metric(name):
    X, y, qid = made(15)
    y[::3] = np.random.default_rng(0).permutation(y[::3])
    history: dict = {}
    metric = RankingMetric(name)
    model = xgboost.train(
        {**SMALL, "eta": 0.9, "max_depth": 8}, matrix((X, y, qid)), 200,
        obj=AllPairsObjective(), custom_metric=metric, evals=[(matrix(made(seed=1)), "valid")],
        evals_result=history, early_stopping_rounds=10, verbose_eval=False,
    )  # fmt: skip
    values = history["valid"][metric.__name__]
    best = np.argmax(values) if name == "ndcg@10" else np.argmin(values)
    assert len(values) < 200
    assert model.best_iteration == best


def test_weights_of_queries_count_and_xgboost_refuses_those_of_rows():
    X, y, qid = made()
    weight = np.random.default_rng(0).integers(0, 3, 40)
    rows = np.concatenate([np.flatnonzero(qid == q) for q in range(40) for _ in range(weight[q])])
    again = np.repeat(np.arange(weight.sum()), 12)
    weighted = trained(
        AllPairsObjective(), matrix((X, y, qid), weight=weight), 1, tree_method="exact"
    )
    repeated = trained(
        AllPairsObjective(), matrix((X[rows], y[rows], again)), 1, tree_method="exact"
    )
    found, wanted = scores(weighted, X[rows]), scores(repeated, X[rows])
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    with pytest.raises(xgboost.core.XGBoostError, match="query groups"):
        trained(AllPairsObjective(), matrix((X, y, qid), weight=np.ones(y.size)))


def test_folds_take_their_queries_from_the_data():
    found = xgboost.cv(
        SMALL, matrix(made()), 10, nfold=3, obj=AllPairsObjective(),
        custom_metric=RankingMetric("ndcg@5"), as_pandas=False,
    )  # fmt: skip
    assert found["test-ndcg@5-mean"][-1] > 0.8


def test_a_quantile_matrix_with_groups_of_rows_works_too():
    X, y, qid = made()
    data = xgboost.QuantileDMatrix(X, y, group=np.bincount(qid))
    model = trained(AllPairsObjective(), data, 30)
    assert pairwise_accuracy(y, scores(model, X), qid=qid) > 0.85


def test_the_ranker_evaluates_metrics_of_pairrank_query_by_query():
    X, y, qid = made()
    ranker = xgboost.XGBRanker(eval_metric=RankingMetric("ndcg@5"), n_estimators=3, n_jobs=1)
    ranker.fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid], verbose=False)
    wanted = ndcg_score(y, ranker.predict(X), qid=qid, k=5)
    assert ranker.evals_result()["validation_0"]["ndcg@5"][-1] == pytest.approx(wanted, abs=1e-6)
