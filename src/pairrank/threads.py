"""Threads: blocks of work on one pool; no result depends on the number of threads."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from multiprocessing.process import current_process
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

FACTORISED_COLUMNS = 2000
"""The linear algebra of a fit with more columns is worth several threads of BLAS."""

_is_helper = contextvars.ContextVar("_is_helper", default=False)


class _Pool:
    """The helper threads of this process, and the number of calls that use them now."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_callers = 0
        self.executor: ThreadPoolExecutor | None = None

    @contextlib.contextmanager
    def helpers(self, most: int) -> Iterator[int]:
        """Lend so many helpers: each call that runs now is a thread too.

        Yields
        ------
        int
        """
        limit = n_threads()
        with self.lock:
            self.n_callers += 1
            allowed = max(0, min(limit - self.n_callers, most))
        try:
            yield allowed
        finally:
            with self.lock:
                self.n_callers -= 1

    def submit(self, work: Callable[[], None]) -> Future[None]:
        """Have a helper do `work`, under the caller's settings of numpy's errors."""
        with self.lock:
            if self.executor is None:
                self.executor = ThreadPoolExecutor(max(2, os.cpu_count() or 1), "pairrank")
        context = contextvars.copy_context()
        context.run(_is_helper.set, True)
        return self.executor.submit(context.run, work)


class _Blas:
    """The limit of one thread that the linear algebra libraries have while some fit needs it.

    The limit holds for the whole process, so fits in several threads share it.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n_users = 0
        self.limit: Any = None

    @contextlib.contextmanager
    def limited(self) -> Iterator[None]:
        """Keep the limit.

        Yields
        ------
        None
        """
        with self.lock:
            self.n_users += 1
            if self.n_users == 1:
                self.limit = _libraries("blas").limit(limits=1)
        try:
            yield
        finally:
            with self.lock:
                self.n_users -= 1
                if not self.n_users:
                    self.limit.restore_original_limits()


@functools.cache
def _libraries(kind: str) -> Any:
    """Return the loaded libraries of a kind, "blas" or "openmp"."""
    import scipy.linalg  # noqa: F401  # numpy and scipy bring a BLAS each,
    import sklearn.base  # noqa: F401  # and scikit-learn OpenMP.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api=kind)


@functools.cache
def _n_processors() -> int:
    from joblib import cpu_count

    return int(cpu_count())


_pool, _blas = _Pool(), _Blas()


def _begin_anew() -> None:
    global _pool, _blas
    _pool, _blas = _Pool(), _Blas()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)  # A child process inherits no threads.


def blas_for(X: Any) -> contextlib.AbstractContextManager[None]:
    """Let BLAS use one thread in a fit to X, unless X is dense with more than 2,000 columns.

    BLAS adds in another order on another number of threads, and gains little for small matrices and
    for vectors.
    """
    from scipy.sparse import issparse

    is_wide = X.shape[1] > FACTORISED_COLUMNS and not issparse(X)
    return contextlib.nullcontext() if is_wide else _blas.limited()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep the work of the calling thread in it, and BLAS at one thread.

    For work that shares its processors with other such work, as a task on a cluster does.

    Yields
    ------
    None
    """
    token = _is_helper.set(True)
    try:
        with _blas.limited():
            yield
    finally:
        _is_helper.reset(token)


def openmp_limited_to(limit: int | None) -> Any:
    """Return a context that limits the OpenMP loops of this thread, as those of torch.

    None is no limit. For many small steps one thread is best: waking others would take longer than
    the work.
    """
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limit, user_api="openmp")


def n_threads() -> int:
    """Return how many threads a call from this thread may use.

    They are as many as the processors that this process may use, limited by OMP_NUM_THREADS,
    NUMBA_NUM_THREADS, ``threadpoolctl.threadpool_limits`` and joblib's limit for its workers.
    Threads of the pool and daemonic processes (such as those of ``multiprocessing.Pool``) use one.
    """
    if _is_helper.get() or current_process().daemon:
        return 1
    limits = (each.num_threads for each in _libraries("openmp").lib_controllers)
    found = min([_n_processors(), *limits])
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        text = os.environ.get(name, "")
        if text.isdecimal() and int(text) > 0:
            found = min(found, int(text))
    return found


def run(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return work(item) for each item, in their order.

    The calling thread and helpers take one item after another. So `work` should spend its time in
    compiled functions, which run in parallel, and items must not write to the same place. A single
    item costs no more than a call. The first exception ends the work, and is raised here once no
    thread is at work any more.
    """
    items = list(items)
    if len(items) < 2:
        return [work(item) for item in items]
    results: list[Any] = [None] * len(items)
    waiting = deque(enumerate(items))

    def take_turns() -> None:
        try:
            while True:
                try:
                    at, item = waiting.popleft()
                except IndexError:
                    return
                results[at] = work(item)
        except BaseException:
            waiting.clear()
            raise

    pool = _pool
    with pool.helpers(len(items) - 1) as n_helpers:
        started: list[Future[None]] = []
        try:
            for _ in range(n_helpers):
                started.append(pool.submit(take_turns))
            take_turns()
        finally:
            waiting.clear()
            running = [helper for helper in started if not helper.cancel()]
            wait(running)
    for helper in running:
        helper.result()
    return results


def blocks(n_rows: int, size: int, first: int = 0) -> list[slice]:
    """Cut the rows from `first` to n_rows into slices of `size`; the last may be shorter."""
    return [slice(start, min(start + size, n_rows)) for start in range(first, n_rows, size)]
