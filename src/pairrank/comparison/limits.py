"""Cells in a process of their own, which is ended when its time is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from joblib.externals.loky import get_reusable_executor

from pairrank.comparison.cells import Cell, Step, empty_cell, run_cell
from pairrank.comparison.models import Candidate
from pairrank.comparison.task import Fold, Task

_STARTING = 300.0
"""Seconds in which a process must have started and loaded its libraries."""

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

    def run(task: Task, candidate: Candidate, fold: Fold, step: Step) -> Cell:
        if candidate.name in stopped:
            return empty_cell(candidate.name, fold, f"it was stopped after {seconds:g} s")
        try:
            _executor().submit(_load).result(_STARTING)
            cell: Cell = _executor().submit(_run, task, candidate, fold).result(seconds)
            return cell
        except TimeoutError:
            _end()
            stopped.add(candidate.name)
            return empty_cell(candidate.name, fold, f"it was stopped after {seconds:g} s")
        except BrokenProcessPool:
            _end()
            reason = "its process ended: memory ran out, or a library crashed"
            return empty_cell(candidate.name, fold, reason)

    try:
        yield run
    finally:
        _end()


def _executor() -> Any:
    return get_reusable_executor(max_workers=1, timeout=None)


def _end() -> None:
    _executor().shutdown(wait=True, kill_workers=True)


def _load() -> None:
    """Load this room in the process."""


def _run(task: Task, candidate: Candidate, fold: Fold) -> Cell:
    return run_cell(task, candidate, fold, _silent)


def _silent(n_fits: int, n_choice: int) -> None:
    """Show no progress."""
