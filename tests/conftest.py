"""What every test stands on: the folder of compiled code, hypothesis's profile, the real data."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]


def sums_fingerprint(folder: Path = ROOT / "src" / "pairrank" / "compiled") -> str:
    """Return a hash of every compiled source, so that a change in one empties the cache of all.

    numba's cache watches only the file of the cached function: without this, a test would go on
    running the machine code of a callee that has changed.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Return the cache's folder in the repository, or in the temporary folder if that is closed."""
    home = ROOT / ".numba_cache"
    try:
        home.mkdir(exist_ok=True)
        writable = os.access(home, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        home = Path(tempfile.gettempdir()) / "pairrank_numba_cache"
    return home / sums_fingerprint()


os.environ["NUMBA_CACHE_DIR"] = str(cache_folder())
if os.environ.get("PAIRRANK_DATA"):
    os.environ["PAIRRANK_DATA"] = os.path.abspath(os.environ["PAIRRANK_DATA"])

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The folder of real data sets, or a skip that says how to name one."""
    folder = os.environ.get("PAIRRANK_DATA", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip(
            "real data is absent: set PAIRRANK_DATA to a folder that holds it"
            f" (now {folder or 'unset'!r})"
        )
    return Path(folder)
