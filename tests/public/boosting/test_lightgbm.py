"""All pairs in LightGBM: training, metrics, early stopping, folds, weights, pickled models."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold

from boosting_rows import learnable_rows
from loss_table import NAMED
from pairrank import QueryKFold
from pairrank.boosting import AllPairsObjective, RankingMetric
from pairrank.losses import Square, Tube
from pairrank.metrics import ndcg_score, pairwise_accuracy
from reproduction.data import load

lightgbm = pytest.importorskip("lightgbm", reason="needs lightgbm: make test-extras")
pytestmark = pytest.mark.extras

QUIET = {"verbose": -1, "num_threads": 1, "metric": "None", "deterministic": True}
SMALL = QUIET | {"min_data_in_leaf": 1, "num_leaves": 8}


def made(n_queries=40, seed=0, size=12):
    return *learnable_rows(n_queries, seed, size), np.full(n_queries, size)


def dataset(X, y, group=None, **fields):
    return lightgbm.Dataset(X, y, group=group, free_raw_data=False, **fields)


def trained(objective, data, rounds=15, **parameters):
    return lightgbm.train({**SMALL, **parameters, "objective": objective}, data, rounds)


@pytest.mark.parametrize("loss", [*NAMED, Square(), Tube(), Tube(0.1, 2)], ids=str)
def test_every_loss_learns_to_rank_other_queries(loss):
    X, y, _, group = made()
    other = made(seed=1)
    model = trained(AllPairsObjective(loss), dataset(X, y, group), 30)
    assert pairwise_accuracy(other[1], model.predict(other[0]), qid=other[2]) > 0.8


def test_estimators_and_training_functions_give_the_same_model():
    X, y, qid, group = made()
    native = trained(AllPairsObjective(), dataset(X, y, group)).predict(X)
    options = {"n_estimators": 15, "min_child_samples": 1, "num_leaves": 8, **QUIET}
    ranker = lightgbm.LGBMRanker(objective=AllPairsObjective(), **options).fit(X, y, group=group)
    np.testing.assert_array_equal(ranker.predict(X), native)
    regressor = lightgbm.LGBMRegressor(objective=AllPairsObjective(qid=qid), **options)
    np.testing.assert_array_equal(regressor.fit(X, y).predict(X), native)
    np.testing.assert_array_equal(clone(regressor).fit(X, y).predict(X), native)


def test_several_evaluation_sets_have_metrics_of_their_own_queries():
    train, one, two = made(), made(25, seed=1), made(30, seed=2, size=7)
    data = dataset(train[0], train[1], train[3])
    sets = [dataset(each[0], each[1], each[3], reference=data) for each in (one, two)]
    history: dict = {}
    model = lightgbm.train(
        {**SMALL, "objective": AllPairsObjective()}, data, 10, valid_sets=[data, *sets],
        valid_names=["train", "one", "two"], callbacks=[lightgbm.record_evaluation(history)],
        feval=[RankingMetric("ndcg@5"), RankingMetric("log_loss")],
    )  # fmt: skip
    for name, rows in (("train", train), ("one", one), ("two", two)):
        wanted = ndcg_score(rows[1], model.predict(rows[0]), qid=rows[2], k=5)
        assert history[name]["ndcg@5"][-1] == pytest.approx(wanted)
        assert history[name]["log_loss"][-1] < history[name]["log_loss"][0]


@pytest.mark.parametrize("name", ["pairwise_accuracy", "log_loss"])
def test_early_stopping_keeps_the_best_round_in_the_direction_of_the_metric(name):
    X, y, _, group = made(15)
    other = made(40, seed=1)
    y[::3] = np.random.default_rng(0).permutation(y[::3])
    data = dataset(X, y, group)
    history: dict = {}
    model = lightgbm.train(
        {**SMALL, "objective": AllPairsObjective(), "learning_rate": 0.5, "num_leaves": 31},
        data, 200, valid_sets=[dataset(other[0], other[1], other[3], reference=data)],
        feval=RankingMetric(name),
        callbacks=[lightgbm.early_stopping(10, verbose=False), lightgbm.record_evaluation(history)],
    )  # fmt: skip
    values = history["valid_0"][name]
    best = np.argmin(values) if name == "log_loss" else np.argmax(values)
    assert len(values) < 200
    assert model.best_iteration == best + 1


def test_weight_2_is_a_row_twice_and_0_its_absence():
    X, y, qid, group = made()
    times = np.random.default_rng(3).integers(0, 3, y.size)
    rows = np.repeat(np.arange(y.size), times)
    sizes = np.bincount(qid[rows])
    options = {"min_data_in_leaf": 0, "min_sum_hessian_in_leaf": 5.0, "num_leaves": 4}
    data = dataset(X, y, group, weight=times, params=SMALL)
    weighted = trained(AllPairsObjective(), data, 3, **options).predict(X)
    again = lightgbm.Dataset(X[rows], y[rows], group=sizes, reference=data.construct())
    repeated = trained(AllPairsObjective(), again, 3, **options).predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-3, atol=1e-3)


def test_folds_take_their_queries_from_the_data():
    X, y, qid, group = made()
    parameters = {**SMALL, "objective": AllPairsObjective()}
    metric = RankingMetric("pairwise_accuracy")
    for folds in (GroupKFold(3), list(QueryKFold(3).split(X, y, qid=qid))):
        found = lightgbm.cv(parameters, dataset(X, y, group), 10, folds=folds, feval=metric)
        assert found["valid pairwise_accuracy-mean"][-1] > 0.75


def test_a_trained_model_is_pickled_with_its_objective():
    X, y, qid, group = made()
    ranker = lightgbm.LGBMRanker(objective=AllPairsObjective("hinge"), n_estimators=5, **QUIET)
    ranker.fit(X, y, group=group)
    again = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    np.testing.assert_array_equal(again.fit(X, y, group=group).predict(X), ranker.predict(X))
    booster = trained(AllPairsObjective(qid=qid), dataset(X, y), 5)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(booster)).predict(X), booster.predict(X)
    )


def test_rows_of_weight_0_in_every_pair_make_no_leaf_of_their_own():
    X, y, _, group = made(4)
    y[:12] = 1.0
    model = trained(AllPairsObjective(), dataset(X, y, group), min_sum_hessian_in_leaf=0.0)
    assert np.isfinite(model.predict(X)).all()


def test_mq2008_is_ranked_as_well_as_by_lambdarank(data_home):
    train, test = (load("letor4_mq2008", fold=1, subset=name) for name in ("train", "test"))
    order = np.argsort(train.qid, kind="stable")
    group = np.unique(train.qid, return_counts=True)[1]
    found = []
    for objective in ("lambdarank", AllPairsObjective()):
        data = lightgbm.Dataset(train.X[order], train.y[order], group=group)
        model = lightgbm.train({**QUIET, "objective": objective, "learning_rate": 0.05}, data, 50)
        found.append(ndcg_score(test.y, model.predict(test.X), qid=test.qid))
    assert found[1] > found[0] - 0.02
