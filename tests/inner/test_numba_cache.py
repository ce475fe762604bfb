"""Compiled code is kept between processes, and needs no folder of ours to write to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "pairrank"

RUN = """
import sys, warnings
warnings.simplefilter("error" if {strict} else "always")
import numpy as np
from pairrank.compiled.layout import gather
out = np.zeros(1)
gather(np.ones(1), np.zeros(1, np.int32), out)
hits = sum(gather.stats.cache_hits.values())
print(float(out[0]), hits)
"""


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package that a test may edit, its own compiled code left behind."""
    folder = tmp_path / "site" / "pairrank"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run_copy(folder: Path, *, strict: bool = True, **environment: str) -> tuple[list[str], str]:
    """Run the copy in a new process, without the tests' own cache folder."""
    clean = {name: text for name, text in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    clean |= {"PYTHONPATH": str(folder.parent), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(strict=strict)],
        env=clean, cwd=folder.parent, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def test_a_later_process_loads_what_an_earlier_one_compiled(copied):
    assert run_copy(copied)[0] == ["1.0", "0"]
    assert run_copy(copied)[0] == ["1.0", "1"]


def test_without_any_folder_it_compiles_anew_and_warns_once(copied, tmp_path):
    nowhere = tmp_path / "a file"
    for path in (copied / "compiled" / "__pycache__", nowhere):
        path.write_text("a file where a folder would be, so that not even root can write")
    places = {"HOME": str(nowhere), "XDG_CACHE_HOME": str(nowhere / "cache")}
    words, said = run_copy(copied, strict=False, **places)
    assert words == ["1.0", "0"]
    assert said.count("CacheWarning: no folder can be written for compiled code") == 1
