"""Compiled code is kept between processes, never stale, and needs no folder of ours to write to."""

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
{before}
from pairrank.compiled.merges import find_positions
end_of_a, first_of_b = np.empty((2, 1), np.int32)
find_positions(np.zeros(1), np.zeros(1), 1.0, end_of_a, first_of_b)
hits = sum(find_positions.stats.cache_hits.values())
print(float(end_of_a[0]), hits, find_positions._cache.__class__.__name__)
"""
CALLEE = ("pair_runs.py", "return margin - (high - low)", "return -margin")


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package that a test may edit, its own compiled code left behind."""
    folder = tmp_path / "site" / "pairrank"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run_copy(
    folder: Path, *, strict: bool = True, before: str = "", **environment: str
) -> tuple[list[str], str]:
    """Run the copy in a new process, without the tests' own cache folder."""
    clean = {name: text for name, text in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    clean |= {"PYTHONPATH": str(folder.parent), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(strict=strict, before=before)],
        env=clean, cwd=folder.parent, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def close(folder: Path) -> None:
    """Leave no room for compiled code beside the sources, not even for root."""
    (folder / "compiled" / "__pycache__").write_text("a file where the folder would be")


def edit(folder: Path, name: str, old: str, new: str) -> None:
    """Replace the one place of a compiled file that reads `old`."""
    file = folder / "compiled" / name
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def test_a_change_in_a_callee_of_another_file_is_never_hidden(copied):
    assert run_copy(copied)[0][:2] == ["1.0", "0"]
    assert run_copy(copied)[0][:2] == ["1.0", "1"]
    edit(copied, *CALLEE)
    assert run_copy(copied)[0][:2] == ["0.0", "0"]
    assert run_copy(copied)[0][:2] == ["0.0", "1"]


def test_a_change_in_a_file_that_another_callee_imports_is_never_hidden(copied):
    """The margin comes from a file two imports away."""
    (copied / "compiled" / "third.py").write_text("FACTOR = 1.0\n")
    edit(copied, "pair_runs.py", "from pairrank", "from . import third\nfrom pairrank")
    edit(copied, *CALLEE[:2], "return third.FACTOR * margin")
    assert run_copy(copied)[0][:2] == ["1.0", "0"]
    edit(copied, "third.py", "1.0", "-1.0")
    assert run_copy(copied)[0][:2] == ["0.0", "0"]


def test_a_change_in_a_file_that_is_not_imported_compiles_nothing(copied):
    assert run_copy(copied)[0][:2] == ["1.0", "0"]
    (copied / "compiled" / "decimal.py").write_text("")
    assert run_copy(copied)[0][:2] == ["1.0", "1"]


@pytest.mark.parametrize("kept", [0.0, 0.999])
def test_a_torn_file_is_compiled_anew_with_one_warning_and_replaced(copied, kept):
    assert run_copy(copied)[0][:2] == ["1.0", "0"]
    files = list((copied / "compiled" / "__pycache__").glob("*.nbc"))
    assert files
    for file in files:
        code = file.read_bytes()
        file.write_bytes(code[: int(kept * len(code))])
    words, said = run_copy(copied, strict=False)
    assert words[:2] == ["1.0", "0"]
    assert said.count("CacheWarning") == 1
    assert "compiled code cannot be kept in" in said
    assert run_copy(copied)[0][:2] == ["1.0", "1"]


def test_a_cache_that_may_not_be_read_is_compiled_anew_with_one_warning(copied):
    assert run_copy(copied)[0][:2] == ["1.0", "0"]
    for file in (copied / "compiled" / "__pycache__").glob("*.nbc"):
        file.unlink()
        file.mkdir()
    words, said = run_copy(copied, strict=False)
    assert words[:2] == ["1.0", "0"]
    assert said.count("CacheWarning") == 1


def test_a_full_disk_is_compiled_for_with_one_warning_and_leaves_no_torn_file(copied):
    """No file may grow beyond 64 bytes: a write then fails as on a full disk."""
    pytest.importorskip("resource")
    limited = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))"
    )
    words, said = run_copy(copied, strict=False, before=limited)
    assert words[:2] == ["1.0", "0"]
    assert said.count("CacheWarning") == 1
    assert "OSError" in said
    assert not list((copied / "compiled" / "__pycache__").glob("*.nb*"))
    assert run_copy(copied)[0][:2] == ["1.0", "0"]


def test_a_read_only_installation_caches_in_the_users_folder(copied, tmp_path):
    close(copied)
    places = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "user")}
    assert run_copy(copied, **places)[0][:2] == ["1.0", "0"]
    assert run_copy(copied, **places)[0][:2] == ["1.0", "1"]
    assert any((tmp_path / "user").rglob("*.nbc"))


def test_without_any_folder_it_compiles_anew_and_warns_once(copied, tmp_path):
    close(copied)
    nowhere = tmp_path / "a file"
    nowhere.write_text("")
    places = {"HOME": str(nowhere), "XDG_CACHE_HOME": str(nowhere / "cache")}
    for _ in range(2):
        words, said = run_copy(copied, strict=False, **places)
        assert words == ["1.0", "0", "NullCache"]
        assert said.count("CacheWarning: no folder can be written for compiled code") == 1


def test_loading_imports_no_numba_module_that_only_compiling_needs(tmp_path):
    code = """
import sys
import numpy as np
from pairrank.losses import Logistic
from pairrank.pair_sums import bind
from pairrank.preferences import Levels
y, qid, scores = np.arange(200.0) % 5, np.arange(200) // 100, np.linspace(0.0, 1.0, 200)
print(bind(Logistic(), Levels.build(y, qid), eps=1e-6).at(scores).value)
print("numba.np.arrayobj" in sys.modules)
"""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, later = (
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment, capture_output=True, text=True, check=True, timeout=120,
        ).stdout.split()
        for _ in range(2)
    )  # fmt: skip
    assert first[1] == "True"
    assert later == [first[0], "False"]
