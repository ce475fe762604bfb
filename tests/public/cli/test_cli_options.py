"""The options of train, derived from the estimators: types, choices, defaults, help, panels."""

from __future__ import annotations

import json
import re

import pytest

from cli_rows import make_rows
from cli_runs import misused, refused, run
from pairrank import load_model
from pairrank.io import read_svmlight, write_rows, write_svmlight
from pairrank.metrics import tube_cost


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("options")
    for seed, name in enumerate(["train", "valid"]):
        write_svmlight(home / f"{name}.txt", make_rows(seed))
        write_rows(home / f"{name}.csv", make_rows(seed))
    run("train", home / "train.txt", "-o", home / "svm", "-q")
    tube = ["--model", "svrank", "--epsilon", 0.7, "--n", 2]
    run("train", home / "train.txt", "-o", home / "tube", "-q", *tube)
    return home


def help_of(*arguments):
    """Return the help of train in one line, and the titles of its panels in their order."""
    text = run("train", "--help", *arguments).stdout
    panels = re.findall(r"[╭+][─-] (\w+) [─-]", text)
    return " ".join(re.sub("[│|╭╮╰╯─]", " ", text).split()), panels


def test_help_without_a_model_is_that_of_the_default():
    assert help_of() == help_of("--model", "ranksvm")
    assert help_of("--model=hull") == help_of("--model", "hull")
    assert "--nu" in help_of("--model", "hull")[0]
    assert "--nu" not in help_of()[0]


def test_what_happens_without_an_option_is_said():
    shown, _ = help_of()
    assert "scores that are not linear in x; if left out, linear." in shown
    assert 'Of "rbf" and "poly", as in scikit learn: if left out, 1/n_features' in shown


def test_stochastic_steps_are_a_solver_of_train(folder, tmp_path):
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "-q", "--solver", "sgd"]
    run(*train, "--model", "rankncg", "--learning-rate", "pegasos", "--seed", 3, "--eta0", 0.5)
    ranker = load_model(tmp_path / "m")
    assert repr(ranker) == "RankNCG(random_state=3, solver=SGD('pegasos', eta0=0.5))"
    assert load_model(tmp_path / "m").status_ == "settled"
    assert "--eta0 must be greater than 0 (got 0.0)." in misused(*train, "--eta0", 0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-C", "-1"], "-C must be greater than 0 (got -1.0)."),
        (["-C", "much"], "'much' is not a number."),
        (["--seed", "-1"], "--seed must be at least 0 (got -1)."),
        (["--seed", "1.5"], "'1.5' is not a whole number."),
        (["--loss", "hinge", "--solver", "tron"], 'use --solver bundle (or "auto")'),
        (["--model", "rankncg", "--loss", "hinge"], "'hinge' is not one of logistic, probit"),
        (["--model", "pairwise", "--loss", "x"], "'x' is not one of squared_hinge, hinge"),
        (["--model", "nosuch"], "'nosuch' is not one of ranksvm, rankncg"),
        (["--nosuch", "1"], "No such option: --nosuch"),
        (
            ["--metric", "accuracy"],
            "no metric 'accuracy' (did you mean pairwise_accuracy?)",
        ),
        (["--metric", "ndcg@0"], "there is no metric 'ndcg@0'"),
    ],
)
def test_what_the_estimator_refuses_is_wrong_usage(tmp_path, options, said):
    assert said in misused("train", "nowhere.txt", "-o", tmp_path / "m", *options)


def test_several_metrics_are_shown_in_the_order_asked_for(folder):
    asked = ["--metric", "msd", "--metric", "ndcg@5", "--metric", "wmw"]
    record = json.loads(
        run("evaluate", folder / "svm", folder / "valid.txt", "--json", *asked).stdout
    )
    assert list(record) == ["msd", "ndcg@5", "wmw", "n_pairs"]


def test_a_tube_is_judged_by_the_model_s_own_epsilon_and_power(folder, tmp_path):
    rows = read_svmlight(folder / "valid.txt")
    scores = load_model(folder / "tube").predict(rows.X)
    own = tube_cost(rows.y, scores, qid=rows.qid, epsilon=0.7, n=2)
    assert own != tube_cost(rows.y, scores, qid=rows.qid)
    judged = ["evaluate", folder / "tube", folder / "valid.txt", "--json", "--metric", "tube_cost"]
    assert json.loads(run(*judged).stdout)["tube_cost"] == own
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "--json", "--model", "svrank"]
    valid = ["--valid", folder / "valid.txt", "--metric", "tube_cost"]
    trained = json.loads(run(*train, *valid, "--epsilon", 0.7, "--n", 2).stdout)
    assert trained["valid tube_cost"] == own
    scores = load_model(folder / "svm").predict(rows.X)
    judged[1] = folder / "svm"
    assert json.loads(run(*judged).stdout)["tube_cost"] == tube_cost(rows.y, scores, qid=rows.qid)


def test_metrics_that_cannot_judge_are_refused_by_name(folder, tmp_path):
    (tmp_path / "signs.txt").write_text("1 1:2 4:1\n-1 1:3\n")
    judged = ["evaluate", folder / "svm", tmp_path / "signs.txt", "--metric"]
    assert "ndcg needs labels of 0 and more" in refused(*judged, "ndcg")
    (tmp_path / "pairs.csv").write_text("0,1\n")
    by_pairs = ["evaluate", folder / "svm", folder / "valid.txt", "--pairs", tmp_path / "pairs.csv"]
    assert "--pairs are judged by" in misused(*by_pairs, "--metric", "msd")


def test_the_columns_of_a_file_are_options_of_every_command(folder, tmp_path):
    commands = [["info", folder / "train.csv"], ["evaluate", folder / "svm", folder / "valid.csv"]]
    for command in (*commands, ["convert", folder / "train.csv", tmp_path / "c.txt"]):
        run(*command, "--qid", "qid", "--format", "csv", "--dtype", "float32")
        assert "'xml' is not one of auto, svmlight" in misused(*command, "--format", "xml")
