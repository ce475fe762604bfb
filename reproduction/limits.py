"""A cell in a child process that is ended when its time is over."""

from __future__ import annotations

import datetime
import json
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from reproduction.machine import busy_seconds, machine, versions
from reproduction.papers import STUDIES
from reproduction.study import Cell
from reproduction.worker import work

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

_starting = threading.Lock()
"""Held while the environment is that of a child."""

BUSY = 0.1
"""Processors that others keep busy from which on a timed cell counts as disturbed."""


def run_cell(cell: Cell) -> dict[str, Any]:
    """Run a cell within its limits and return its record.

    The time limit counts from the start of the process. A cell that is ended has the status "time"
    or "memory". `others` is the mean number of processors that other processes kept busy meanwhile,
    None if the system does not say, if the cell was not alone, or if it was ended.
    """
    with tempfile.TemporaryDirectory(prefix="reproduction-") as folder:
        asked, answered = Path(folder, "request.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps(_request(cell)), encoding="utf-8")
        before, start = busy_seconds(), time.monotonic()
        code = _run_process(cell, asked, answered)
        wall, after = time.monotonic() - start, busy_seconds()
        answer = _answer(cell, code, answered, wall)
    own, others = answer.pop("cpu", None), None
    if cell.timed and own is not None and before is not None and after is not None:
        others = round(max(0.0, after - before - own) / max(wall, 1e-3), 2)
    return {
        "digest": cell.digest,
        **_request(cell),
        "time": cell.seconds,
        "threads": cell.threads,
        "timed": cell.timed,
        **answer,
        "others": others,
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
    with _starting, _threads_in_environment(cell.threads):
        arguments = (str(asked), str(answered), dict(os.environ))
        process = _context(cell.threads).Process(target=work, args=arguments)
        process.start()
    try:
        process.join(cell.seconds)
        return process.exitcode
    finally:
        _end(process)


@contextmanager
def _threads_in_environment(n_threads: int) -> Iterator[None]:
    """Let processes that start now have so many threads."""
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(THREADS, str(n_threads)))
    try:
        yield
    finally:
        for name in THREADS:
            if name in before:
                os.environ[name] = before[name]
            else:
                del os.environ[name]


def _context(n_threads: int) -> Any:
    """Return how processes start: by a fork of one that has imported the libraries, if it can.

    Imports take more time than most cells. Linear algebra takes the number of threads when it is
    imported, so cells of several threads import it themselves.
    """
    if n_threads > 1 or "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(STUDIES.values()))
    return context


def _end(process: BaseProcess) -> None:
    """End a process and those that it started."""
    assert process.pid is not None
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):
        process.kill()
    process.join()


def _answer(cell: Cell, code: int | None, answered: Path, wall: float) -> dict[str, Any]:
    nothing: dict[str, Any] = {"values": {}, "seconds": round(wall, 3)}
    if code is None:
        return nothing | {"status": "time", "reason": f"more than {cell.seconds:g} s"}
    if code == 0 and answered.exists():
        return dict(json.loads(answered.read_text(encoding="utf-8")))
    reason = f"its process ended with code {code}; its memory may have run out"
    return nothing | {"status": "failed", "reason": reason}
