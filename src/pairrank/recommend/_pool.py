"""Work on users in chunks on several processes; an interrupt keeps the finished users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

Progress = Callable[[int, int], None]
"""Called with the number of users done and of all users."""

_CHUNKS_PER_JOB = 8
_LARGEST_CHUNK = 64


class Outcome(NamedTuple):
    """The results of the finished tasks, in order, and whether Ctrl-C left some out."""

    results: list[Any]
    interrupted: bool


class Interrupted:
    """The result of a task that Ctrl-C stopped during a ranker's fit."""


def work_on(
    work: Callable[[Any], Any],
    tasks: Sequence[Any],
    *,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> Outcome:
    """Call `work` on every task, in chunks on several processes, each with one thread of BLAS.

    A user's matrices are small, and two threads take up to ten times as long. `work` must pickle;
    its arrays are shared by memory map.
    """
    size = min(_LARGEST_CHUNK, -(-len(tasks) // (effective_n_jobs(n_jobs) * _CHUNKS_PER_JOB)))
    chunks = [tasks[at : at + size] for at in range(0, len(tasks), size)] if tasks else []
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    results: list[Any] = []
    try:
        with closing(parallel(delayed(_all_of)(work, chunk) for chunk in chunks)) as finished:
            for done in finished:
                for result in done:
                    if isinstance(result, Interrupted):
                        return Outcome(results, True)
                    results.append(result)
                if callback is not None:
                    callback(len(results), len(tasks))
    except KeyboardInterrupt:
        return Outcome(results, True)
    return Outcome(results, False)


def _all_of(work: Callable[[Any], Any], chunk: Sequence[Any]) -> list[Any]:
    with threadpool_limits(1, user_api="blas"):
        return [work(task) for task in chunk]
