"""Wrong usage at the command line: exit code 2, and what to do instead."""

from __future__ import annotations

import re

import pytest

from cli_runs import misused, record_of, run
from pairrank import load_model
from pairrank.io import read_rows
from pairrank.metrics import tube_cost

COMMANDS = [
    (["train"], "Missing argument"),
    (["trian", "x"], "No such command"),
    (["evaluate", "m"], "Missing argument"),
    (["info", "x", "--nosuch"], "No such option"),
    (["demo", "--seed", "-1"], "for '--seed': "),
    (["train", "x", "-o", "-", "--json"], "name a file"),
    (["train", "-", "-o", "m", "--pairs", "-"], "holds one input"),
    (["evaluate", "-", "-"], "one input"),
    (["evaluate", "m", "-", "--pairs", "-"], "holds one input"),
    (["evaluate", "m", "x", "--pairs", "p", "--graph", "full"], "leave out --graph"),
    (["evaluate", "m", "x", "--per-query", "x.txt"], "name a file that ends in .csv or .parquet"),
    (["evaluate", "m", "x", "--seed", "1"], "--seed is used with --against MODEL only."),
    (["evaluate", "m", "x", "--resamples", "9"], "--resamples is used with --against MODEL only."),
    (["evaluate", "m", "x", "--against", "n", "--resamples", "0"], "must be greater than 0"),
    (["evaluate", "m", "x", "--against", "n", "--seed", "-1"], "--seed must be at least 0"),
    (["evaluate", "m", "x", "--metric", "precision"], "such as precision@10"),
    (["evaluate", "m", "x", "--metric", "rbp:persistence=3"], "persistence must be less than 1"),
    (["evaluate", "m", "x", "--metric", "ndgc@10"], "did you mean ndcg@10?"),
    (["info", "x", "--format", "xml"], "'xml' is not one of auto, svmlight"),
    (["train", "x", "--query-size", "y", "-o", "m"], "--query-sizes"),
    (["info", "x", "--graph", "0<"], "neither"),
    (["info", "x", "--graph", "0<0"], "with itself"),
    (["info", "x", "--graph", "a<b<c<a"], "cycle: 'a' < 'b' < 'c' < 'a'"),
]


@pytest.mark.parametrize(("arguments", "said"), COMMANDS)
def test_wrong_usage_of_commands(arguments, said):
    assert said in misused(*arguments)


OPTIONS = [
    ("ranksvm", "-C much", "'much' is not a number."),
    ("ranksvm", "-C 0", "-C must be greater than 0 (got 0.0)."),
    ("ranksvm", "--seed -1", "--seed must be at least 0 (got -1)."),
    ("ranksvm", "--seed 1.5", "'1.5' is not a whole number."),
    ("ranksvm", "--reduction columns", "'columns' is not one of"),
    ("ranksvm", "--loss hinge --solver tron", 'use --solver bundle (or "auto")'),
    ("ranksvm", "--alpha 1", "Model ranksvm has no option --alpha; use -C."),
    ("ranksvm", "--eps 0.1", "has no option --eps; it is an option of rankncg, pairwise"),
    ("hull", "--reduction rows", "--reduction; it is an option of ranksvm, rankncg, pairwise"),
    ("rankboost", "--solver cg", "Model rankboost has no option --solver; it is an option of"),
    ("ranksvm", "--search", "--search needs validation rows: give --valid FILE"),
    ("ranksvm", "--search --valid v -C 2", "--search picks -C itself"),
    ("ranksvm", "--patience 2", "--patience needs validation rows: give --valid FILE."),
    ("ranksvm", "--pairs p --graph full", "leave out --graph"),
    ("ranksvm", "--valid-pairs p", "give --valid FILE"),
    ("ranksvm", "--valid v --valid-pairs p --metric ndcg@10",
     "--valid-pairs cannot be judged by ndcg@10; use pairwise_accuracy."),
    ("ranksvm", "--metric accuracy", "no metric 'accuracy' (did you mean pairwise_accuracy?)"),
    ("nosuch", "", "'nosuch' is not one of ranksvm, rankncg"),
    ("rankncg", "--eps 1", "--eps must be below 1, got 1.0"),
    ("rankncg", "--solver sgd --eta0 0", "--eta0 must be greater than 0 (got 0.0)."),
    ("rankncg", "--eta0 1", "--eta0 needs --solver sgd."),
    ("rankrls", "--patience 0 --regularization iteration", "must be at least 1"),
    ("rankrls", "--patience 4", "--patience needs --regularization iteration or hybrid."),
    ("rankrls", "--regularization iteration --alpha 2", "--alpha needs --regularization"),
    ("rankrls", "--regularization iteration --search --valid v",
     "--search needs --regularization tikhonov or hybrid."),
    ("rankrls", "--winner-weight w", "Model rankrls does not take --winner-weight:"),
    ("mprank", "--n 3", "'3' is not one of 1, 2"),
    ("hull", "--pairs p", "learns from labels, not from --pairs; use ranksvm, rankncg"),
    ("hull", "--regularizer rkhs", "--regularizer needs --kernel rbf or poly."),
    ("rankboost", "--patience 3", "--patience needs --early-stopping"),
    ("ranksvm", "--gamma 1", "--gamma needs --kernel rbf or poly."),
    ("ranksvm", "--kernel rbf --degree 2", "--degree needs --kernel poly."),
    ("ranksvm", "--kernel precomputed", "'precomputed' is not one of rbf, poly."),
    ("ranksvm", "--kernel rbf --gamma 0", "--gamma must be greater than 0 (got 0.0)"),
    ("ranksvm", "--kernel rbf --gamma wide", "'wide' is not a number or one of scale"),
    ("ranksvm", "--kernel rbf --kernel-features exact --components 9",
     "--components needs --kernel-features auto or nystroem."),
]  # fmt: skip


@pytest.mark.parametrize(("model", "options", "said"), OPTIONS)
def test_options_that_do_not_fit_are_wrong_usage(tmp_path, model, options, said):
    train = ["train", "nowhere.txt", "-o", tmp_path / "m", "--model", model]
    assert said in misused(*train, *options.split())
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        ("mprank", "--n 1 --solver cg", "--solver (for n = "),
        ("mprank", "--solver bundle", "--solver (for n = "),
        ("svrank", "--n 2 --solver bundle", "--solver (for n = "),
        ("rankrls", "--regularization iteration --solver direct", "use --solver cg"),
    ],
)
def test_options_that_a_fit_refuses_are_wrong_usage(folder, tmp_path, model, options, said):
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "--model", model, "-q"]
    assert said in misused(*train, *options.split())


def help_of(*arguments):
    """Return the help of train in one line, and the titles of its panels in their order."""
    text = run("train", "--help", *arguments).stdout
    panels = re.findall(r"[╭+][─-] (\w+) [─-]", text)
    return " ".join(re.sub("[│|╭╮╰╯─]", " ", text).split()), panels


def test_help_is_that_of_the_model():
    assert help_of() == help_of("--model", "ranksvm")
    assert help_of("--model=hull") == help_of("--model", "hull")
    shown, panels = help_of()
    assert "--nu" in help_of("--model", "hull")[0]
    assert "--nu" not in shown
    assert "scores that are not linear in x; if left out, linear." in shown
    assert 'Of "rbf" and "poly"; if left out, 1/n_features.' in shown
    assert "[default: label]" in shown
    assert "None" not in shown
    assert panels == [
        "Arguments", "Options", "Data", "Model", "Strength", "Validation", "Solver", "Output",
    ]  # fmt: skip
    for loss in ("logistic", "probit", "raykar"):
        assert loss in help_of("--model", "rankncg")[0]


def test_a_tube_is_judged_by_the_model_s_own_epsilon_and_power(folder, tmp_path):
    rows, model = read_rows(folder / "valid.txt"), tmp_path / "tube"
    tube = ["--model", "svrank", "--epsilon", 0.7, "--n", 2, "--valid", folder / "valid.txt"]
    asked = ["--metric", "tube_cost"]
    trained = record_of("train", folder / "train.txt", "-o", model, *tube, *asked)
    for name, options in ((model, {"epsilon": 0.7, "n": 2}), (folder / "model", {})):
        cost = tube_cost(rows.y, load_model(name).predict(rows.X), qid=rows.qid, **options)
        found = record_of("evaluate", name, folder / "valid.txt", *asked)
        assert found["tube_cost"] == cost
        assert (trained["valid tube_cost"] == cost) == bool(options)
