"""train --model mprank and svrank: differences kept by their size, from options to evaluation."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import misused, refused, run
from pairrank import MPRank, Pairs, SVRank, load_model, metrics
from pairrank.io import read_svmlight, write_rows, write_svmlight

RANKERS = {"mprank": MPRank, "svrank": SVRank}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("magnitude")
    for seed, name in enumerate(["train", "valid"]):
        rows = make_rows(seed)
        write_svmlight(home / f"{name}.txt", rows)
        write_rows(home / f"{name}.csv", rows._replace(weight=np.linspace(0.5, 2, 60)))
    return home


def rows_of(folder, name):
    rows = read_svmlight(folder / f"{name}.txt")
    return rows.X, rows.y, rows.qid


def training(folder, tmp_path, model, *options, data="train.txt"):
    return ["train", folder / data, "-o", tmp_path / "m", "--model", model, *options]


@pytest.mark.parametrize(
    ("model", "options", "params"),
    [
        ("mprank", [], {}),
        ("mprank", ["-C", "3", "--solver", "cg"], {"C": 3.0, "solver": "cg"}),
        ("mprank", ["--n", "1", "--tol", "1e-4"], {"n": 1, "tol": 1e-4}),
        ("svrank", [], {}),
        ("svrank", ["--epsilon", "0.5", "--n", "2", "-C", "9"], {"epsilon": 0.5, "n": 2, "C": 9.0}),
        ("svrank", ["--epsilon", "0", "--max-iter", "500"], {"epsilon": 0.0, "max_iter": 500}),
    ],
)
def test_the_fit_is_that_of_the_estimator(folder, tmp_path, model, options, params):
    columns = ["--qid", "qid", "--weight", "weight", "--json"]
    train = training(folder, tmp_path, model, *options, *columns, data="train.csv")
    record = json.loads(run(*train).stdout)
    X, y, qid = rows_of(folder, "train")
    plain = RANKERS[model](**params).fit(X, y, qid=qid, sample_weight=np.linspace(0.5, 2, 60))
    saved = load_model(tmp_path / "m")
    np.testing.assert_allclose(saved.coef_, plain.coef_, rtol=1e-7)
    assert {key: saved.get_params()[key] for key in params} == params
    told = {"model": type(plain).__name__, "queries": 6, "levels": 3, "n_pairs": 600, "n": plain.n}
    told |= {"C": plain.C_, "objective": pytest.approx(plain.objective_), "status": plain.status_}
    assert {name: record[name] for name in told} == told
    assert ("epsilon" in record) == (model == "svrank")
    assert ("duality gap" in record) == (plain.n == 1)
    assert plain.n == 2 or 0 <= record["duality gap"] <= plain.tol * record["objective"]


@pytest.mark.parametrize("model", RANKERS)
def test_scores_are_predicted_and_evaluated(folder, tmp_path, model):
    run(*training(folder, tmp_path, model, "-q", "-C", "50"))
    X, y, qid = rows_of(folder, "valid")
    scores = load_model(tmp_path / "m").predict(X)
    said = run("predict", tmp_path / "m", folder / "valid.txt").stdout
    np.testing.assert_array_equal([float(line) for line in said.split()], scores)
    record = json.loads(run("evaluate", tmp_path / "m", folder / "valid.txt", "--json").stdout)
    assert record["msd"] == metrics.msd(y, scores, qid=qid)
    assert record["pairwise_accuracy"] == metrics.pairwise_accuracy(y, scores, qid=qid) > 0.8


@pytest.mark.parametrize("model", RANKERS)
def test_magnitudes_of_comparisons_are_learnt(folder, tmp_path, model):
    X, y, qid = rows_of(folder, "train")
    i, j = np.triu_indices(60, 1)
    i, j = i[qid[i] == qid[j]], j[qid[i] == qid[j]]
    lines = [f"{a},{b},1,{c!r}" for a, b, c in zip(i, j, (y[i] - y[j]).tolist(), strict=True)]
    (tmp_path / "some.csv").write_text("i,j,weight,magnitude\n" + "\n".join(lines) + "\n")
    train = training(folder, tmp_path, model, "--pairs", tmp_path / "some.csv", "--json")
    record = json.loads(run(*train).stdout)
    plain = RANKERS[model]().fit(X, Pairs(i, j, magnitude=y[i] - y[j], n_rows=60))
    np.testing.assert_allclose(load_model(tmp_path / "m").coef_, plain.coef_, rtol=1e-7)
    assert record["n_pairs"] == i.size


@pytest.mark.parametrize("model", RANKERS)
def test_equal_labels_and_words_are_refused(folder, tmp_path, model):
    rows = make_rows(0)
    write_svmlight(tmp_path / "flat.txt", rows._replace(y=np.ones(60)))
    said = refused(*training(tmp_path, tmp_path, model, "-q", data="flat.txt"))
    assert "one class only" in said
    write_rows(tmp_path / "words.csv", rows._replace(y=np.array(list("abc") * 20)))
    said = refused(*training(tmp_path, tmp_path, model, "--qid", "qid", data="words.csv"))
    assert "differences of labels need numbers" in said


@pytest.mark.parametrize("model", RANKERS)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-C", "0"], "-C must be greater than 0 (got 0.0)"),
        (["--n", "3"], "'3' is not one of 1, 2"),
        (["--n", "0"], "'0' is not one of 1, 2"),
        (["--graph", "chain"], "has no option --graph"),
        (["--loss", "x"], "has no option --loss"),
        (["--nu", "1"], "has no option --nu"),
        (["--alpha", "1"], "has no option --alpha"),
        (["--reduction", "rows"], "has no option --reduction"),
        (["--search"], "--search needs validation rows: give --valid FILE"),
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(tmp_path, model, options, said):
    assert said in misused(*training(tmp_path, tmp_path, model, *options))


def test_epsilon_is_svrank_s_alone_and_not_negative(tmp_path):
    for model in ("mprank", "ranksvm", "rankncg", "rankrls", "hull"):
        said = misused(*training(tmp_path, tmp_path, model, "--epsilon", "0.1"))
        assert f"Model {model} has no option --epsilon; it is an option of svrank." in said
    for value, bound in (("-0.1", "at least 0"), ("nan", "a finite number")):
        said = misused(*training(tmp_path, tmp_path, "svrank", "--epsilon", value))
        assert f"--epsilon must be {bound} (got {value})" in said


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("mprank", ["--n", "1", "--solver", "cg"]),
        ("mprank", ["--solver", "bundle"]),
        ("svrank", ["--n", "2", "--solver", "bundle"]),
    ],
)
def test_a_solver_of_the_other_power_is_refused(folder, tmp_path, model, options):
    said = misused(*training(folder, tmp_path, model, *options, "-q"))
    assert "--solver (for n = " in said
