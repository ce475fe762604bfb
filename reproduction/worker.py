"""The child process of one cell: it sets the memory limit, runs the cell, writes the answer."""

from __future__ import annotations

import importlib
import json
import math
import os
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pairrank.exceptions import MissingLibraryError
from reproduction.data import DatasetNotFoundError

DIGITS = 6
"""Significant digits that are kept, so that files stay small."""


def run_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Run the function of a request and return its values, or why there are none."""
    start = time.perf_counter()
    try:
        module, _, name = request["function"].partition(":")
        function = getattr(importlib.import_module(module), name)
        values = function(**request["config"], seed=request["seed"])
        answer = {"status": "done", "values": plain(values), "reason": ""}
    except MemoryError:
        answer = _without_values("memory", f"more than {request['memory']:g} GiB")
    except (DatasetNotFoundError, MissingLibraryError) as error:
        answer = _without_values("absent", str(error))
    except Exception as error:
        traceback.print_exc()
        answer = _without_values("failed", f"{type(error).__name__}: {error}"[:300])
    return answer | {"seconds": round(time.perf_counter() - start, 3)}


def plain(value: Any) -> Any:
    """Return a value as JSON holds it: numbers to six digits, NaN as None, arrays as lists."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(each) for each in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return str(value)


def limit_memory(gibibytes: float) -> None:
    """Let allocations fail beyond a size, where the system can."""
    try:
        import resource
    except ImportError:
        return
    size = int(gibibytes * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


def work(asked: str, answered: str, environment: dict[str, str]) -> None:
    """Run the request in a file and write the answer to another, with the CPU seconds it took."""
    if hasattr(os, "setsid"):
        os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    request = json.loads(Path(asked).read_text(encoding="utf-8"))
    limit_memory(request["memory"])
    before = sum(os.times()[:4])
    answer = run_request(request)
    answer["cpu"] = sum(os.times()[:4]) - before
    Path(answered).write_text(json.dumps(answer), encoding="utf-8")


def _without_values(status: str, reason: str) -> dict[str, Any]:
    return {"status": status, "values": {}, "reason": reason}
