"""Work on user after user, by chunks in parallel; an interrupt keeps what is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

Progress = Callable[[int, int], None]
"""Called with the number of users done and of all users."""

_CHUNKS_A_JOB = 8
_LARGEST_CHUNK = 64


class Outcome(NamedTuple):
    """What work on users came to.

    Attributes
    ----------
    results : list
        In the order of the tasks; of those that were done.
    interrupted : bool
        Whether Ctrl-C left tasks undone.
    """

    results: list[Any]
    interrupted: bool


class Interrupted:
    """What work returns where Ctrl-C cut it short and was heeded by a ranker's fit."""


def work_on(
    work: Callable[[Any], Any],
    tasks: Sequence[Any],
    *,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> Outcome:
    """Call `work` on every task, in chunks on several processes, each with one thread of BLAS.

    A user's matrices are small: with two threads, waiting for one another, they take up to ten
    times as long. joblib leaves its processes one thread where there is one of them a core.

    Parameters
    ----------
    work : callable
        That pickles; arrays that it holds are shared by memory map.
    tasks : sequence
    n_jobs : int, optional
        Processes, as joblib counts them; None: one, or what `joblib.parallel_config` says.
    callback : callable, optional
        Told how far it is.

    Returns
    -------
    Outcome
    """
    n_workers = effective_n_jobs(n_jobs)
    size = min(_LARGEST_CHUNK, -(-len(tasks) // (n_workers * _CHUNKS_A_JOB)))
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
    """Yield the results of chunk after chunk, each a list."""
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
