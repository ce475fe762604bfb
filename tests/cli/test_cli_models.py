"""train --model: every model of the table, its own options, and no other's."""

from __future__ import annotations

import inspect
import json

import pytest

from cli_rows import make_rows
from cli_runs import PLAIN, misused, run
from pairrank import load_model
from pairrank.cli._models import MODELS, flag_of
from pairrank.io import write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("models")
    for seed, name in enumerate(["train", "valid"]):
        write_svmlight(home / f"{name}.txt", make_rows(seed))
    return home


@pytest.mark.parametrize("name", PLAIN)
def test_the_table_names_parameters_that_the_class_has(name):
    model = MODELS[name]
    assert model.strength in inspect.signature(model.type).parameters
    assert all(value > 0 for value in model.values())


@pytest.mark.parametrize("name", PLAIN)
def test_every_model_is_trained_and_used(folder, tmp_path, name):
    strength = 12 if name == "rankboost" else 0.125
    flag = flag_of(MODELS[name].strength)
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "--model", name, flag, strength]
    record = json.loads(run(*train, "--json").stdout)
    assert record["model"] == MODELS[name].estimator
    assert record[MODELS[name].strength] == strength
    assert record["n_pairs"] == load_model(tmp_path / "m").n_pairs_
    judged = run("evaluate", tmp_path / "m", folder / "valid.txt", "--json")
    assert json.loads(judged.stdout)["pairwise_accuracy"] > 0.8
    info = json.loads(run("info", tmp_path / "m", "--json").stdout)
    assert info[f"param {MODELS[name].strength}"] == strength


@pytest.mark.parametrize("name", PLAIN)
def test_a_search_picks_the_models_own_strength(folder, tmp_path, name):
    strength = MODELS[name].strength
    search = ["--model", name, "--search", "--valid", folder / "valid.txt", "--metric", "wmw"]
    result = run("train", folder / "train.txt", "-o", tmp_path / "m", *search)
    lines = [line for line in result.stderr.splitlines() if line.startswith(f"{strength} ")]
    tried = [float(line.split()[1]) for line in lines]
    assert tried == pytest.approx(MODELS[name].values(), rel=1e-5)
    scores = {
        value: line.split()[3] for value, line in zip(MODELS[name].values(), lines, strict=True)
    }
    best = getattr(load_model(tmp_path / "m"), strength)
    assert scores[best] == max(scores.values())
    assert f"best: {strength} {best:g}, wmw" in result.stderr


def test_options_of_rankncg_reach_it(folder, tmp_path):
    options = {"alpha": 0.25, "eps": 1e-3, "loss": "probit", "solver": "ncg", "pair_sum": "direct"}
    flags = [each for name, value in options.items() for each in (flag_of(name), value)]
    more = ["--reduction", "query", "--tol", "1e-2", "--max-iter", 50, "--seed", 4]
    model = ["--model", "rankncg", "-o", tmp_path / "m"]
    run("train", folder / "train.txt", *model, "-q", *flags, *more)
    params = load_model(tmp_path / "m").get_params()
    wanted = {**options, "reduction": "query", "tol": 1e-2, "max_iter": 50, "random_state": 4}
    assert {name: params[name] for name in wanted} == wanted


def test_options_that_are_left_out_are_the_models_own(folder, tmp_path):
    for name in PLAIN:
        model = MODELS[name]
        run("train", folder / "train.txt", "-o", tmp_path / "m", "--model", name, "-q")
        estimator = load_model(tmp_path / "m")
        assert estimator.get_params() == type(estimator)().get_params(), model.estimator


@pytest.mark.parametrize("option", ["--loss", "--solver", "--pair-sum"])
@pytest.mark.parametrize("name", PLAIN)
def test_a_choice_that_the_model_lacks_is_refused(folder, tmp_path, name, option):
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "--model", name]
    said = misused(*train, option, "nosuch")
    if option.strip("-").replace("-", "_") in inspect.signature(MODELS[name].type).parameters:
        assert "'nosuch' is not one of " in said
    else:
        assert f"Model {name} has no option {option}" in said
    assert not (tmp_path / "m").exists()
