"""Weights by role at the command line: columns of CSV and Parquet, and who refuses them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import misused, refused, run
from pairrank import Pairs, RankNCG, RankSVM, load_model
from pairrank.io import read_rows, write_rows
from pairrank.metrics import pairwise_accuracy

ROLES = ["--winner-weight", "winner_weight", "--loser-weight", "loser_weight"]
COLUMNS = ["--qid", "qid", *ROLES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("roles")
    for seed, name in enumerate(("train", "test")):
        rows = weighted(seed)
        write_rows(home / f"{name}.csv", rows)
        write_rows(home / f"{name}.parquet", rows)
        write_rows(home / f"{name}.txt", make_rows(seed))
    return home


def weighted(seed):
    rows = make_rows(seed)
    wins = np.where(np.arange(60) % 3 == 0, 0.0, np.linspace(0.5, 2, 60))
    return rows._replace(winner_weight=wins, loser_weight=np.linspace(2, 1, 60))


def layout(rows):
    return {
        "qid": rows.qid,
        "winner_weight": rows.winner_weight,
        "loser_weight": rows.loser_weight,
    }


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize(("model", "ranker"), [("ranksvm", RankSVM()), ("rankncg", RankNCG())])
def test_a_model_is_trained_and_evaluated_with_them(suffix, model, ranker, folder, tmp_path):
    data = folder / f"train.{suffix}"
    record = json.loads(
        run("train", data, "-o", tmp_path / "m", "--model", model, *COLUMNS, "--json").stdout
    )
    rows, test = weighted(0), weighted(1)
    ranker.fit(rows.X, rows.y, **layout(rows))
    np.testing.assert_array_equal(load_model(tmp_path / "m").coef_, ranker.coef_)
    assert record["n_pairs"] == ranker.n_pairs_
    found = json.loads(
        run("evaluate", tmp_path / "m", folder / f"test.{suffix}", *COLUMNS, "--json").stdout
    )
    wanted = pairwise_accuracy(test.y, ranker.predict(test.X), **layout(test))
    assert set(found) == {"pairwise_accuracy", "n_pairs"}
    assert found["pairwise_accuracy"] == wanted
    wins, loses = test.winner_weight > 0, test.loser_weight > 0
    above = (test.y[:, None] > test.y) & (test.qid[:, None] == test.qid)
    assert found["n_pairs"] == (above & wins[:, None] & loses).sum()


def test_a_search_judges_by_them(folder, tmp_path):
    valid = ["--valid", folder / "test.csv", "--search", "--json"]
    record = json.loads(
        run("train", folder / "train.csv", "-o", tmp_path / "m", *COLUMNS, *valid).stdout
    )
    rows, test = weighted(0), weighted(1)
    scores = [
        RankSVM(2.0**power).fit(rows.X, rows.y, **layout(rows)).score(
            test.X, test.y, **layout(test)
        )
        for power in range(-15, 11)
    ]  # fmt: skip
    assert record["valid pairwise_accuracy"] == max(scores)
    assert record["C"] == 2.0 ** (np.argmax(scores) - 15)


def test_other_metrics_judge_the_validation_rows_without_them(folder, tmp_path):
    valid = ["--valid", folder / "test.csv", "--metric", "mean_ndcg", "--json"]
    run("train", folder / "train.csv", "-o", tmp_path / "m", *COLUMNS, *valid)


def test_comparisons_take_them(folder, tmp_path):
    rows = weighted(0)
    i, j = np.nonzero((rows.y[:, None] > rows.y) & (rows.qid[:, None] == rows.qid))
    lines = [f"{a},{b}" for a, b in zip(i, j, strict=True)]
    (tmp_path / "pairs.csv").write_text("i,j\n" + "\n".join(lines) + "\n")
    pairs = ["--pairs", tmp_path / "pairs.csv", "--json"]
    run("train", folder / "train.csv", "-o", tmp_path / "m", *COLUMNS, *pairs)
    wanted = RankSVM().fit(rows.X, Pairs(i, j, n_rows=60), **layout(rows))
    np.testing.assert_array_equal(load_model(tmp_path / "m").coef_, wanted.coef_)
    found = json.loads(
        run("evaluate", tmp_path / "m", folder / "train.csv", *COLUMNS, *pairs).stdout
    )
    assert found["n_pairs"] == wanted.n_pairs_
    accuracy = pairwise_accuracy(rows.y, wanted.predict(rows.X), **layout(rows))
    assert found["pairwise_accuracy"] == pytest.approx(accuracy)


@pytest.mark.parametrize("model", ["rankrls", "mprank", "svrank", "hull"])
@pytest.mark.parametrize("role", ["winner-weight", "loser-weight"])
def test_models_that_do_not_know_them_say_so(model, role, folder, tmp_path):
    said = misused(
        "train", folder / "train.csv", "-o", tmp_path / "m", "--model", model, f"--{role}", "w"
    )
    assert f"Model {model} does not take --{role}:" in said
    assert not (tmp_path / "m").exists()


def test_metrics_that_do_not_know_them_say_so(folder, tmp_path):
    run("train", folder / "train.csv", "-o", tmp_path / "m", *COLUMNS, "-q")
    asked = ["--metric", "kendall_tau", *COLUMNS]
    said = misused("evaluate", tmp_path / "m", folder / "test.csv", *asked)
    assert "--winner-weight and --loser-weight: taken by --metric pairwise_accuracy" in said


@pytest.mark.parametrize("role", ["weight", "winner-weight", "loser-weight"])
def test_svmlight_text_has_no_such_column(role, folder, tmp_path):
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", f"--{role}", "w"]
    said = refused(*train)
    assert "svmlight text cannot hold row weights" in said
    assert "no column 'w'; give CSV or Parquet" in said


def test_they_are_converted_and_not_features_by_mistake(folder, tmp_path):
    run("convert", folder / "train.csv", tmp_path / "back.parquet", *COLUMNS)
    back = read_rows(
        tmp_path / "back.parquet", label="label", qid="qid", winner_weight="winner_weight",
        loser_weight="loser_weight",
    )  # fmt: skip
    np.testing.assert_array_equal(back.winner_weight, weighted(0).winner_weight)
    np.testing.assert_array_equal(back.loser_weight, weighted(0).loser_weight)
    said = refused("convert", folder / "train.csv", tmp_path / "back.txt", *COLUMNS)
    assert "svmlight text cannot hold row weights in the pairs won" in said
    said = refused("train", folder / "train.csv", "-o", tmp_path / "m", "--qid", "qid")
    assert "column 'winner_weight' would be a feature; pass --winner-weight" in said


def test_bad_weights_are_named(folder, tmp_path):
    text = "label,w,a\n1,1,2\n0,-1,3\n"
    (tmp_path / "bad.csv").write_text(text)
    said = refused("train", tmp_path / "bad.csv", "-o", tmp_path / "m", "--winner-weight", "w")
    assert "winner_weight[1] = -1.0 is negative" in said
