"""The options of train, derived from the estimators: types, choices, defaults, help, panels."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any, Literal

import pytest

from cli_rows import make_rows
from cli_runs import PLAIN, misused, refused, run
from pairrank import RankSVM, load_model
from pairrank.cli import _models
from pairrank.cli._commands import _NOT_OFFERED, options_of
from pairrank.cli._models import MODELS, Model, flag_of, in_flags
from pairrank.exceptions import PairrankError
from pairrank.io import read_svmlight, write_rows, write_svmlight
from pairrank.metrics import msd, tube_cost
from pairrank.metrics._names import METRICS


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


@pytest.mark.parametrize("name", PLAIN)
def test_every_parameter_of_a_model_is_an_option(name):
    parameters = inspect.signature(MODELS[name].type).parameters
    offered = [option.name for option in options_of(MODELS[name])]
    assert offered == [param for param in parameters if param not in _NOT_OFFERED]
    shown, panels = help_of("--model", name)
    flags = {flag_of(param) for param in offered}
    assert flags <= set(shown.split())
    assert "None" not in shown
    assert panels == [
        "Arguments", "Options", "Data", "Model", "Strength", "Validation", "Solver", "Output",
    ]  # fmt: skip


def test_help_without_a_model_is_that_of_the_default():
    assert help_of() == help_of("--model", "ranksvm")
    assert help_of("--model=hull") == help_of("--model", "hull")
    assert "--nu" in help_of("--model", "hull")[0]
    assert "--nu" not in help_of()[0]


class Newcomer(RankSVM):
    """A ranker with a parameter that the command line has never heard of.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss.
    flavour : "sweet" or "sour", default "sweet"
        How ``it`` tastes. Not more.
    size : int or "any", default "any"
        How large.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        flavour: Literal["sweet", "sour"] | None = "sweet",
        size: int | Literal["any"] = "any",
        hidden: Any = None,
    ) -> None:
        super().__init__(C)
        self.flavour = flavour
        self.size = size
        self.hidden = hidden


@pytest.fixture
def newcomer(monkeypatch):
    monkeypatch.setattr(Model, "type", property(lambda self: Newcomer))
    monkeypatch.setitem(
        MODELS, "newcomer", Model("Newcomer", "C", "model_selection.path:PAPER_VALUES")
    )


def test_what_happens_without_an_option_is_said():
    shown, _ = help_of()
    assert "scores that are not linear in x; if left out, linear." in shown
    assert 'Of "rbf" and "poly"; if left out, 1/n_features.' in shown


def test_a_new_parameter_needs_no_code_here(newcomer, folder, tmp_path, monkeypatch):
    shown, _ = help_of("--model", "newcomer")
    assert "--flavour sweet sour none How it tastes. [default: sweet]" in shown
    assert "--size INTEGER any How large. [default: any]" in shown
    assert "--hidden" not in shown
    fitted = []

    def fit(self, *_, **__):
        fitted.append(self.get_params())
        raise PairrankError("enough")

    monkeypatch.setattr(Newcomer, "fit", fit)
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "--model", "newcomer"]
    refused(*train, "--flavour", "sour", "--size", 7)
    refused(*train, "--flavour", "none")
    assert [(params["flavour"], params["size"]) for params in fitted] == [
        ("sour", 7),
        (None, "any"),
    ]
    assert "'salty' is not one of sweet, sour, none." in misused(*train, "--flavour", "salty")
    assert "'7.5' is not a whole number or one of any." in misused(*train, "--size", "7.5")


def test_stochastic_steps_are_a_solver_of_train(folder, tmp_path):
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "-q", "--solver", "sgd"]
    run(*train, "--model", "rankncg", "--learning-rate", "pegasos", "--seed", 3, "--eta0", 0.5)
    params = load_model(tmp_path / "m").get_params()
    assert (params["solver"], params["learning_rate"]) == ("sgd", "pegasos")
    assert (params["random_state"], params["eta0"]) == (3, 0.5)
    assert load_model(tmp_path / "m").status_ == "settled"
    assert "--eta0 must be greater than 0 (got 0.0)." in misused(*train, "--eta0", 0)


def test_messages_of_estimators_name_options():
    params = {"C": 1.0, "pair_sum": "auto", "n": 1}
    assert in_flags("C must be positive", params) == "-C must be positive"
    assert in_flags('use pair_sum="direct" or "auto"', params) == 'use --pair-sum direct or "auto"'
    assert in_flags("no n or C is touched", params) == "no n or C is touched"


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


def test_preferences_are_built_once(folder, tmp_path, monkeypatch):
    from pairrank.preferences import Levels

    built, build = [], Levels.build
    monkeypatch.setattr(Levels, "build", lambda *a, **k: built.append(1) or build(*a, **k))
    run("train", folder / "train.txt", "-o", tmp_path / "m", "-q")
    assert len(built) == 1


@pytest.mark.parametrize(
    "name",
    [
        *(f"{name}@3" if metric.needs_k else name for name, metric in METRICS.items()),
        "ndcg@3",
        "err@3:max_label=4",
    ],
)
def test_every_metric_judges_in_training_and_evaluation(folder, tmp_path, name):
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "--json"]
    trained = json.loads(run(*train, "--valid", folder / "valid.txt", "--metric", name).stdout)
    judged = ["evaluate", tmp_path / "m", folder / "valid.txt", "--json", "--metric", name]
    record = json.loads(run(*judged).stdout)
    assert list(record) == [name, "n_pairs"]
    assert record[name] == trained[f"valid {name}"]


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


def test_a_search_by_an_error_takes_the_least(folder, tmp_path):
    search = ["--search", "--valid", folder / "valid.txt", "--metric", "msd", "--json"]
    record = json.loads(run("train", folder / "train.txt", "-o", tmp_path / "m", *search).stdout)
    rows, valid = (read_svmlight(folder / f"{name}.txt") for name in ("train", "valid"))
    values = MODELS["ranksvm"].values()
    fits = [RankSVM(C).fit(rows.X, rows.y, qid=rows.qid).predict(valid.X) for C in values]
    assert record["valid msd"] == min(msd(valid.y, scores, qid=valid.qid) for scores in fits)


def test_the_columns_of_a_file_are_options_of_every_command(folder, tmp_path):
    commands = [["info", folder / "train.csv"], ["evaluate", folder / "svm", folder / "valid.csv"]]
    for command in (*commands, ["convert", folder / "train.csv", tmp_path / "c.txt"]):
        run(*command, "--qid", "qid", "--format", "csv", "--dtype", "float32")
        assert "'xml' is not one of auto, svmlight" in misused(*command, "--format", "xml")


def test_every_model_names_a_class_and_values():
    assert {flag_of(model.strength) for model in MODELS.values()} == {
        *("-C", "--alpha", "--nu", "--n-estimators"),
    }
    assert all(len(model.values()) > 5 for model in _models.MODELS.values())
