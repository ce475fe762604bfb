"""Ctrl-C at every moment of a command: exit code 130, at most one line, no half-written file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from cli_runs import invoke


def test_control_c_in_a_search_keeps_the_best_so_far(folder, tmp_path, monkeypatch):
    from pairrank import RankSVM, load_model

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


@pytest.mark.skipif(os.name == "nt", reason="signals are sent as on Unix")
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
