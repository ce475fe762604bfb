"""train --kernel: a kernel for every model, saved, loaded, and refused where it must be."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import PLAIN, misused, run
from pairrank import load_model
from pairrank.cli._commands import _OF_A_KERNEL
from pairrank.cli._models import MODELS, make_ranker
from pairrank.io import read_svmlight, write_rows, write_svmlight
from pairrank.kernels.kernel import NAMES

WITH_KERNELS = [name for name in PLAIN if "kernel" in MODELS[name].type().get_params()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("kernels")
    for seed, name in enumerate(["train", "valid"]):
        write_svmlight(home / f"{name}.txt", make_rows(seed))
        write_rows(home / f"{name}.csv", make_rows(seed))
    return home


def training(folder, tmp_path, *options):
    return ["train", folder / "train.txt", "-o", tmp_path / "m", *options]


def test_every_kernel_is_offered_but_the_matrix():
    assert set(_OF_A_KERNEL) == set(NAMES) - {"precomputed"}


@pytest.mark.parametrize("name", WITH_KERNELS)
@pytest.mark.parametrize(
    ("options", "params"),
    [
        (["--kernel", "rbf"], {"kernel": "rbf"}),
        (
            ["--kernel", "rbf", "--gamma", "0.4", "--kernel-features", "exact"],
            {"kernel": "rbf", "kernel__gamma": 0.4, "kernel__method": "exact"},
        ),
        (
            ["--kernel", "poly", "--gamma", "scale", "--degree", "2", "--coef0", "0.5"],
            {
                "kernel": "poly",
                "kernel__gamma": "scale",
                "kernel__degree": 2,
                "kernel__coef0": 0.5,
            },
        ),
        (
            ["--kernel", "rbf", "--kernel-features", "nystroem", "--components", "12"],
            {"kernel": "rbf", "kernel__method": "nystroem", "kernel__n_components": 12},
        ),
    ],
)
def test_the_fit_is_that_of_the_estimator(folder, tmp_path, name, options, params):
    train = training(folder, tmp_path, "--model", name, "--seed", "3", "--json", *options)
    record = json.loads(run(*train).stdout)
    rows, new = (read_svmlight(folder / f"{which}.txt") for which in ("train", "valid"))
    plain = make_ranker(name, {**params, "random_state": 3}).fit(rows.X, rows.y, qid=rows.qid)
    scores = run("predict", tmp_path / "m", folder / "valid.txt").stdout.split()
    np.testing.assert_allclose(np.array(scores, float), plain.predict(new.X), rtol=1e-9)
    model = load_model(tmp_path / "m")
    assert repr(model) == repr(plain)
    assert record["kernel"] == params["kernel"]
    assert record["kernel features"] == plain.kernel_.n_components_
    assert record["features"] == 4
    judged = json.loads(run("evaluate", tmp_path / "m", folder / "valid.txt", "--json").stdout)
    assert judged["pairwise_accuracy"] > 0.75


@pytest.mark.parametrize("name", WITH_KERNELS)
def test_columns_of_a_kernel_s_model_are_found_by_name(folder, tmp_path, name):
    options = ["--model", name, "--kernel", "rbf", "--qid", "qid", "-q"]
    run("train", folder / "train.csv", "-o", tmp_path / "m", *options)
    lines = [line.split(",") for line in (folder / "valid.csv").read_text().splitlines()]
    (tmp_path / "turned.csv").write_text("\n".join(",".join(line[::-1]) for line in lines) + "\n")
    straight = run("predict", tmp_path / "m", folder / "valid.csv").stdout
    assert run("predict", tmp_path / "m", tmp_path / "turned.csv").stdout == straight


@pytest.mark.parametrize("name", WITH_KERNELS)
def test_a_search_goes_along_a_kernel_s_path(folder, tmp_path, name):
    options = ["--model", name, "--kernel", "rbf", "--search", "--valid", folder / "valid.txt"]
    record = json.loads(run(*training(folder, tmp_path, *options, "--json")).stdout)
    assert record[MODELS[name].strength] == getattr(
        load_model(tmp_path / "m"), MODELS[name].strength
    )
    assert record["valid pairwise_accuracy"] > 0.8


@pytest.mark.parametrize("name", WITH_KERNELS)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--gamma", "1"], "--gamma needs --kernel rbf or poly."),
        (["--degree", "2"], "--degree needs --kernel poly."),
        (["--coef0", "2"], "--coef0 needs --kernel poly."),
        (["--components", "9"], "--components needs --kernel rbf or poly."),
        (["--kernel-features", "exact"], "--kernel-features needs --kernel rbf or poly."),
        (["--kernel", "rbf", "--degree", "2"], "--degree needs --kernel poly."),
        (["--kernel", "rbf", "--coef0", "0"], "--coef0 needs --kernel poly."),
        (["--kernel", "precomputed"], "which files of rows do not hold: use rbf or poly"),
        (["--kernel", "linear"], "'linear' is not rbf or poly; leave it out for linear"),
        (["--kernel", "sigmoid"], "'sigmoid' is not rbf or poly"),
        (["--kernel", "rbf", "--gamma", "0"], "--gamma must be greater than 0 (got 0.0)"),
        (["--kernel", "rbf", "--gamma", "inf"], "--gamma must be a finite number (got inf)"),
        (["--kernel", "rbf", "--gamma", "wide"], "'wide' is not a number or one of scale"),
        (
            ["--kernel", "poly", "--degree", "0"],
            "--degree must be at least 1",
        ),
        (
            ["--kernel", "poly", "--coef0", "-1"],
            "--coef0 must be at least 0",
        ),
        (
            ["--kernel", "poly", "--coef0", "nan"],
            "--coef0 must be a finite number (got nan)",
        ),
        (
            ["--kernel", "rbf", "--kernel-features", "fourier"],
            "'fourier' is not one of auto",
        ),
        (
            ["--kernel", "rbf", "--kernel-features", "exact", "--components", "9"],
            "--components needs --kernel-features auto or nystroem.",
        ),
    ],
)
def test_options_that_do_not_fit_are_wrong_usage(tmp_path, name, options, said):
    assert said in misused(*training(tmp_path, tmp_path, "--model", name, *options))
    assert not (tmp_path / "m").exists()
