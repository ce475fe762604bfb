"""train --model rankboost: options, early stopping, search, comparisons."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from cli_rows import make_rows
from cli_runs import misused, run
from pairrank import Pairs, RankBoost, load_model
from pairrank.io import read_svmlight, write_rows, write_svmlight

FIRST = [10 * query + row for query in range(6) for row in range(5)]
"""The preferred row of each comparison; the other one is five rows below, in the same query."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("boosting")
    for seed, name in enumerate(["train", "valid"]):
        rows = make_rows(seed)
        write_svmlight(home / f"{name}.txt", rows)
        weights = rows._replace(winner_weight=np.linspace(0.0, 2.0, 60))
        write_rows(home / f"{name}.csv", weights)
    (home / "pairs.csv").write_text("i,j\n" + "".join(f"{k},{k + 5}\n" for k in FIRST))
    return home


def rows_of(folder, name):
    rows = read_svmlight(folder / f"{name}.txt")
    return rows.X, rows.y, rows.qid


def training(folder, tmp_path, *options, data="train.txt"):
    return ["train", folder / data, "-o", tmp_path / "m", "--model", "rankboost", *options]


@pytest.mark.parametrize(
    ("options", "params"),
    [
        ([], {}),
        (["--n-estimators", "7", "--reduction", "query"],
         {"n_estimators": 7, "reduction": "query"}),
        (["--graph", "chain"], {"graph": "chain"}),
        (["--early-stopping", "--patience", "4", "--seed", "3"],
         {"early_stopping": True, "patience": 4, "random_state": 3}),
    ],
)  # fmt: skip
def test_the_fit_is_that_of_the_estimator(folder, tmp_path, options, params):
    record = json.loads(run(*training(folder, tmp_path, *options, "--json")).stdout)
    X, y, qid = rows_of(folder, "train")
    plain = RankBoost(**params).fit(X, y, qid=qid)
    saved = load_model(tmp_path / "m")
    np.testing.assert_array_equal(saved.predict(X), plain.predict(X))
    assert {key: saved.get_params()[key] for key in params} == params
    told = {"model": "RankBoost", "n_estimators": plain.n_estimators_, "status": plain.status_}
    told |= {"objective": pytest.approx(plain.objective_), "n_pairs": plain.n_pairs_}
    assert {name: record[name] for name in told} == told
    scores = run("predict", tmp_path / "m", folder / "valid.txt").stdout.split()
    np.testing.assert_array_equal(
        np.array(scores, float), plain.predict(rows_of(folder, "valid")[0])
    )


def test_weights_by_role_are_columns(folder, tmp_path):
    options = ["--qid", "qid", "--winner-weight", "winner_weight", "-q"]
    run(*training(folder, tmp_path, *options, data="train.csv"))
    X, y, qid = rows_of(folder, "train")
    plain = RankBoost().fit(X, y, qid=qid, winner_weight=np.linspace(0.0, 2.0, 60))
    named = pd.DataFrame(X, columns=[f"f{k}" for k in range(4)])
    found = load_model(tmp_path / "m").predict(named)
    np.testing.assert_allclose(found, plain.predict(X), rtol=1e-12)


def test_comparisons_are_learnt(folder, tmp_path):
    run(*training(folder, tmp_path, "--pairs", folder / "pairs.csv", "-q"))
    X, _, qid = rows_of(folder, "train")
    plain = RankBoost().fit(X, Pairs(FIRST, np.array(FIRST) + 5, n_rows=60), qid=qid)
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict(X), plain.predict(X))


def test_early_stopping_watches_the_validation_rows(folder, tmp_path):
    options = ["--early-stopping", "--metric", "ndcg@3", "--valid", folder / "valid.txt", "--json"]
    record = json.loads(run(*training(folder, tmp_path, *options)).stdout)
    X, y, qid = rows_of(folder, "valid")
    plain = RankBoost(early_stopping=True, validation_metric="ndcg@3")
    train = rows_of(folder, "train")
    plain.fit(train[0], train[1], qid=train[2], X_val=X, y_val=y, qid_val=qid)
    assert record["n_estimators"] == record["best iteration"] == plain.n_estimators_
    assert record["valid ndcg@3"] == pytest.approx(plain.validation_scores_.max())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--patience", "3"], "--patience needs --early-stopping"),
        (["--validation-fraction", "0.2"], "--validation-fraction needs --early-stopping"),
        (["-C", "3"], "Model rankboost has no option -C; use --n-estimators"),
        (["--n-estimators", "0"], "--n-estimators must be at least 1"),
        (["--search", "--n-estimators", "5"], "--search picks --n-estimators itself"),
    ],
)
def test_wrong_options_say_what_to_do(folder, tmp_path, options, message):
    assert message in misused(*training(folder, tmp_path, *options))
