"""train --model: every model of the table, its own options, and no other's."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import misused, run
from pairrank import ConvexHullRanker, MPRank, RankSVM, load_model
from pairrank.io import read_svmlight, write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("models")
    for seed, name in enumerate(["train", "valid"]):
        write_svmlight(home / f"{name}.txt", make_rows(seed))
    return home


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_losses_of_ranksvm_are_offered(folder, tmp_path, loss):
    assert loss in " ".join(run("train", "--help").stdout.split())
    run("train", folder / "train.txt", "-o", tmp_path / "m", "-q", "--loss", loss)


@pytest.mark.parametrize("loss", ["logistic", "probit", "raykar"])
def test_losses_of_rankncg_are_offered(folder, tmp_path, loss):
    assert loss in " ".join(run("train", "--help", "--model", "rankncg").stdout.split())
    model = ["--model", "rankncg", "--loss", loss]
    run("train", folder / "train.txt", "-o", tmp_path / "m", "-q", *model)


def test_the_hinge_is_reached_and_its_gap_shown(folder, tmp_path):
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "--loss", "hinge"]
    record = json.loads(run(*train, "--json").stdout)
    rows = read_svmlight(folder / "train.txt")
    plain = RankSVM(loss="hinge").fit(rows.X, rows.y, qid=rows.qid)
    np.testing.assert_allclose(load_model(tmp_path / "m").coef_, plain.coef_, rtol=1e-9)
    assert 0 <= record["duality gap"] <= plain.tol * record["objective"]
    said = run(*train).stderr
    assert " gap " in said
    assert "gradient" not in said


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--alpha", "1"], ["Model ranksvm has no option --alpha; use -C."]),
        (
            ["--eps", "0.1"],
            ["Model ranksvm has no option --eps; it is an option of rankncg, pairwise"],
        ),
        (["--model", "rankncg", "-C", "1"], ["Model rankncg has no option -C; use --alpha."]),
        (["--model", "rankncg", "--eps", "0"], ["--eps must be greater than 0 (got 0.0)"]),
        (["--model", "rankncg", "--eps", "1"], ["--eps must be below 1, got 1.0"]),
        (
            ["--model", "rankncg", "--eps", "nan"],
            ["--eps must be a finite number (got nan)"],
        ),
        (
            ["--model", "rankncg", "--alpha", "0"],
            ["--alpha must be greater than 0"],
        ),
        (
            ["--model", "rankncg", "--search"],
            ["--search needs validation rows"],
        ),
        (["--search", "--valid", "x", "-C", "2"], ["--search picks -C itself"]),
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(tmp_path, options, names):
    said = misused("train", "nowhere.txt", "-o", tmp_path / "m", *options)
    assert all(name in said for name in names), said


@pytest.mark.parametrize(
    ("model", "ranker"),
    [
        ("ranksvm", RankSVM(C=1e3, patience=1)),
        ("hull", ConvexHullRanker(patience=1)),
        ("mprank", MPRank(patience=1, n=1)),
    ],
)
def test_patience_stops_a_fit_by_the_metric_on_the_validation_rows(tmp_path, model, ranker):
    parts = [make_rows(seed) for seed in (0, 1)]
    for name, rows in zip(("train", "valid"), parts, strict=True):
        write_svmlight(tmp_path / f"{name}.txt", rows)
    given = {name: ["-C", "1000"] for name in ("ranksvm",)} | {"mprank": ["--n", "1"]}
    command = [
        *("train", tmp_path / "train.txt", "-o", tmp_path / "m", "--model", model, "--json"),
        *("--valid", tmp_path / "valid.txt", "--metric", "mean_ndcg", "--patience", "1"),
        *given.get(model, []),
    ]
    record = json.loads(run(*command).stdout)
    train, valid = parts
    ranker.set_params(validation_metric="mean_ndcg").fit(
        train.X, train.y, qid=train.qid, X_val=valid.X, y_val=valid.y, qid_val=valid.qid
    )
    np.testing.assert_allclose(load_model(tmp_path / "m").coef_, ranker.coef_, rtol=1e-9)
    assert record["best iteration"] == ranker.best_iteration_
    assert record["valid mean_ndcg"] == pytest.approx(
        ranker.validation_scores_[ranker.best_iteration_]
    )
    assert "validation error" not in record


def test_patience_without_validation_rows_is_refused(tmp_path):
    write_svmlight(tmp_path / "train.txt", make_rows(0))
    said = misused("train", tmp_path / "train.txt", "-o", tmp_path / "m", "--patience", "2")
    assert "--patience needs validation rows: give --valid FILE." in said
