"""Threads: the same bits on any number of them, their limits, forks, exceptions and Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "NUMBA_NUM_THREADS"])
def test_limits_of_a_new_process_are_obeyed(name):
    code = "from pairrank import threads; print(threads.n_threads())"
    found = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, name: "1"}, capture_output=True, check=True
    )
    assert found.stdout.strip() == b"1"
