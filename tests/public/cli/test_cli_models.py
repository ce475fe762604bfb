"""train --model: every model is that of its estimator, also with kernels, searches, comparisons."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import WORDS
from cli_runs import record_of, run
from pairrank import (
    SGD,
    ConvexHullRanker,
    Kernel,
    MPRank,
    OrderGraph,
    PairwiseRanker,
    RankBoost,
    RankNCG,
    RankRLS,
    RankSVM,
    SVRank,
    load_model,
    metrics,
)
from pairrank.io import read_rows

MODELS = {
    "ranksvm": (RankSVM, "C"),
    "rankncg": (RankNCG, "alpha"),
    "rankrls": (RankRLS, "alpha"),
    "mprank": (MPRank, "C"),
    "svrank": (SVRank, "C"),
    "pairwise": (PairwiseRanker, "C"),
    "hull": (ConvexHullRanker, "nu"),
    "rankboost": (RankBoost, "n_estimators"),
}
"""Each model's ranker, and the parameter that a search picks."""


def rows_of(folder, name):
    rows = read_rows(folder / f"{name}.txt")
    return rows.X, rows.y, rows.qid


def trained(folder, tmp_path, model, *options, data="train.txt"):
    """Train a model, and return its summary and what was said."""
    train = ["train", folder / data, "-o", tmp_path / "m", "--model", model, "--json"]
    done = run(*train, *options)
    return json.loads(done.stdout), done.stderr


def words_of(params):
    """Return the options that set parameters."""
    names = {"C": "-C", "random_state": "--seed", "n_components": "--components"}
    names["method"] = "--kernel-features"
    words = []
    for param, value in params.items():
        name = param.rpartition("__")[2]
        words.append(names.get(name, "--" + name.replace("_", "-")))
        words += [] if value is True else [str(value)]
    return words


def made_of(model, params):
    """Return a ranker with parameters, some of which are those of its kernel or its solver."""
    nested = {name: value for name, value in params.items() if "__" in name}
    ranker = MODELS[model][0](**{name: params[name] for name in params.keys() - nested.keys()})
    if any(name.startswith("kernel__") for name in nested):
        ranker.set_params(kernel=Kernel(ranker.kernel))
    if any(name.startswith("solver__") for name in nested):
        ranker.set_params(solver=SGD())
    return ranker.set_params(**nested)


FITS = [
    *((name, {}) for name in MODELS),
    ("ranksvm", {"C": 0.25, "reduction": "sum", "graph": "chain", "tol": 1e-5, "max_iter": 77}),
    ("ranksvm", {"loss": "hinge", "random_state": 3}),
    ("rankncg", {"alpha": 0.25, "eps": 1e-3, "loss": "probit", "solver": "ncg", "tol": 1e-2,
                 "pair_sum": "direct", "reduction": "query", "max_iter": 50}),
    ("rankncg", {"solver": "sgd", "solver__learning_rate": "pegasos", "random_state": 3,
                 "solver__eta0": 0.5}),
    ("rankrls", {"alpha": 0.5, "solver": "cg", "tol": 1e-7, "max_iter": 99}),
    ("rankrls", {"regularization": "iteration", "random_state": 5}),
    ("rankrls", {"regularization": "hybrid", "random_state": 5, "patience": 3}),
    ("mprank", {"C": 3.0, "solver": "cg"}),
    ("mprank", {"n": 1, "tol": 1e-4}),
    ("svrank", {"epsilon": 0.5, "n": 2, "C": 9.0}),
    ("hull", {"nu": 0.5, "graph": "chain", "tol": 1e-8, "max_iter": 60}),
    ("hull", {"kernel": "rbf", "kernel__gamma": 0.3, "regularizer": "coefficients"}),
    ("rankboost", {"n_estimators": 7, "reduction": "query"}),
    ("rankboost", {"early_stopping": True, "patience": 4, "random_state": 3}),
    *((name, {"kernel": "rbf"}) for name in MODELS if name not in ("pairwise", "rankboost")),
    ("ranksvm", {"kernel": "rbf", "kernel__gamma": 0.4, "kernel__method": "exact"}),
    ("rankncg", {"kernel": "poly", "kernel__gamma": "scale", "kernel__degree": 2,
                 "kernel__coef0": 0.5}),
    ("rankrls", {"kernel": "rbf", "kernel__method": "nystroem", "kernel__n_components": 12,
                 "random_state": 3}),
]  # fmt: skip


def told_of(model, plain):
    """Return what the summary says of a fitted ranker."""
    told = {"model": type(plain).__name__, "n_pairs": plain.n_pairs_, "status": plain.status_}
    told |= {"rows": plain.n_rows_, "queries": plain.n_queries_, "features": 4}
    told["objective"] = pytest.approx(plain.objective_)
    strength = MODELS[model][1]
    told[strength] = getattr(plain, f"{strength}_", getattr(plain, strength))
    for name in ("regularization", "n", "epsilon", "kernel"):
        value = getattr(plain, f"{name}_", getattr(plain, name, None))
        if value is not None:
            told[name] = value
    if told.get("regularization") == "iteration":
        del told["alpha"]
    if hasattr(plain, "kernel_"):
        told["kernel"] = plain.kernel_.function
        told["kernel features"] = plain.kernel_.n_components_
    if model == "hull":
        told |= {"edges": plain.n_edges_, "rows outside limits": plain.violations().row.size}
        told["duality gap"] = pytest.approx(plain.objective_ - plain.lower_bound_)
    if hasattr(plain, "validation_scores_"):
        told["best iteration"] = plain.best_iteration_
        told["validation error"] = pytest.approx(1 - plain.validation_scores_.max())
    return told


@pytest.mark.parametrize(("model", "params"), FITS)
def test_the_fit_is_that_of_the_estimator(folder, tmp_path, model, params):
    record, _ = trained(folder, tmp_path, model, *words_of(params))
    X, y, qid = rows_of(folder, "train")
    plain = made_of(model, params).fit(X, y, qid=qid)
    assert repr(load_model(tmp_path / "m")) == repr(plain)
    new = rows_of(folder, "valid")[0]
    scores = run("predict", tmp_path / "m", folder / "valid.txt").stdout.split()
    np.testing.assert_allclose(np.array(scores, float), plain.predict(new), rtol=1e-9)
    told = told_of(model, plain)
    assert {name: record.get(name) for name in told} == told
    for name in ("regularization", "n", "epsilon", "kernel", "edges", "best iteration"):
        assert (name in record) == (name in told)
    info = record_of("info", tmp_path / "m")
    assert info["model"] == type(plain).__name__
    strength = MODELS[model][1]
    assert info[f"param {strength}"] == getattr(plain, strength)
    judged = record_of("evaluate", tmp_path / "m", folder / "valid.txt")
    assert judged["pairwise_accuracy"] > 0.7
    assert ("msd" in judged) == (model in ("rankrls", "mprank", "svrank"))


@pytest.mark.parametrize(
    ("model", "options"),
    [("ranksvm", ["--loss", "hinge"]), ("mprank", ["--n", "1"]), ("svrank", []), ("hull", [])],
)
def test_solvers_with_a_gap_show_it(folder, tmp_path, model, options):
    record, said = trained(folder, tmp_path, model, *options)
    assert 0 <= record["duality gap"] <= load_model(tmp_path / "m").tol * record["objective"]
    assert " gap " in said
    assert "gradient" not in said


SEARCHES = [
    *((name, "wmw", {}) for name in MODELS),
    ("rankrls", "m1d", {}),
    ("rankrls", "msd", {"regularization": "hybrid"}),
    ("svrank", "tube_cost", {}),
    ("rankncg", "pairwise_accuracy", {"kernel": "rbf"}),
    ("hull", "pairwise_accuracy", {"graph": "full"}),
]


@pytest.mark.parametrize(("model", "metric", "params"), SEARCHES)
def test_a_search_takes_the_best_strength(folder, tmp_path, model, metric, params):
    search = ["--search", "--valid", folder / "valid.txt", "--metric", metric]
    record, said = trained(folder, tmp_path, model, *search, *words_of(params))
    X, y, qid = rows_of(folder, "train")
    X_val, y_val, qid_val = rows_of(folder, "valid")
    held, (ranker, strength) = {}, MODELS[model]
    if params.get("regularization") == "hybrid":
        held = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
        params = {**params, "validation_metric": metric}
    is_of_pairs = metric in ("pairwise_accuracy", "wmw")
    lines = [line.split() for line in said.splitlines() if line.startswith(f"{strength} ")]
    assert len(lines) > 5
    measured = {}
    for _, value, _, shown, *_ in lines:
        exact = min((2.0**k for k in range(-40, 40)), key=lambda near: abs(near - float(value)))
        kind = int if strength == "n_estimators" else float
        given = exact if abs(exact / float(value) - 1) < 1e-5 else kind(value)
        plain = ranker(**{strength: given}, **params).fit(X, y, qid=qid, **held)
        score = metrics.wmw_score if metric == "wmw" else getattr(metrics, metric)
        judge = {"graph": getattr(plain, "graph", "full")} if is_of_pairs else {}
        if metric == "tube_cost":
            judge = {"epsilon": plain.epsilon_, "n": plain.n}
        measured[given] = score(y_val, plain.predict(X_val), qid=qid_val, **judge)
        assert float(shown) == pytest.approx(measured[given], rel=1e-3, abs=1e-5)
    best = (max if is_of_pairs else min)(measured.values())
    assert record[f"valid {metric}"] == pytest.approx(best, rel=1e-9)
    assert measured[record[strength]] == pytest.approx(best, rel=1e-9)
    assert getattr(load_model(tmp_path / "m"), strength) == record[strength]
    assert f"best: {strength} {record[strength]:g}, {metric}" in said


def test_pairs_are_judged_over_the_model_s_own_graph(folder, tmp_path):
    X, y, qid = rows_of(folder, "valid")
    for search in ([], ["--search"]):
        options = ["--graph", "chain", "--valid", folder / "valid.txt", *search]
        record, _ = trained(folder, tmp_path, "ranksvm", *options)
        scores = load_model(tmp_path / "m").predict(X)
        chain = metrics.pairwise_accuracy(y, scores, qid=qid, graph="chain")
        assert chain != metrics.pairwise_accuracy(y, scores, qid=qid)
        assert record["valid pairwise_accuracy"] == chain
    judged, full = (
        record_of("evaluate", model, folder / "valid.txt")
        for model in (tmp_path / "m", folder / "model")
    )
    assert judged["pairwise_accuracy"] == chain
    assert judged["n_pairs"] < full["n_pairs"]


@pytest.mark.parametrize(
    ("model", "params", "metric"),
    [
        ("ranksvm", {"C": 1000.0, "patience": 1}, "mean_ndcg"),
        ("hull", {"patience": 1}, "mean_ndcg"),
        ("mprank", {"patience": 1, "n": 1}, "mean_ndcg"),
        ("rankboost", {"early_stopping": True}, "ndcg@3"),
        ("rankrls", {"regularization": "iteration", "patience": 3}, None),
        ("rankrls", {"regularization": "hybrid", "patience": 3}, None),
    ],
)
def test_validation_rows_stop_a_fit(folder, tmp_path, model, params, metric):
    options = ["--valid", folder / "valid.txt", *words_of(params)]
    options += ["--metric", metric] if metric else []
    record, _ = trained(folder, tmp_path, model, *options)
    X, y, qid = rows_of(folder, "train")
    X_val, y_val, qid_val = rows_of(folder, "valid")
    plain = MODELS[model][0](**params)
    if metric:
        plain.set_params(validation_metric=metric)
    plain.fit(X, y, qid=qid, X_val=X_val, y_val=y_val, qid_val=qid_val)
    saved = load_model(tmp_path / "m")
    np.testing.assert_allclose(saved.predict(X), plain.predict(X), rtol=1e-9)
    assert record["best iteration"] == plain.best_iteration_
    best = plain.validation_scores_[plain.best_iteration_]
    if metric:
        assert record[f"valid {metric}"] == pytest.approx(best)
        assert "validation error" not in record
    else:
        assert record["validation error"] == pytest.approx(1 - best)


@pytest.mark.parametrize(
    ("name", "kernel"), [("ranksvm", []), ("rankboost", []), ("hull", ["--kernel", "rbf"])]
)
def test_columns_are_found_by_name_whatever_their_order(folder, tmp_path, name, kernel):
    trained(folder, tmp_path, name, "--qid", "qid", *kernel, data="train.csv")
    lines = [line.split(",") for line in (folder / "valid.csv").read_text().splitlines()]
    (tmp_path / "turned.csv").write_text("\n".join(",".join(line[::-1]) for line in lines) + "\n")
    straight = run("predict", tmp_path / "m", folder / "valid.csv").stdout
    assert run("predict", tmp_path / "m", tmp_path / "turned.csv").stdout == straight


def test_a_hull_learns_words_and_weights_and_warns_of_absent_classes(folder, tmp_path):
    options = ["--qid", "qid", "--graph", "poor<fair<good"]
    trained(folder, tmp_path, "hull", *options, data="words.csv")
    X, y, qid = rows_of(folder, "train")
    plain = ConvexHullRanker(graph=OrderGraph([(0, 1), (1, 2)])).fit(X, y, qid=qid)
    model = load_model(tmp_path / "m")
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    assert set(model.limit_labels_) == set(WORDS)
    _, said = trained(folder, tmp_path, "hull", "-q", "--graph", "0<1<7")
    assert said.startswith("pairrank: warning:")
    assert "absent" in said
    assert load_model(tmp_path / "m").n_edges_ == 6
