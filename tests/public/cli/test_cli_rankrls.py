"""train --model rankrls: least squares over differences, stopped by validation rows or not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import misused, refused, run
from pairrank import Pairs, RankRLS, load_model, metrics
from pairrank.io import read_svmlight, write_rows, write_svmlight

EARLY = ["iteration", "hybrid"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("rankrls")
    for seed, name in enumerate(["train", "valid"]):
        rows = make_rows(seed)
        write_svmlight(home / f"{name}.txt", rows)
        write_rows(home / f"{name}.csv", rows._replace(weight=np.linspace(0.5, 2, 60)))
        i, j, magnitude = differences(rows.y, rows.qid)
        lines = [f"{a},{b},1,{c!r}" for a, b, c in zip(i, j, magnitude, strict=True)]
        (home / f"{name}.pairs").write_text("i,j,weight,magnitude\n" + "\n".join(lines) + "\n")
    return home


def differences(y, qid):
    """Return the comparisons of every two rows of a query, by the differences of their labels."""
    first, second = np.triu_indices(y.size, 1)
    joined = qid[first] == qid[second]
    i, j = first[joined], second[joined]
    return i.tolist(), j.tolist(), (y[i] - y[j]).tolist()


def rows_of(folder, name):
    rows = read_svmlight(folder / f"{name}.txt")
    return rows.X, rows.y, rows.qid


def training(folder, tmp_path, *options, data="train.txt"):
    return ["train", folder / data, "-o", tmp_path / "m", "--model", "rankrls", *options]


def test_the_fit_is_that_of_the_estimator(folder, tmp_path):
    options = ["--alpha", "0.5", "--solver", "cg", "--tol", "1e-7", "--max-iter", "99"]
    record = json.loads(run(*training(folder, tmp_path, *options, "--json")).stdout)
    X, y, qid = rows_of(folder, "train")
    plain = RankRLS(alpha=0.5, solver="cg", tol=1e-7, max_iter=99).fit(X, y, qid=qid)
    np.testing.assert_array_equal(load_model(tmp_path / "m").coef_, plain.coef_)
    wanted = {"queries": 6, "levels": 3, "n_pairs": 600, "regularization": "tikhonov", "alpha": 0.5}
    assert {name: record[name] for name in wanted} == wanted
    assert record["n_pairs"] == plain.n_pairs_
    assert "best iteration" not in record


@pytest.mark.parametrize("way", EARLY)
def test_validation_rows_stop_the_descent(folder, tmp_path, way):
    columns = ["--qid", "qid", "--weight", "weight"]
    options = ["--regularization", way, "--patience", "3", "--valid", folder / "valid.csv"]
    train = training(folder, tmp_path, *options, *columns, "--json", data="train.csv")
    record = json.loads(run(*train).stdout)
    X, y, qid = rows_of(folder, "train")
    X_val, y_val, qid_val = rows_of(folder, "valid")
    weight = np.linspace(0.5, 2, 60)
    valid = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val, "sample_weight_val": weight}
    plain = RankRLS(regularization=way, patience=3)
    plain.fit(X, y, qid=qid, sample_weight=weight, **valid)
    np.testing.assert_allclose(load_model(tmp_path / "m").coef_, plain.coef_, rtol=1e-9)
    assert record["best iteration"] == plain.best_iteration_
    assert record["validation error"] == pytest.approx(1 - plain.validation_scores_.max())
    assert ("alpha" in record) == (way == "hybrid")
    assert record["valid pairwise_accuracy"] > 0.8


@pytest.mark.parametrize("way", EARLY)
def test_without_validation_rows_the_estimator_draws_its_own(folder, tmp_path, way):
    options = ["--regularization", way, "--seed", "5", "--json"]
    record = json.loads(run(*training(folder, tmp_path, *options)).stdout)
    X, y, qid = rows_of(folder, "train")
    plain = RankRLS(regularization=way, random_state=5).fit(X, y, qid=qid)
    np.testing.assert_array_equal(load_model(tmp_path / "m").coef_, plain.coef_)
    assert record["n_pairs"] == plain.n_pairs_ < 600
    assert record["best iteration"] == plain.best_iteration_


def test_equal_labels_are_refused(folder, tmp_path):
    rows = make_rows(0)
    write_svmlight(tmp_path / "flat.txt", rows._replace(y=np.ones(60)))
    assert "one class only" in refused(*training(tmp_path, tmp_path, "-q", data="flat.txt"))
    run(*training(folder, tmp_path, "-q"))
    assert "one class only" in refused("evaluate", tmp_path / "m", tmp_path / "flat.txt")
    early = training(tmp_path, tmp_path, "--regularization", "iteration", data="flat.txt")
    assert "X_val" in refused(*early, "-q")
    valid = ["--valid", tmp_path / "flat.txt"]
    assert "flat.txt" in refused(*training(folder, tmp_path, *valid))


def test_text_has_no_differences(tmp_path):
    rows = make_rows(0)
    write_rows(tmp_path / "words.csv", rows._replace(y=np.array(list("abc") * 20)))
    said = refused(*training(tmp_path, tmp_path, "--qid", "qid", data="words.csv"))
    assert "words.csv" in said
    assert "differences of labels need numbers" in said


@pytest.mark.parametrize("way", ["tikhonov", "hybrid"])
def test_magnitudes_are_learnt(folder, tmp_path, way):
    options = ["--pairs", folder / "train.pairs", "--regularization", way, "--json"]
    if way == "hybrid":
        options += ["--valid", folder / "valid.txt", "--valid-pairs", folder / "valid.pairs"]
    record = json.loads(run(*training(folder, tmp_path, *options)).stdout)
    X, y, qid = rows_of(folder, "train")
    X_val, y_val, qid_val = rows_of(folder, "valid")
    i, j, magnitude = differences(y, qid)
    pairs = Pairs(i, j, magnitude=magnitude, n_rows=60)
    i, j, magnitude = differences(y_val, qid_val)
    valid = {"X_val": X_val, "y_val": Pairs(i, j, magnitude=magnitude, n_rows=60)}
    plain = RankRLS(regularization=way).fit(X, pairs, **(valid if way == "hybrid" else {}))
    np.testing.assert_allclose(load_model(tmp_path / "m").coef_, plain.coef_, rtol=1e-9)
    assert record["n_pairs"] == 270
    assert "levels" not in record


def test_comparisons_with_magnitudes_are_judged_by_their_sign(folder, tmp_path):
    run(*training(folder, tmp_path, "-q"))
    X, y, qid = rows_of(folder, "valid")
    by_pairs = ["--pairs", folder / "valid.pairs", "--json"]
    record = json.loads(run("evaluate", tmp_path / "m", folder / "valid.txt", *by_pairs).stdout)
    scores = load_model(tmp_path / "m").predict(X)
    accuracy = metrics.pairwise_accuracy(y, scores, qid=qid)
    n_comparisons = len(differences(y, qid)[0])
    assert record == {"pairwise_accuracy": pytest.approx(accuracy), "n_pairs": n_comparisons}
    (tmp_path / "ties.csv").write_text("0,1,1,0\n")
    ties = ["--pairs", tmp_path / "ties.csv"]
    said = refused("evaluate", tmp_path / "m", folder / "valid.txt", *ties)
    assert "ties.csv: every comparison is a tie" in said


@pytest.mark.parametrize("model", ["ranksvm", "rankncg"])
def test_models_of_preferences_take_ties_and_no_other_magnitude(folder, tmp_path, model):
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "--model", model, "-q", "--pairs"]
    said = refused(*train, folder / "train.pairs")
    assert "train.pairs: magnitude[" in said
    assert "use RankRLS" in said
    assert not (tmp_path / "m").exists()
    (tmp_path / "ties.csv").write_text("i,j,magnitude\n0,1,0\n2,1,1\n")
    run(*train, tmp_path / "ties.csv")
    assert load_model(tmp_path / "m").n_pairs_ == 2


def test_evaluate_shows_msd_for_models_that_learn_differences(folder, tmp_path):
    run(*training(folder, tmp_path, "-q"))
    data = [tmp_path / "m", folder / "valid.txt"]
    record = json.loads(run("evaluate", *data, "--json").stdout)
    X, y, qid = rows_of(folder, "valid")
    scores = load_model(tmp_path / "m").predict(X)
    shown = ["pairwise_accuracy", "mean_ndcg", "ndcg@10", "kendall_tau", "msd", "n_pairs"]
    assert list(record) == shown
    assert record["msd"] == metrics.msd(y, scores, qid=qid)
    wmw = json.loads(run("evaluate", *data, "--json", "--metric", "wmw", "--graph", "chain").stdout)
    assert wmw["wmw"] == metrics.wmw_score(y, scores, qid=qid, graph="chain")
    assert json.loads(run("info", tmp_path / "m", "--json").stdout)["model"] == "RankRLS"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--graph", "chain"],
            "--graph; it is an option of ranksvm, rankncg, pairwise, ",
        ),
        (["--loss", "x"], "Model rankrls has no option --loss"),
        (["--reduction", "query"], "Model rankrls has no option --reduction"),
        (["--pair-sum", "auto"], "Model rankrls has no option --pair-sum"),
        (["--eps", "0.1"], "Model rankrls has no option --eps"),
        (["-C", "1"], "Model rankrls has no option -C; use --alpha."),
        (["--regularization", "ridge"], "'ridge' is not one of tikhonov, iteration, hybrid"),
        (
            ["--patience", "0", "--regularization", "iteration"],
            "must be at least 1",
        ),
        (["--patience", "4"], "--patience needs --regularization iteration or hybrid."),
        (
            ["--regularization", "iteration", "--alpha", "2"],
            "--alpha needs --regularization",
        ),
        (
            ["--regularization", "iteration", "--search", "--valid", "v"],
            "--search needs --regularization tikhonov or hybrid.",
        ),
        (["--search"], "--search needs validation rows: give --valid FILE"),
        (
            ["--valid", "v", "--valid-pairs", "p", "--metric", "msd"],
            "cannot be judged by msd",
        ),
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(tmp_path, options, said):
    assert said in misused(*training(tmp_path, tmp_path, *options))


@pytest.mark.parametrize(
    "option", [["--regularization", "hybrid"], ["--validation-fraction", "0.2"]]
)
@pytest.mark.parametrize("model", ["ranksvm", "rankncg"])
def test_its_options_are_no_other_models(model, option):
    said = misused("train", "x", "-o", "m", "--model", model, *option)
    assert f"Model {model} has no option {option[0]}" in said


def test_a_direct_solution_takes_no_iterations_to_stop(folder, tmp_path):
    options = ["--regularization", "iteration", "--solver", "direct"]
    assert "--solver direct has none: use --solver cg" in misused(
        *training(folder, tmp_path, *options)
    )
