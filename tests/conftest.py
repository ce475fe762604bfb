"""Settings of every test: the folder of compiled code, signals, hypothesis, the real data."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dask_clusters import client, own_client  # noqa: F401

ROOT = Path(__file__).resolve().parents[1]

os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache"))
if os.environ.get("PAIRRANK_DATA"):
    os.environ["PAIRRANK_DATA"] = os.path.abspath(os.environ["PAIRRANK_DATA"])

# nohup and shells in the background have their children ignore these signals, and so would the
# commands that tests start. A handler is not inherited: commands begin with the system's default.
for number in (getattr(signal, name, None) for name in ("SIGINT", "SIGHUP")):
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)

settings.register_profile(
    "fresh", deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("same", settings.get_profile("fresh"), derandomize=True, database=None)
settings.load_profile("same")


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
