"""Work on users in chunks on several processes; an interrupt keeps the finished users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    n_workers = effective_n_jobs(n_jobs)
    size = min(_LARGEST_CHUNK, -(-len(tasks) // (n_workers * _CHUNKS_PER_JOB)))
    chunks = [tasks[at : at + size] for at in range(0, len(tasks), size)] if tasks else []
    results: list[Any] = []
    try:
        for done in _chunk_results(work, chunks, n_workers, n_jobs):
            for result in done:
                if isinstance(result, Interrupted):
                    return Outcome(results, True)
                results.append(result)
            if callback is not None:
                callback(len(results), len(tasks))
    except KeyboardInterrupt:
        return Outcome(results, True)
    return Outcome(results, False)


def _chunk_results(
    work: Callable[[Any], Any], chunks: list[Any], n_workers: int, n_jobs: int | None
) -> Iterator[list[Any]]:
    """Yield the results of each chunk, a list."""
    if n_workers == 1:
        for chunk in chunks:
            with threadpool_limits(1, user_api="blas"):
                done = [work(task) for task in chunk]
            yield done
        return
    parallel = Parallel(n_jobs=n_jobs, return_as="generator")
    with closing(parallel(delayed(_all_of)(work, chunk) for chunk in chunks)) as finished:
        yield from finished


def _all_of(work: Callable[[Any], Any], chunk: Sequence[Any]) -> list[Any]:
    return [work(task) for task in chunk]
