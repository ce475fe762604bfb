"""Runs cells in child processes with limits: untimed ones side by side, then timed ones alone."""

from __future__ import annotations

import datetime
import importlib
import math
import multiprocessing
import os
import platform
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import metadata
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reproduction.data import DatasetNotFoundError
from reproduction.papers import STUDIES
from reproduction.study import Cell, Record, Study, write_records

LASTING = ("done", "time", "memory")
"""Results that are not computed again, if the limits have not grown."""

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
LIBRARIES = ("pairrank", "numpy", "scipy", "scikit-learn", "numba")
DIGITS = 6
"""Significant digits that are kept, so that files stay small."""


class Work(NamedTuple):
    """A cell to run, with what it is shown as, and the study whose file keeps it."""

    study: Study
    name: str
    cell: Cell


def missing(
    studies: Sequence[Study], tables: Sequence[str] = (), *, full: bool = False, timed: bool = True
) -> list[Work]:
    """Return the cells to run; one of several tables only once.

    The studies take turns, each in proportion to its cells, so that a run of limited hours gets
    equally far in all of them.
    """
    placed: list[tuple[float, Work]] = []
    for study in studies:
        found: dict[str, Work] = {}
        for table in study.tables:
            for cell in table.cells if not tables or table.name in tables else ():
                chosen = (full or not cell.full) and (timed or not cell.timed)
                if chosen and not _lasts(study.records.get(cell.key), cell):
                    place = ", ".join(filter(None, (cell.row, cell.column)))
                    work = Work(study, f"{study.name} {table.label}: {place}", cell)
                    found.setdefault(cell.key, work)
        placed += [(place / len(found), work) for place, work in enumerate(found.values())]
    return [work for _, work in sorted(placed, key=lambda each: each[0])]


def run(works: Sequence[Work], folder: Path, *, jobs: int = 2, hours: float = math.inf) -> int:
    """Run cells and keep their records in a folder; return how many did not fit into the hours.

    A cell starts only if its time limit fits into what is left.
    """
    os.environ.update(ONE_THREAD)
    start, lock, left, done = time.monotonic(), threading.Lock(), [], []

    def run_one(work: Work) -> None:
        if time.monotonic() - start + work.cell.limits[0] > hours * 3600:
            left.append(work)
            return
        record = run_cell(work.cell)
        with lock:
            work.study.records[work.cell.key] = record
            write_records(folder / f"{work.study.name}.json", work.study.records)
            done.append(work)
            place = f"[{len(done):>4}/{len(works)}  {time.monotonic() - start:>5.0f} s]"
            shown = record["reason"] or f"{record['status']}, {record['seconds']:.1f} s"
            print(f"{place} {work.name}: {shown}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run_one, [work for work in works if not work.cell.timed]))
    for work in works:
        if work.cell.timed:
            run_one(work)
    return len(left)


def run_cell(cell: Cell) -> dict[str, Any]:
    """Run a cell within its limits and return its record.

    The time limit counts from the start of the process. A cell that passes a limit has the status
    "time" or "memory".
    """
    seconds, memory = cell.limits
    ours, theirs = multiprocessing.Pipe(duplex=False)
    arguments = (theirs, cell.function, dict(cell.config), memory)
    process = _context().Process(target=answer_for, args=arguments)
    process.start()
    theirs.close()
    answer: dict[str, Any] = {"values": {}, "seconds": seconds}
    try:
        if ours.poll(seconds):
            answer = ours.recv()
        else:
            answer |= {"status": "time", "reason": f"more than {seconds:g} s"}
    except EOFError:
        process.join()
        reason = f"its process ended with code {process.exitcode}; its memory may have run out"
        answer |= {"status": "failed", "reason": reason}
    finally:
        process.kill()
        process.join()
    return {
        "function": cell.function,
        "config": dict(cell.config),
        "time": seconds,
        "memory": memory,
        **answer,
        "machine": _machine(),
        "versions": _versions(),
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def answer_for(pipe: Connection, function: str, config: Mapping[str, Any], memory: float) -> None:
    """Run a function in this process and send its values, or why there are none."""
    _limit_memory(memory)
    start = time.perf_counter()
    answer: dict[str, Any] = {"values": {}}
    try:
        module, _, name = function.partition(":")
        values = getattr(importlib.import_module(module), name)(**config)
        answer = {"status": "done", "values": plain(values), "reason": ""}
    except MemoryError:
        answer |= {"status": "memory", "reason": f"more than {memory:g} GiB"}
    except (DatasetNotFoundError, ImportError) as error:
        answer |= {"status": "absent", "reason": str(error)}
    except Exception as error:
        traceback.print_exc()
        answer |= {"status": "failed", "reason": f"{type(error).__name__}: {error}"[:300]}
    pipe.send(answer | {"seconds": round(time.perf_counter() - start, 3)})


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


def _lasts(record: Record | None, cell: Cell) -> bool:
    """Return whether a record need not be computed again."""
    if record is None or record["status"] not in LASTING:
        return False
    limits = dict(zip(("time", "memory"), cell.limits, strict=True))
    status = record["status"]
    return status not in limits or limits[status] <= record[status]


def _context() -> Any:
    """Return how processes start: by a fork of one that has imported the libraries, if it can.

    Imports take more time than most cells.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(STUDIES.values()))
    return context


def _limit_memory(gibibytes: float) -> None:
    """Let allocations fail beyond a size, on Linux."""
    if sys.platform == "linux":
        import resource

        size = int(gibibytes * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))


@cache
def _versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that all cells use."""
    found = {name: metadata.version(name) for name in LIBRARIES}
    return {"python": platform.python_version(), **found}


@cache
def _machine() -> str:
    """Return processor, cores and system as text."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = names[0] if names else platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}"
