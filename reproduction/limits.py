"""A cell in a child process that is ended when its time is over."""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from reproduction.machine import busy_seconds, machine, versions
from reproduction.study import Cell

HERE = Path(__file__).resolve().parents[1]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

BUSY = 0.1
"""Processors that others keep busy from which on a timed cell counts as disturbed."""


def run_cell(cell: Cell) -> dict[str, Any]:
    """Run a cell within its limits and return its record.

    The time limit counts from the start of the process. A cell that is ended has the status "time"
    or "memory". `others` is the mean number of processors that other processes kept busy meanwhile,
    None if the system does not say, or if the cell was not alone.
    """
    with tempfile.TemporaryDirectory(prefix="reproduction-") as folder:
        asked, answered = Path(folder, "request.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps(_request(cell)), encoding="utf-8")
        before, start, own = busy_seconds(), time.monotonic(), _children_seconds()
        code = _run_process(cell, asked, answered)
        wall = time.monotonic() - start
        others = None
        after = busy_seconds()
        if cell.timed and before is not None and after is not None:
            others = max(0.0, after - before - (_children_seconds() - own)) / max(wall, 1e-3)
        answer = _answer(cell, code, answered, wall)
    return {
        "digest": cell.digest,
        **_request(cell),
        "time": cell.seconds,
        "threads": cell.threads,
        "timed": cell.timed,
        **answer,
        "others": None if others is None else round(others, 2),
        "machine": machine(),
        "versions": versions(),
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def is_busy(record: Any) -> bool:
    """Return whether other processes disturbed a timed cell."""
    return bool(record["timed"]) and (record["others"] or 0.0) > BUSY


def _request(cell: Cell) -> dict[str, Any]:
    return {
        "function": cell.function,
        "config": dict(cell.config),
        "seed": cell.seed,
        "memory": cell.memory,
    }


def _run_process(cell: Cell, asked: Path, answered: Path) -> int | None:
    """Run the child; return its exit code, or None if its time was over."""
    command = [sys.executable, "-m", "reproduction.worker", str(asked), str(answered)]
    environment = os.environ | dict.fromkeys(THREADS, str(cell.threads))
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE), *filter(None, sys.path)])
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        return process.wait(cell.seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and those that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        process.kill()
    process.wait()


def _answer(cell: Cell, code: int | None, answered: Path, wall: float) -> dict[str, Any]:
    nothing: dict[str, Any] = {"values": {}, "seconds": round(wall, 3)}
    if code is None:
        return nothing | {"status": "time", "reason": f"more than {cell.seconds:g} s"}
    if code == 0 and answered.exists():
        return dict(json.loads(answered.read_text(encoding="utf-8")))
    reason = f"its process ended with code {code}; its memory may have run out"
    return nothing | {"status": "failed", "reason": reason}


def _children_seconds() -> float:
    """Return the CPU seconds of ended child processes."""
    times = os.times()
    return times.children_user + times.children_system
