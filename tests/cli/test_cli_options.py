"""The options of train, derived from the estimators: types, choices, defaults, help, panels."""

from __future__ import annotations

import inspect
import json
import re
from typing import Any, Literal

import pytest

from cli_rows import make_rows
from cli_runs import PLAIN, misused, refused, run
from pairrank import RankSVM
from pairrank.cli import _models
from pairrank.cli._commands import _NOT_OFFERED, options_of
from pairrank.cli._models import MODELS, Model, flag_of, in_flags
from pairrank.exceptions import PairrankError
from pairrank.io import read_svmlight, write_rows, write_svmlight
from pairrank.metrics import msd
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
    own = [param for param in offered if "__" not in param]
    assert own == [param for param in parameters if param not in _NOT_OFFERED]
    shown, panels = help_of("--model", name)
    flags = {flag_of(param) for param in offered}
    assert flags <= set(shown.split())
    assert "None" not in shown
    assert panels == [
        "Arguments", "Options", "Data", "Model", "Strength", "Validation", "Solver", "Output",
    ]  # fmt: skip


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


def test_messages_of_estimators_name_options():
    params = {"C": 1.0, "pair_sum": "auto", "n": 1}
    assert in_flags("C must be positive", params) == "-C must be positive"
    assert in_flags('use pair_sum="direct" or "auto"', params) == 'use --pair-sum direct or "auto"'
    assert in_flags("no n or C is touched", params) == "no n or C is touched"


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


def test_a_search_by_an_error_takes_the_least(folder, tmp_path):
    search = ["--search", "--valid", folder / "valid.txt", "--metric", "msd", "--json"]
    record = json.loads(run("train", folder / "train.txt", "-o", tmp_path / "m", *search).stdout)
    rows, valid = (read_svmlight(folder / f"{name}.txt") for name in ("train", "valid"))
    values = MODELS["ranksvm"].values()
    fits = [RankSVM(C).fit(rows.X, rows.y, qid=rows.qid).predict(valid.X) for C in values]
    assert record["valid msd"] == min(msd(valid.y, scores, qid=valid.qid) for scores in fits)


def test_every_model_names_a_class_and_values():
    assert {flag_of(model.strength) for model in MODELS.values()} == {
        *("-C", "--alpha", "--nu", "--n-estimators"),
    }
    assert all(len(model.values()) > 5 for model in _models.MODELS.values())
