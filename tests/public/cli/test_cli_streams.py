"""Streams, terminals and signals: no fit is lost, no fault is shown, progress is removed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from cli_runs import invoke, record_of, run
from pairrank import RankSVM, load_model

pytestmark = pytest.mark.skipif(os.name == "nt", reason="streams and signals as on Unix")


def test_progress_that_cannot_be_shown_costs_no_fit(folder, tmp_path):
    done = invoke(["train", folder / "train.txt", "-o", tmp_path / "m"], closed=(0, 2))
    assert done.exit_code == 0
    assert "RankSVM" in done.stdout
    assert load_model(tmp_path / "m").status_ == "converged"


@pytest.mark.parametrize(
    ("options", "where"),
    [
        pytest.param(
            [],
            {"stdout": "/dev/full"},
            marks=pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full"),
        ),
        (["-q", "--json"], {"closed": (1,)}),
    ],
)
def test_a_summary_that_cannot_be_written_leaves_the_model(folder, tmp_path, options, where):
    arguments = ["train", folder / "train.txt", "-o", tmp_path / "m", *options]
    done = invoke(arguments, **where)
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith("pairrank: error: standard input or output: ")
    assert "Traceback" not in done.stderr
    assert load_model(tmp_path / "m").status_ == "converged"


def test_results_that_cannot_be_written_are_one_sentence(folder):
    done = invoke(["predict", folder / "model", folder / "train.txt"], closed=(1,))
    assert done.exit_code == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("pairrank: error: ")
    assert "fault" not in done.stderr


def test_wrong_usage_is_told_by_the_exit_code_where_nothing_can_be_said(folder):
    assert invoke(["train", folder / "train.txt"], closed=(2,)).exit_code == 2


def test_no_file_takes_the_place_of_a_closed_stream(folder, tmp_path):
    predict = ["predict", folder / "model", folder / "train.txt", "-o", tmp_path / "scores"]
    assert invoke(predict, closed=(0, 1, 2)).exit_code == 0
    assert len((tmp_path / "scores").read_text().splitlines()) == 60


def test_standard_input_that_is_closed_is_named(folder):
    done = invoke(["predict", folder / "model", "-"], closed=(0,))
    message = "cannot read standard input: it is closed; name a file"
    assert (done.exit_code, done.stderr) == (1, f"pairrank: error: {message}\n")


def test_a_width_that_is_none_is_ignored(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    monkeypatch.setenv("TERMINAL_WIDTH", "wide")
    done = run("evaluate", folder / "model", folder / "train.txt")
    assert done.stderr == ""
    assert "pairwise_accuracy" in done.stdout


def test_streams_that_speak_ascii_show_other_characters_escaped(folder, tmp_path, monkeypatch):
    shutil.copy(folder / "model", tmp_path / "modèle")
    monkeypatch.chdir(tmp_path)
    done = invoke(["evaluate", "modèle", folder / "train.txt"], encoding="ascii")
    assert "mod\\xe8le on " in done.stdout
    missing = invoke(["info", "modèles"], encoding="ascii")
    assert (done.exit_code, missing.exit_code) == (0, 1)
    assert "there is no such file" in missing.stderr


@pytest.fixture
def interrupted_writing(monkeypatch):
    """Return a function that has a signal sent when a file is written but not yet named."""
    fsync = os.fsync

    def sends(number):
        def interrupting(descriptor):
            fsync(descriptor)
            signal.raise_signal(number)

        monkeypatch.setattr(os, "fsync", interrupting)

    return sends


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_while_writing_leaves_no_temporary_file(
    folder, tmp_path, interrupted_writing, number, code
):
    interrupted_writing(number)
    done = run("train", folder / "train.txt", "-o", tmp_path / "m", "-q", code=code)
    assert done.stderr == "pairrank: error: interrupted; nothing was written\n"
    assert list(tmp_path.iterdir()) == []


def test_an_ignored_control_c_stays_ignored(folder, tmp_path, interrupted_writing):
    interrupted_writing(signal.SIGINT)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        done = run("train", folder / "train.txt", "-o", tmp_path / "m", "-q")
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.stderr == ""
    assert (tmp_path / "m").exists()


def test_control_c_in_a_search_keeps_the_best_so_far(folder, tmp_path, monkeypatch):
    fits = []

    def interrupted_at_the_third(self, *arguments, **options):
        fits.append(self.C)
        fit(self, *arguments, **options)
        if len(fits) == 3:
            self.status_ = "interrupted"
        return self

    fit = RankSVM.fit
    monkeypatch.setattr(RankSVM, "fit", interrupted_at_the_third)
    search = ["--search", "--valid", f"{folder}/train.txt", "-q"]
    result = invoke(["train", f"{folder}/train.txt", "-o", f"{tmp_path}/m", *search])
    assert result.exit_code == 130
    assert "best weights so far" in result.stderr
    assert fits == [2.0**-15, 2.0**-14, 2.0**-13]
    assert load_model(tmp_path / "m").C in fits


def test_control_c_while_reading_writes_nothing(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "pairrank", "train", "-", "-o", tmp_path / "m"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(b"1 1:2\n" * 20_000)  # more than a pipe holds: the reader is at work
    process.stdin.flush()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in said
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def terminal(monkeypatch):
    """Make rich take standard error for a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


def screen_after(text):
    """Return the lines that a terminal shows after a text with escape sequences."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[[?\d]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
        if part == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif part == "\x1b[1A":
            row -= 1
        elif part == "\x1b[2K":
            lines[row] = ""
        elif not part.startswith(("\x1b", "\r")):
            lines[row] += part
    return [line for line in lines if line]


@pytest.mark.parametrize("name", ["train.txt", "train.csv", "train.parquet", "train.txt.gz"])
def test_reading_and_fitting_are_shown_on_a_terminal_and_removed(folder, tmp_path, terminal, name):
    columns = [] if "txt" in name else ["--qid", "qid"]
    unlabelled = ["--label", "label"] if columns else []
    for command in (
        ["info", folder / name, *columns],
        ["predict", folder / "model", folder / name, *columns, *unlabelled],
        ["evaluate", folder / "model", folder / name, *columns],
        ["convert", folder / name, tmp_path / "to.txt", *columns],
        ["train", folder / name, "-o", tmp_path / "m", *columns],
    ):
        said = run(*command).stderr
        assert f"{folder}/{name}"[:40] in said
        assert "reading" in said or "parsing" in said
        assert ("objective" in said) == (command[0] == "train")
        assert screen_after(said) == []


def test_nothing_is_shown_with_quiet_or_without_a_terminal(folder, tmp_path, monkeypatch):
    assert run("info", folder / "train.txt").stderr == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run("train", folder / "train.txt", "-o", tmp_path / "m", "-q").stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such terminals")
def test_a_real_terminal_shows_rows_from_a_pipe(folder):
    master, slave = os.openpty()
    content = (folder / "train.txt").read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "pairrank", "info", "-"],
        input=content, stdout=subprocess.PIPE, stderr=slave, timeout=120, check=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(slave)
    said = os.read(master, 1 << 16).decode()
    os.close(master)
    assert b"60" in done.stdout
    assert "reading standard input" in said
    assert "60 rows" in said
    assert screen_after(said) == []


def test_seconds_are_split_into_reading_and_fitting(folder, tmp_path):
    start = time.perf_counter()
    record = record_of("train", folder / "train.txt", "-o", tmp_path / "m")
    elapsed = time.perf_counter() - start
    names = [name for name in record if name.startswith("seconds")]
    assert names == ["seconds reading", "seconds fitting"]
    assert all(record[name] >= 0.0 for name in names)
    assert sum(record[name] for name in names) <= elapsed
