"""Timing in turn: medians and spreads of things timed alternately, and Markdown to paste."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
"""The repository, where the papers' data sets are (reproduction.data)."""
sys.path.insert(0, str(ROOT))

LIBRARIES = ("pairrank", "numpy", "scipy", "scikit-learn", "numba")


class Timing(NamedTuple):
    """The seconds of one thing, as often as it was timed."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle of the timings."""
        return statistics.median(self.seconds)

    @property
    def best(self) -> float:
        """The least of the timings: the one that other processes disturbed least."""
        return min(self.seconds)

    @property
    def spread(self) -> str:
        """The least and the greatest, as text."""
        return f"{min(self.seconds):.3g} to {max(self.seconds):.3g}"


def one_thread() -> Any:
    """Limit every linear algebra library to one thread; keep what is returned.

    numpy and scipy bring a library each, and a limit reaches only those that are loaded: so both
    are loaded first, and whatever comes later, child processes too, reads the environment.
    """
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)


def seconds(call: Callable[[], Any]) -> float:
    """Return how long a call takes; a call that returns a float has timed itself."""
    start = time.perf_counter()
    own = call()
    taken = time.perf_counter() - start
    return own if isinstance(own, float) else taken


def in_turn(
    calls: dict[str, Callable[[], Any]], repeat: int, *, budget: float = float("inf")
) -> dict[str, Timing]:
    """Time the calls alternately, `repeat` rounds or until `budget` seconds are spent.

    What the machine does beside meets all of them alike, so that their ratios hold even where the
    times do not. Warm up before: the first round counts.
    """
    taken: dict[str, list[float]] = {name: [] for name in calls}
    start = time.perf_counter()
    for turn in range(repeat):
        for name, call in calls.items():
            taken[name].append(seconds(call))
        if turn + 1 < repeat and time.perf_counter() - start > budget:
            break
    return {name: Timing(tuple(values)) for name, values in taken.items()}


def ratio(first: Timing, second: Timing) -> Timing:
    """Return the ratios, round by round, of two things that were timed in turn."""
    pairs = zip(first.seconds, second.seconds, strict=True)
    return Timing(tuple(above / below for above, below in pairs))


def growth_exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Return the slope of log time by log size, fitted by least squares."""
    import numpy as np

    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    return statistics.geometric_mean(values)


def header(*libraries: str) -> str:
    """Return the machine, the threads in use, versions, date and command, as Markdown lines.

    Folders of this machine are shown as PATH.
    """
    from pairrank import threads

    used = {1: "one thread"}.get(threads.n_threads(), f"{threads.n_threads()} threads")
    names = [*LIBRARIES, *libraries]
    versions = ", ".join(f"{name} {_version(name)}" for name in names)
    given = ["PATH" if os.sep in part else part for part in sys.argv[1:]]
    command = " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *given])
    return "\n".join(
        (
            f"- Machine: {_processor()}, {os.cpu_count()} cores, {platform.system()}, {used}",
            f"- Versions: Python {platform.python_version()}, {versions}",
            f"- Date: {datetime.datetime.now(datetime.UTC).date()}",
            f"- Command: `{command}`",
        )
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table, numbers to three significant digits."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
