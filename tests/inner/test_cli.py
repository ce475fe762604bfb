"""The command line inside: derived options, remembered columns, progress, Ctrl-C, own faults."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.linalg import LinAlgError

from cli_rows import make_rows
from cli_runs import IMPATIENT, invoke, refused, run
from pairrank.cli import evaluate, files, train
from pairrank.estimators.model_files import load_model, read_ranker
from pairrank.io import write_rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("inner")
    write_rows(home / "rows.txt", make_rows(0))
    write_rows(home / "rows.parquet", make_rows(0))
    run("train", home / "rows.txt", "-o", home / "model", "-q")
    return home


def test_a_model_remembers_from_which_number_features_count(folder, tmp_path):
    (tmp_path / "a.txt").write_text("2 0:3 2:1\n1 1:2\n0 0:1 1:4\n")
    (tmp_path / "b.txt").write_text("1 1:2\n0 2:1\n")  # auto alone would read features 0 and 1
    run("train", tmp_path / "a.txt", "-o", tmp_path / "m", "-q", "--valid", tmp_path / "b.txt")
    assert read_ranker(tmp_path / "m").zero_based is True
    coef = load_model(tmp_path / "m").coef_
    shown = run("predict", tmp_path / "m", tmp_path / "b.txt").stdout.split()
    assert [float(line) for line in shown] == pytest.approx([2 * coef[1], coef[2]])
    assert read_ranker(folder / "model").zero_based is False
    said = refused("predict", folder / "model", tmp_path / "a.txt")
    assert "line 1: index 0, though indices count from 1 (as in the rows of the training" in said


@pytest.mark.parametrize(
    "options",
    [
        ["rows.txt", "--tol", "1e-12"],
        ["rows.txt", "--model", "rankrls", "--regularization", "iteration"],
        ["rows.parquet", "--stream", "--label", "label", "--qid", "qid", "--model", "rankncg",
         "--solver", "ncg", "--tol", "1e-12"],
    ],
)  # fmt: skip
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_a_fit_keeps_the_best_weights(
    folder, tmp_path, monkeypatch, options, number, code
):
    least = 0 if "--stream" in options else 2  # a fit on blocks starts at a sample's optimum

    class Impatient(train.Progress):
        def __call__(self, step):
            if step.n_iter >= least:
                signal.raise_signal(number)

    monkeypatch.setattr(train, "Progress", Impatient)
    monkeypatch.chdir(folder)
    done = run("train", *options, "-o", tmp_path / "m", "-q", code=code)
    assert done.stderr.splitlines() == [
        f"pairrank: warning: interrupted: {tmp_path / 'm'} holds the best weights so far."
    ]
    model = load_model(tmp_path / "m")
    assert model.status_ == "interrupted"
    assert np.any(model.coef_ != 0)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on Unix")
@pytest.mark.parametrize(("module", "lines"), [("typer", 0), ("numba", 1)])
def test_control_c_while_loading_is_quiet(folder, tmp_path, module, lines):
    command = ["train", folder / "rows.txt", "-o", tmp_path / "m", "-q"]
    done = subprocess.run(
        [sys.executable, "-c", IMPATIENT, module, *command],
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 130
    assert len(done.stderr.splitlines()) == lines, done.stderr
    assert done.stdout == b""
    assert list(tmp_path.iterdir()) == []


class Finaliser:
    """Raises a KeyboardInterrupt where Python can only drop it."""

    def __del__(self):
        raise KeyboardInterrupt


def dropped(*_):
    """Run on after a Ctrl-C that Python has dropped."""
    Finaliser()
    for _ in range(600):
        time.sleep(0.1)


def renamed(*_):
    """Report a Ctrl-C by another name."""
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise ImportError("a library could not be loaded") from None


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on Unix")
@pytest.mark.parametrize("load", [dropped, renamed])
def test_a_control_c_that_is_dropped_or_renamed_is_one(folder, monkeypatch, load):
    monkeypatch.setattr(files, "load_rows", load)
    result = invoke(["info", folder / "rows.txt"])
    assert result.exit_code == 130
    assert result.stderr == "pairrank: error: interrupted; nothing was written\n"


def test_a_fault_of_ours_is_named_as_one(folder, monkeypatch):
    def fails(path):
        raise TypeError("unforeseen")

    monkeypatch.setattr(evaluate, "Ranker", fails)
    arguments = ["predict", folder / "model", folder / "rows.txt"]
    result = invoke(arguments)
    assert result.exit_code == 1
    assert "a fault in pairrank, TypeError: unforeseen" in result.stderr
    monkeypatch.setenv("PAIRRANK_DEBUG", "1")
    with pytest.raises(TypeError):
        invoke(arguments)


def test_an_error_of_numpy_becomes_a_sentence(folder, monkeypatch):
    def fails(*_):
        raise LinAlgError("1-th leading minor of the array is not positive definite")

    monkeypatch.setattr(files, "load_rows", fails)
    said = refused("info", folder / "rows.txt")
    assert "leading minor" not in said
    assert "subtract each feature's mean" in said
