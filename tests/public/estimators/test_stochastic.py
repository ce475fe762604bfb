"""solver="sgd" comes near the optimum of the other solvers and behaves as they do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from pairrank import SGD, Kernel, OrderGraph, Pairs, RankNCG, RankSVM, load_model

pytestmark = pytest.mark.numeric

RANKERS = [
    RankSVM(solver="sgd"),
    RankSVM(loss="hinge", solver="sgd"),
    RankNCG(solver="sgd"),
    RankNCG(loss="probit", solver="sgd"),
    RankSVM(0.01, solver=SGD("pegasos")),
    RankNCG(30.0, solver=SGD("pegasos")),
]
WITHIN = 0.01
"""The relative distance from the optimum; `tol` is a tenth of it."""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6)) * (rng.random((600, 6)) < 0.7)
    y = np.digitize(X[:, 0] - X[:, 1] + rng.normal(size=600), [-1.0, 0.5, 1.5]).astype(float)
    return X, y, np.repeat(np.arange(30), 20)


def problems(rows):
    """Return arguments of fit, and parameters, of problems of every kind."""
    X, y, qid = rows
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 3, y.size).astype(float)
    i = rng.integers(0, y.size, 2000)
    j = (i + rng.integers(1, y.size, 2000)) % y.size
    i, j = np.where(y[i] >= y[j], (i, j), (j, i))
    return {
        "plain": ((X, y), {}, {}),
        "sparse": ((sparse.csr_matrix(X), y), {}, {}),
        "float32 columns": ((np.asfortranarray(X, dtype=np.float32), y), {}, {}),
        "queries": ((X, y), {"qid": qid}, {"reduction": "query"}),
        "chain": ((X, y), {"qid": qid}, {"graph": "chain"}),
        "edges": ((X, y), {}, {"graph": OrderGraph([(0.0, 2.0), (1.0, 3.0)])}),
        "weights": ((X, y), {"qid": qid, "sample_weight": weight}, {}),
        "roles": ((X, y), {"winner_weight": weight, "loser_weight": weight[::-1].copy()}, {}),
        "pairs": ((X, Pairs(i, j, n_rows=y.size)), {}, {"reduction": "rows"}),
        "weighted pairs": ((X, Pairs(i, j, rng.exponential(size=2000))), {}, {"reduction": "rows"}),
        "kernel": ((X[:150], y[:150]), {}, {"kernel": Kernel("rbf", gamma=0.1)}),
    }


@pytest.mark.parametrize("kind", problems((np.zeros((2, 6)), np.arange(2.0), np.arange(2))))
@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_the_objective_comes_near_the_optimum(rows, ranker, kind):
    given, aligned, parameters = problems(rows)[kind]
    if kind == "kernel" and ranker.solver == "sgd":
        parameters = {**parameters, **({"C": 0.1} if "C" in ranker.get_params() else {"alpha": 10})}
    exact = clone(ranker).set_params(solver="auto", tol=1e-6, **parameters)
    if ranker.loss == "hinge":
        exact.set_params(tol=1e-3)
    stochastic = clone(ranker).set_params(**parameters)
    exact.fit(*given, **aligned)
    stochastic.fit(*given, **aligned)
    assert stochastic.status_ in ("settled", "converged")
    assert stochastic.objective_ == stochastic.history_[-1].value
    assert stochastic.objective_ <= exact.objective_ * (1 + WITHIN)
    assert stochastic.n_pairs_ == exact.n_pairs_


@pytest.mark.parametrize("ranker", [RankSVM(), RankNCG()], ids=str)
def test_a_seed_gives_the_same_bits(rows, ranker):
    X, y, qid = rows
    for form in (X, sparse.csr_matrix(X)):
        fits = [
            clone(ranker).set_params(solver="sgd", random_state=seed).fit(form, y, qid=qid).coef_
            for seed in (5, 5, 6)
        ]
        assert fits[0].tobytes() == fits[1].tobytes() != fits[2].tobytes()


def test_a_warm_start_at_the_optimum_stays_there(rows):
    X, y, _ = rows
    ranker = RankNCG(tol=1e-8, warm_start=True).fit(X, y)
    best = ranker.objective_
    ranker.set_params(solver="sgd", tol=1e-3).fit(X, y)
    assert ranker.objective_ <= best * (1 + 1e-9)


def test_averaging_and_the_first_length_change_the_weights(rows):
    X, y, _ = rows
    options = ({}, {"average": False}, {"eta0": 0.01}, {"learning_rate": "pegasos"})
    fits = []
    for option in options:
        with pytest.warns(ConvergenceWarning):
            fits.append(RankNCG(solver=SGD(**option), max_iter=2).fit(X, y).coef_)
    assert len({coef.tobytes() for coef in fits}) == len(options)


@pytest.mark.parametrize("scale", [1e-2, 1e-3, 1e-5])
def test_a_penalty_that_outweighs_the_loss_leaves_the_optimum_in_reach(scale):
    rng = np.random.default_rng(0)
    X, y = scale * rng.normal(size=(120, 4)), rng.integers(0, 4, 120)
    exact = RankSVM(solver="tron", tol=1e-8).fit(X, y)
    found = RankSVM(solver="sgd").fit(X, y)
    start = RankSVM(solver="tron").fit(X, y).history_[0].value
    assert found.status_ == "settled"
    assert start - found.objective_ > 0.9 * (start - exact.objective_)


def test_grids_and_model_files_know_the_settings(rows, tmp_path):
    X, y, _ = rows
    search = GridSearchCV(
        RankSVM(solver=SGD(), max_iter=20, tol=0.1), {"solver__eta0": [1e-9, 0.01]}, cv=2
    )
    fitted = search.fit(X, y).best_estimator_
    assert fitted.solver.eta0 == search.best_params_["solver__eta0"]
    first, second = search.cv_results_["mean_test_score"]
    assert first != second
    fitted.save(tmp_path / "model")
    assert repr(load_model(tmp_path / "model")) == repr(fitted)
