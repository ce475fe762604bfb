"""Settings of every test: the folder of compiled code, signals, hypothesis, the real data."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]


def code_cache() -> Path:
    """The folder of compiled code for the present sources: numba does not see changed callees."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src" / "pairrank" / "compiled").glob("*.py")):
        digest.update(path.read_bytes())
    folder = Path(os.environ.get("NUMBA_CACHE_DIR", ROOT / ".numba_cache"))
    return folder / digest.hexdigest()[:16]


if "PYTEST_XDIST_WORKER" not in os.environ:  # workers inherit the folder
    os.environ["NUMBA_CACHE_DIR"] = str(code_cache())
if os.environ.get("PAIRRANK_DATA"):
    os.environ["PAIRRANK_DATA"] = os.path.abspath(os.environ["PAIRRANK_DATA"])

# Threads of OpenMP that wait in a loop take the time of the other workers.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# nohup and shells in the background have their children ignore these signals, and so would the
# commands that tests start. A handler is not inherited: commands begin with the system's default.
for number in (getattr(signal, name, None) for name in ("SIGINT", "SIGHUP")):
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)

settings.register_profile(
    "fresh", deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "same", settings.get_profile("fresh"), derandomize=True, database=None, max_examples=25
)
settings.load_profile("same")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all tests of a file to one worker: fixtures and compiled code are made once."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log) if config.getvalue("dist") == "load" else None


@pytest.fixture
def helper(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a module of docs/."""
    folder = str(ROOT / "docs")
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(folder):
            del sys.modules[name]


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


@pytest.fixture(scope="session")
def data() -> Any:
    """Twelve queries of 15 rows with five levels; no test changes them."""
    from pairrank.datasets import make_queries

    return make_queries(12, 15, 4, random_state=0)


@contextlib.contextmanager
def cluster_of(n_workers, *, set_as_default):
    """Lend the client of a new cluster of processes."""
    distributed = pytest.importorskip("distributed", reason="needs dask: make test-extras")
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=set_as_default) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def client():
    with cluster_of(2, set_as_default=True) as client:
        yield client


@pytest.fixture
def own_client():
    """A cluster that a test may leave with unfinished tasks."""
    with cluster_of(1, set_as_default=False) as client:
        yield client
