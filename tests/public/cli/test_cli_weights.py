"""Row weights, weights by role and censored times at the command line: columns, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from cli_rows import weighted_rows
from cli_runs import misused, record_of, refused, run
from pairrank import (
    ConvexHullRanker,
    Pairs,
    RankBoost,
    RankNCG,
    RankRLS,
    RankSVM,
    load_model,
    survival_target,
)
from pairrank.io import read_rows
from pairrank.metrics import auc_score, pairwise_accuracy
from pairrank.survival import concordance_index

WEIGHT = ["--qid", "qid", "--weight", "weight"]
ROLES = ["--winner-weight", "winner_weight", "--loser-weight", "loser_weight"]
COLUMNS = [*WEIGHT, *ROLES]


def layout(rows):
    return {
        "qid": rows.qid,
        "sample_weight": rows.weight,
        "winner_weight": rows.winner_weight,
        "loser_weight": rows.loser_weight,
    }


@pytest.mark.parametrize(
    ("model", "ranker", "suffix"),
    [
        ("ranksvm", RankSVM(), "csv"),
        ("rankncg", RankNCG(), "parquet"),
        ("rankboost", RankBoost(), "csv"),
    ],
)
def test_a_model_is_trained_and_evaluated_with_them(suffix, model, ranker, folder, tmp_path):
    data = [folder / f"{name}_weighted.{suffix}" for name in ("train", "test")]
    record = record_of("train", data[0], "-o", tmp_path / "m", "--model", model, *COLUMNS)
    rows, test = weighted_rows(0), weighted_rows(2)
    ranker.fit(rows.X, rows.y, **layout(rows))
    assert record["n_pairs"] == ranker.n_pairs_
    wins, loses = test.winner_weight > 0, test.loser_weight > 0
    above = (test.y[:, None] > test.y) & (test.qid[:, None] == test.qid)
    wanted = pairwise_accuracy(test.y, ranker.predict(test.X), **layout(test))
    assert record_of("evaluate", tmp_path / "m", data[1], *COLUMNS) == {
        "pairwise_accuracy": pytest.approx(wanted, rel=1e-14),
        "n_pairs": (above & wins[:, None] & loses).sum(),
    }


@pytest.mark.parametrize(
    ("model", "ranker"), [("rankrls", RankRLS()), ("hull", ConvexHullRanker())]
)
def test_models_without_roles_learn_row_weights(model, ranker, folder, tmp_path):
    train = ["train", folder / "train_weighted.csv", "-o", tmp_path / "m", "--model", model, "-q"]
    run(*train, *WEIGHT, "--drop", "winner_weight,loser_weight")
    rows = weighted_rows(0)
    ranker.fit(rows.X, rows.y, qid=rows.qid, sample_weight=rows.weight)
    np.testing.assert_allclose(load_model(tmp_path / "m").coef_, ranker.coef_, rtol=1e-9)


def test_a_search_judges_by_them(folder, tmp_path):
    valid = ["--valid", folder / "test_weighted.csv"]
    train = ["train", folder / "train_weighted.csv", "-o", tmp_path / "m", *COLUMNS, *valid]
    record = record_of(*train, "--search")
    rows, test = weighted_rows(0), weighted_rows(2)
    models = [RankSVM(2.0**power).fit(rows.X, rows.y, **layout(rows)) for power in range(-15, 11)]
    scores = [model.score(test.X, test.y, **layout(test)) for model in models]
    assert record["valid pairwise_accuracy"] == max(scores)
    assert record["C"] == 2.0 ** (np.argmax(scores) - 15)
    run(*train, "-q", "--metric", "mean_ndcg")


def test_comparisons_take_them(folder, tmp_path):
    rows = weighted_rows(0)
    i, j = np.nonzero((rows.y[:, None] > rows.y) & (rows.qid[:, None] == rows.qid))
    lines = [f"{a},{b}" for a, b in zip(i, j, strict=True)]
    (tmp_path / "pairs.csv").write_text("i,j\n" + "\n".join(lines) + "\n")
    data = [folder / "train_weighted.csv", *COLUMNS, "--pairs", tmp_path / "pairs.csv"]
    run("train", *data, "-o", tmp_path / "m", "-q")
    wanted = RankSVM().fit(rows.X, Pairs(i, j, n_rows=60), **layout(rows))
    np.testing.assert_array_equal(load_model(tmp_path / "m").coef_, wanted.coef_)
    found = record_of("evaluate", tmp_path / "m", *data)
    assert found["n_pairs"] == wanted.n_pairs_
    accuracy = pairwise_accuracy(rows.y, wanted.predict(rows.X), **layout(rows))
    assert found["pairwise_accuracy"] == pytest.approx(accuracy)


def test_evaluate_weighs_pair_metrics_only(folder):
    rows = weighted_rows(2)
    scores = load_model(folder / "model").predict(rows.X)
    data = ["evaluate", folder / "model", folder / "test_weighted.csv"]
    drop = ["--drop", "winner_weight,loser_weight"]
    weighted = record_of(*data, *WEIGHT, *drop)
    plain = record_of(*data, "--qid", "qid", "--drop", "weight,winner_weight,loser_weight")
    same = {name for name in plain if weighted[name] == plain[name]}
    assert same == {"mean_ndcg", "ndcg@10", "n_pairs"}
    found = record_of(*data, *COLUMNS, "--metric", "auc")["auc"]
    assert found == auc_score(rows.y, scores, **layout(rows))
    said = misused(*data, *COLUMNS, "--metric", "map")
    assert "taken by --metric pairwise_accuracy, wmw, auc, log_loss only." in said


@pytest.mark.parametrize("role", ["weight", "winner-weight", "loser-weight"])
def test_svmlight_text_has_no_such_column(role, folder, tmp_path):
    said = refused("train", folder / "train.txt", "-o", tmp_path / "m", f"--{role}", "w")
    assert "svmlight text cannot hold row weights" in said
    assert "no column 'w'; give CSV or Parquet" in said


def test_they_are_converted_and_not_features_by_mistake(folder, tmp_path):
    data = folder / "train_weighted.csv"
    run("convert", data, tmp_path / "back.parquet", *COLUMNS)
    named = {"weight": "weight", "winner_weight": "winner_weight", "loser_weight": "loser_weight"}
    back = read_rows(tmp_path / "back.parquet", label="label", qid="qid", **named)
    for name in named:
        np.testing.assert_array_equal(getattr(back, name), getattr(weighted_rows(0), name))
    said = refused(
        "convert", data, tmp_path / "back.txt", "--qid", "qid", *ROLES, "--drop", "weight"
    )
    assert "svmlight text cannot hold row weights in the pairs won" in said
    said = refused("train", data, "-o", tmp_path / "m", *WEIGHT)
    assert "column 'winner_weight' would be a feature; pass --winner-weight" in said


@pytest.fixture(scope="module")
def censored(tmp_path_factory):
    """A CSV file of censored times, with a column of labels too, and its numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)).round(3)
    time = np.ceil(10 * rng.exponential(np.exp(-X[:, 0])))
    event = rng.random(80) < 0.6
    path = tmp_path_factory.mktemp("survival") / "rows.csv"
    lines = ["a,b,c,label,days,died"]
    lines += [
        f"{','.join(map(str, x))},7,{t:g},{int(e)}" for x, t, e in zip(X, time, event, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path, X, event, time


CENSORED = ("--time", "days", "--event", "died")


def test_times_are_trained_on_and_judged(censored, tmp_path):
    path, X, event, time = censored
    model = tmp_path / "model"
    run("train", path, *CENSORED, "-o", model, "--quiet")
    fitted = RankSVM().fit(X, **survival_target(event, time))
    np.testing.assert_array_equal(load_model(model).coef_, fitted.coef_)
    shown = record_of("evaluate", model, path, *CENSORED)
    wanted = concordance_index(event, time, fitted.predict(X), tied_tol=0.0)
    assert shown["n_pairs"] == sum(wanted[1:4])
    assert shown["pairwise_accuracy"] == pytest.approx(wanted.value, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--time", "days"), "--time and --event need each other"),
        (("--event", "died"), "--time and --event need each other"),
        ((*CENSORED, "--winner-weight", "a"), "leave out --winner-weight"),
        ((*CENSORED, "--pairs", "-"), "leave out --pairs"),
        ((*CENSORED, "--model", "rankrls"), "Model rankrls does not take --event"),
    ],
)
def test_options_that_times_refuse_are_named(censored, tmp_path, arguments, message):
    assert message in misused("train", censored[0], *arguments, "-o", tmp_path / "model")
