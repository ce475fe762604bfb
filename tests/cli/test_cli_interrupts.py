"""Ctrl-C at every moment of a command: exit code 130, at most one line, no half-written file."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from cli_rows import make_rows
from cli_runs import invoke
from pairrank.io import write_svmlight


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("interrupts")
    write_svmlight(home / "rows.txt", make_rows(0))
    return home


def test_control_c_keeps_the_best_weights(folder, tmp_path, monkeypatch):
    from pairrank import load_model
    from pairrank.cli import train

    class Impatient(train.Progress):
        def __call__(self, step):
            if step.n_iter >= 1:
                raise KeyboardInterrupt

    monkeypatch.setattr(train, "Progress", Impatient)
    arguments = ["train", f"{folder}/rows.txt", "-o", f"{tmp_path}/m", "-q", "--tol", "1e-12"]
    result = invoke(arguments)
    assert result.exit_code == 130
    assert "best weights so far" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert np.any(load_model(tmp_path / "m").coef_ != 0)


IMPATIENT = """
import signal, sys

class Impatient:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            sys.meta_path.remove(self)
            exec("signal.raise_signal(signal.SIGINT)")

module = sys.argv.pop(1)
sys.meta_path.insert(0, Impatient())
from pairrank.cli import main
main()
"""
"""The command line, with a Ctrl-C when the module named first is looked for.

It comes through an `exec` of text, after which Python kills itself by the signal unless it is told
not to.
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on Unix")
@pytest.mark.parametrize(
    ("module", "lines"),
    [("typer", 0), ("pairrank.cli.train", 0), ("pairrank.estimators.rank_svm", 1), ("numba", 1),
     ("pairrank.objective", 1)],
)  # fmt: skip
def test_control_c_while_loading_is_quiet(folder, tmp_path, module, lines):
    train = ["train", folder / "rows.txt", "-o", tmp_path / "m", "-q"]
    done = subprocess.run(
        [sys.executable, "-c", IMPATIENT, module, *train],
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 130
    assert len(done.stderr.splitlines()) == lines, done.stderr
    assert done.stdout == b""
    assert list(tmp_path.iterdir()) == []


class Finaliser:
    """Raises a KeyboardInterrupt where Python can only drop it."""

    def __del__(self):
        raise KeyboardInterrupt


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on Unix")
def test_a_control_c_that_python_drops_is_heeded(folder, monkeypatch):
    from pairrank.cli import files

    def load(*_):
        Finaliser()
        for _ in range(600):
            time.sleep(0.1)

    monkeypatch.setattr(files, "load_rows", load)
    result = invoke(["info", f"{folder}/rows.txt"])
    assert result.exit_code == 130
    assert result.stderr == "pairrank: error: interrupted; nothing was written\n"


def test_what_fails_for_a_dropped_control_c_is_no_fault_of_ours(folder, monkeypatch):
    from pairrank.cli import files

    def load(*_):
        Finaliser()
        raise RuntimeError("no compiled object yet")

    monkeypatch.setattr(files, "load_rows", load)
    monkeypatch.setattr("pairrank.cli._process.interrupt_main", lambda: None)
    result = invoke(["info", f"{folder}/rows.txt"])
    assert result.exit_code == 130
    assert "fault" not in result.stderr


def test_a_control_c_by_another_name_is_one(folder, monkeypatch):
    from pairrank.cli import files

    def load(*_):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise ImportError("a library could not be loaded") from None

    monkeypatch.setattr(files, "load_rows", load)
    result = invoke(["info", f"{folder}/rows.txt"])
    assert result.exit_code == 130
    assert result.stderr == "pairrank: error: interrupted; nothing was written\n"
