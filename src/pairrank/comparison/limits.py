"""Cells in a process of their own, which is ended when its time is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pickle import PicklingError
from threading import TIMEOUT_MAX
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor

from pairrank.comparison.cells import Cell, Step, empty_cell, run_cell
from pairrank.comparison.models import Candidate
from pairrank.comparison.task import Fold, Task

_STARTING = 300.0
"""Seconds in which a process must have started and loaded its libraries."""

_TAKING = 5.0
"""Seconds in which the pool's thread must have taken work."""

Run = Callable[[Task, Candidate, Fold, Step], Cell]


@contextmanager
def cells_within(seconds: float | None) -> Iterator[Run]:
    """Yield what runs a cell: `run_cell`, or one in a process that is ended after some seconds.

    The process and the libraries that it has loaded serve the next cell too, unless it was ended.
    Its start does not count. After a model was stopped, its other folds are left out.
    """
    if seconds is None:
        yield run_cell
        return
    stopped: set[str] = set()
    worker = _Worker()

    def run(task: Task, candidate: Candidate, fold: Fold, step: Step) -> Cell:
        late = empty_cell(candidate.name, fold, f"it was stopped after {seconds:g} s")
        if candidate.name in stopped:
            return late
        try:
            worker.result(_STARTING, _load)
            cell: Cell = worker.result(seconds, _run, task, candidate, fold)
            return cell
        except TimeoutError:
            worker.end(kill=True)
            stopped.add(candidate.name)
            return late
        except PicklingError:
            reason = "it cannot be pickled, which a time limit needs: define it in a module"
            return late._replace(reason=reason)
        except BrokenProcessPool:
            worker.end(kill=True)
            reason = "its process ended: memory ran out, or a library crashed"
            return late._replace(reason=reason)

    try:
        yield run
    except BaseException:
        worker.end(kill=True)
        raise
    worker.end(kill=False)


class _Worker:
    """A process that is started when it is needed, also after it was ended."""

    def __init__(self) -> None:
        self._pool: Any = None
        self._future: Any = None

    def result(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return a function's result; a TimeoutError after some seconds."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(max_workers=1)
        self._future = self._pool.submit(function, *arguments)
        return self._future.result(min(seconds, TIMEOUT_MAX))

    def end(self, *, kill: bool) -> None:
        """End the process: at once, or after its work."""
        if self._pool is not None:
            if kill:
                self._wait_until_taken()
            self._pool.shutdown(wait=True, kill_workers=kill)
            self._pool = None

    def _wait_until_taken(self) -> None:
        """Wait until the pool's thread has taken the work: it fails if work ends before that."""
        end = time.monotonic() + _TAKING
        while self._future is not None and time.monotonic() < end:
            if self._future.running() or self._future.done():
                return
            time.sleep(0.001)


def _load() -> None:
    """Load this room in the process."""


def _run(task: Task, candidate: Candidate, fold: Fold) -> Cell:
    return run_cell(task, candidate, fold, _silent)


def _silent(n_fits: int, n_choice: int) -> None:
    """Show no progress."""
