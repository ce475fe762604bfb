"""Closed and full streams, odd terminals, and SIGTERM: no fit is lost, no fault is shown."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from numpy.linalg import LinAlgError

from cli_rows import make_rows
from cli_runs import refused
from pairrank.io import write_rows, write_svmlight

pytestmark = pytest.mark.skipif(os.name == "nt", reason="streams and signals as on Unix")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("streams")
    write_svmlight(home / "rows.txt", make_rows(0))
    write_rows(home / "rows.csv", make_rows(0))
    done = shell(home, "train rows.txt -o model")
    assert done.returncode == 0, done.stderr
    return home


def shell(home, arguments, **environment):
    """Run a command with redirections by a shell."""
    return subprocess.run(
        f'"{sys.executable}" -m pairrank {arguments}',
        shell=True, cwd=home, env={**os.environ, **environment}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


def test_an_error_of_numpy_becomes_a_sentence(folder, monkeypatch):
    from pairrank.cli import files

    def fails(*_):
        raise LinAlgError("1-th leading minor of the array is not positive definite")

    monkeypatch.setattr(files, "load_rows", fails)
    said = refused("info", folder / "rows.txt")
    assert "leading minor" not in said
    assert "subtract each feature's mean" in said
