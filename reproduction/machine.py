"""The machine, the versions, and how busy other processes keep it."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata
from pathlib import Path

LIBRARIES = ("pairrank", "numpy", "scipy", "scikit-learn", "numba")


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that all cells use."""
    return {"python": platform.python_version()} | {
        name: metadata.version(name) for name in LIBRARIES
    }


@cache
def machine() -> str:
    """Return processor, cores and memory as text."""
    return f"{_processor()}, {os.cpu_count()} cores{_memory()}, {platform.system()}"


def busy_seconds() -> float | None:
    """Return the CPU seconds that all processes have used; None where the system does not say."""
    try:
        first = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
        user, nice, system = (float(ticks) for ticks in first[1:4])
        return (user + nice + system) / float(os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError):
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return ""
    return f", {size / 2**30:.0f} GiB"
