"""train --model hull: classes kept apart by limits, from the options to what is told of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import misused, refused, run
from pairrank import ConvexHullRanker, Kernel, OrderGraph, load_model, metrics
from pairrank.io import read_svmlight, write_rows, write_svmlight

WORDS = np.array(["poor", "fair", "good"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("hull")
    for seed, name in enumerate(["train", "valid"]):
        rows = make_rows(seed)
        write_svmlight(home / f"{name}.txt", rows)
        write_rows(home / f"{name}.csv", rows._replace(weight=np.linspace(0.5, 2, 60)))
        write_rows(home / f"{name}_words.csv", rows._replace(y=WORDS[rows.y.astype(int)]))
    return home


def rows_of(folder, name):
    rows = read_svmlight(folder / f"{name}.txt")
    return rows.X, rows.y, rows.qid


def training(folder, tmp_path, *options, data="train.txt"):
    return ["train", folder / data, "-o", tmp_path / "m", "--model", "hull", *options]


@pytest.mark.parametrize("graph", [None, "chain", "full", "0<2,1<2"])
def test_the_fit_is_that_of_the_estimator(folder, tmp_path, graph):
    options = ["--nu", "0.5", "--tol", "1e-8", "--max-iter", "60", "--json"]
    options += ["--valid", folder / "valid.txt"]
    options += [] if graph is None else ["--graph", graph]
    record = json.loads(run(*training(folder, tmp_path, *options)).stdout)
    X, y, qid = rows_of(folder, "train")
    order = OrderGraph([(0, 2), (1, 2)]) if graph == "0<2,1<2" else graph or "chain"
    plain = ConvexHullRanker(0.5, graph=order, tol=1e-8, max_iter=60).fit(X, y, qid=qid)
    model = load_model(tmp_path / "m")
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.limits_, plain.limits_)
    others, labels, queries = rows_of(folder, "valid")
    told = {
        "model": "ConvexHullRanker",
        "valid pairwise_accuracy": plain.score(others, labels, qid=queries),
        "queries": 6,
        "levels": 3,
        "n_pairs": plain.n_pairs_,
        "nu": 0.5,
        "objective": plain.objective_,
        "duality gap": plain.objective_ - plain.lower_bound_,
        "edges": plain.n_edges_,
        "rows outside limits": plain.violations().row.size,
        "iterations": plain.n_iter_,
    }
    assert {name: record[name] for name in told} == told
    assert "kernel" not in record


def test_scores_are_evaluated_over_the_model_s_own_graph(folder, tmp_path):
    run(*training(folder, tmp_path, "-q"))
    record = json.loads(run("evaluate", tmp_path / "m", folder / "valid.txt", "--json").stdout)
    X, y, qid = rows_of(folder, "valid")
    scores = load_model(tmp_path / "m").predict(X)
    accuracy = metrics.pairwise_accuracy(y, scores, qid=qid, graph="chain")
    assert record["pairwise_accuracy"] == accuracy > 0.8
    assert "msd" not in record
    said = run("predict", tmp_path / "m", folder / "valid.txt").stdout
    np.testing.assert_array_equal([float(line) for line in said.split()], scores)
    info = json.loads(run("info", tmp_path / "m", "--json").stdout)
    assert (info["model"], info["param graph"]) == ("ConvexHullRanker", "chain")


def test_weights_and_words_are_learnt(folder, tmp_path):
    columns = ["--qid", "qid", "--weight", "weight", "-q"]
    run(*training(folder, tmp_path, *columns, data="train.csv"))
    X, y, qid = rows_of(folder, "train")
    plain = ConvexHullRanker().fit(X, y, qid=qid, sample_weight=np.linspace(0.5, 2, 60))
    np.testing.assert_allclose(load_model(tmp_path / "m").coef_, plain.coef_, rtol=1e-9)
    words = training(folder, tmp_path, "--qid", "qid", "-q", data="train_words.csv")
    assert "the labels are text" in refused(*words)
    run(*words, "--graph", "poor<fair<good")
    plain = ConvexHullRanker(graph=[(0, 1), (1, 2)]).fit(X, y, qid=qid)
    model = load_model(tmp_path / "m")
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    assert set(model.limit_labels_) == set(WORDS)


@pytest.mark.parametrize("regularizer", ["rkhs", "coefficients"])
def test_a_kernel_s_penalty_is_chosen(folder, tmp_path, regularizer):
    kernel = ["--kernel", "rbf", "--gamma", "0.3", "--regularizer", regularizer]
    record = json.loads(run(*training(folder, tmp_path, *kernel, "--json")).stdout)
    X, y, qid = rows_of(folder, "train")
    plain = ConvexHullRanker(kernel=Kernel("rbf", gamma=0.3), regularizer=regularizer)
    plain.fit(X, y, qid=qid)
    assert record["kernel"] == "rbf"
    assert record["kernel features"] == plain.kernel_.n_components_
    new = rows_of(folder, "valid")[0]
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict(new), plain.predict(new))


def test_a_graph_of_absent_classes_is_a_warning_while_pairs_remain(folder, tmp_path):
    said = run(*training(folder, tmp_path, "-q", "--graph", "0<1<7")).stderr
    assert said.startswith("pairrank: warning:")
    assert "absent" in said
    assert load_model(tmp_path / "m").n_edges_ == 6
    result = run(*training(folder, tmp_path, "-q", "--graph", "7<8"), code=1)
    assert "error" in result.stderr.splitlines()[-1]
    assert "train.txt" in result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--nu", "0"], "--nu must be greater than 0 (got 0.0)"),
        (["--nu", "-1"], "--nu must be greater than 0 (got -1.0)"),
        (["--nu", "nan"], "--nu must be a finite number (got nan)"),
        (["--graph", "0<1,1<0"], "cycle: '0' < '1' < '0'"),
        (["-C", "1"], "Model hull has no option -C; use --nu."),
        (
            ["--reduction", "rows"],
            "--reduction; it is an option of ranksvm, rankncg",
        ),
        (["--loss", "x"], "Model hull has no option --loss"),
        (["--solver", "x"], "Model hull has no option --solver"),
        (["--pairs", "p"], "Model hull learns from labels, not from --pairs; use ranksvm, rankncg"),
        (["--regularizer", "l1"], "'l1' is not one of rkhs, coefficients"),
        (["--regularizer", "rkhs"], "--regularizer needs --kernel rbf or poly."),
        (["--search"], "--search needs validation rows: give --valid FILE"),
        (["--search", "--valid", "v", "--nu", "1"], "--search picks --nu itself"),
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(tmp_path, options, said):
    assert said in misused(*training(tmp_path, tmp_path, *options))


@pytest.mark.parametrize("option", [["--nu", "1"], ["--regularizer", "rkhs"]])
@pytest.mark.parametrize("model", ["ranksvm", "rankncg", "rankrls"])
def test_its_options_are_no_other_models(model, option):
    said = misused("train", "x", "-o", "m", "--model", model, *option)
    assert f"Model {model} has no option {option[0]}" in said


def test_too_many_edges_are_refused_with_the_remedy(tmp_path):
    rows = make_rows(0, n_rows=1500, n_queries=1)
    write_svmlight(tmp_path / "many.txt", rows._replace(y=np.arange(1500.0)))
    said = refused(*training(tmp_path, tmp_path, "-q", "--graph", "full", data="many.txt"))
    assert 'use graph="chain"' in said
