"""Closed and full streams, odd terminals, and SIGTERM: no fit is lost, no fault is shown."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from cli_runs import invoke
from pairrank import load_model

pytestmark = pytest.mark.skipif(os.name == "nt", reason="streams and signals as on Unix")

needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")


def shell(home, arguments, **environment):
    """Run a command with redirections by a shell."""
    return subprocess.run(
        f'"{sys.executable}" -m pairrank {arguments}',
        shell=True, cwd=home, env={**os.environ, **environment}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


def test_progress_that_cannot_be_shown_costs_no_fit(folder, tmp_path):
    done = shell(folder, f"train train.txt -o {tmp_path}/m <&- 2>&-")
    assert done.returncode == 0
    assert "RankSVM" in done.stdout
    assert load_model(tmp_path / "m").status_ == "converged"


@needs_full
def test_a_summary_that_cannot_be_shown_is_a_warning(folder, tmp_path):
    done = invoke(["train", folder / "train.txt", "-o", tmp_path / "m"], stdout="/dev/full")
    assert done.exit_code == 0
    assert load_model(tmp_path / "m").status_ == "converged"
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"pairrank: warning: {tmp_path}/m is written; no summary: ")
    assert "Traceback" not in done.stderr


def test_results_that_cannot_be_written_are_one_sentence(folder):
    done = shell(folder, "predict model train.txt >&-")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("pairrank: error: ")
    assert "fault" not in done.stderr


def test_wrong_usage_is_told_by_the_exit_code_where_nothing_can_be_said(folder):
    assert shell(folder, "train train.txt 2>&-").returncode == 2


def test_no_file_takes_the_place_of_a_closed_stream(folder, tmp_path):
    """What is printed must not go into a file that was opened on the free descriptor."""
    done = shell(folder, f"predict model train.txt -o {tmp_path}/scores 2>&- >&- <&-")
    assert done.returncode == 0
    assert len((tmp_path / "scores").read_text().splitlines()) == 60


def test_standard_input_that_is_closed_is_named(folder):
    done = shell(folder, "predict model - <&-")
    assert done.returncode == 1
    assert done.stderr == (
        "pairrank: error: cannot read standard input: it is closed; name a file\n"
    )


def test_json_that_cannot_be_written_leaves_the_model(folder, tmp_path):
    done = shell(folder, f"train train.txt -o {tmp_path}/m -q --json >&-")
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"pairrank: error: {tmp_path}/m is written, but standard output does not take the JSON: "
    )
    assert load_model(tmp_path / "m").status_ == "converged"


def test_a_reader_that_stops_early_hears_nothing(folder):
    done = shell(folder, "predict model train.txt | head -1")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 1


def test_a_width_that_is_none_is_ignored(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    monkeypatch.setenv("TERMINAL_WIDTH", "wide")
    done = invoke(["evaluate", folder / "model", folder / "train.txt"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert "pairwise_accuracy" in done.stdout


def test_streams_that_speak_ascii_show_other_characters_escaped(folder, tmp_path):
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    shutil.copy(folder / "model", tmp_path / "modèle")
    done = shell(folder, f"evaluate {tmp_path}/modèle train.txt", **ascii_only)
    assert done.returncode == 0
    assert "mod\\xe8le on train.txt" in done.stdout
    missing = shell(folder, "info modèle", **ascii_only)
    assert missing.returncode == 1
    assert "there is no such file" in missing.stderr


INTERRUPTED_WRITING = """
import os, signal, sys

fsync = os.fsync
def interrupting(descriptor):
    fsync(descriptor)
    signal.raise_signal(getattr(signal, name))

name = sys.argv.pop(1)
os.fsync = interrupting
from pairrank.cli import main
main()
"""
"""The command line, with a signal when a file has been written but has not its name yet."""


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_signal_while_writing_leaves_no_temporary_file(folder, tmp_path, name, code):
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "-q"]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WRITING, name, *train],
        capture_output=True, timeout=120, check=False, text=True,
    )  # fmt: skip
    assert done.returncode == code
    assert done.stderr == "pairrank: error: interrupted; nothing was written\n"
    assert list(tmp_path.iterdir()) == []


SIGNALLED_FIT = """
import signal, sys
from pairrank.cli import _process, train

class Impatient(train.Progress):
    def __call__(self, step):
        if step.n_iter >= 1:
            signal.raise_signal(signal.SIGTERM)

_process.prepare()
train.Progress = Impatient
from pairrank.cli import main
main()
"""


def test_sigterm_in_a_fit_keeps_the_best_weights(folder, tmp_path):
    train = ["train", folder / "train.txt", "-o", tmp_path / "m", "-q", "--tol", "1e-12"]
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED_FIT, *train],
        capture_output=True, timeout=120, check=False, text=True,
    )  # fmt: skip
    assert done.returncode == 143
    assert done.stderr == (
        f"pairrank: warning: interrupted: {tmp_path}/m holds the best weights so far.\n"
    )
    assert load_model(tmp_path / "m").status_ == "interrupted"
