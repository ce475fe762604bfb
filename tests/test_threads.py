"""Threads: the order of results, limits, forks, exceptions and Ctrl-C."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_array_equal
from scipy import sparse
from threadpoolctl import ThreadpoolController, threadpool_limits

from pairrank import threads
from pairrank.design import Design


@pytest.fixture
def on(monkeypatch):
    """Return a function that calls another with a number of threads."""

    def call(n, function):
        with monkeypatch.context() as patch:
            patch.setattr(threads, "n_threads", lambda: n)
            return function()

    return call


def rows_of(n_rows=700, n_features=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


def test_results_come_in_the_order_of_the_items(on):
    def slow_first(item):
        time.sleep(0.01 if item == 0 else 0.0)
        return item, threading.get_ident()

    found = on(3, lambda: threads.run(slow_first, range(50)))
    assert [item for item, _ in found] == list(range(50))
    assert len({thread for _, thread in found}) > 1
    assert threads.run(slow_first, []) == []
    assert threads.run(slow_first, [1]) == [(1, threading.get_ident())]


def test_an_exception_in_a_block_ends_the_work_and_is_raised(on):
    done = []

    def work(item):
        if item == 5:
            raise ZeroDivisionError(item)
        time.sleep(0.001)
        done.append(item)

    with pytest.raises(ZeroDivisionError, match="5"):
        on(3, lambda: threads.run(work, range(10_000)))
    assert len(done) < 1000
    count = len(done)
    time.sleep(0.02)
    assert len(done) == count
    assert on(3, lambda: threads.run(str, range(3))) == ["0", "1", "2"]


def test_limits_are_obeyed(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    free = threads.n_threads()
    assert 1 <= free <= (os.cpu_count() or 1)
    with threadpool_limits(1):
        assert threads.n_threads() == 1
    assert threads.n_threads() == free
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "1")
            assert threads.n_threads() == 1
            patch.setenv(name, "many")
            assert threads.n_threads() == free


def test_workers_of_joblib_keep_to_their_share():
    n_jobs = max(os.cpu_count() or 1, 2)
    found = Parallel(n_jobs=n_jobs)(delayed(threads.n_threads)() for _ in range(3))
    assert found == [1, 1, 1]


def _products(queue):
    threads.n_threads = lambda: 2
    queue.put(Design(rows_of()).scores(np.ones(6)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(monkeypatch, on):
    monkeypatch.setattr("pairrank.design._BLOCK_ENTRIES", 100)
    design = Design(rows_of())
    here = on(2, lambda: design.scores(np.ones(6)))
    assert threads._pool.executor is not None
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_products, args=(queue,))
    process.start()
    assert_array_equal(queue.get(timeout=60), here)
    process.join(timeout=60)
    assert process.exitcode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_an_interrupt_stops_the_work(on):
    done = []

    def work(item):
        if item == 3:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.001)
        done.append(item)

    with pytest.raises(KeyboardInterrupt):
        on(2, lambda: threads.run(work, range(100_000)))
    assert len(done) < 50_000
    assert on(2, lambda: threads.run(str, range(2))) == ["0", "1"]


def blas_threads():
    libraries = ThreadpoolController().select(user_api="blas")
    return {library.num_threads for library in libraries.lib_controllers}


def test_blas_uses_one_thread_while_any_fit_needs_it():
    before = blas_threads()
    small, wide = np.zeros((1, 5)), np.zeros((1, threads.FACTORISED_COLUMNS + 1))
    with threads.blas_for(small):
        assert blas_threads() == {1}
        with threads.blas_for(sparse.csr_array(wide)):
            pass
        assert blas_threads() == {1}
    assert blas_threads() == before
    with threads.blas_for(wide):
        assert blas_threads() == before
    with pytest.raises(ZeroDivisionError), threads.blas_for(small):
        raise ZeroDivisionError
    assert blas_threads() == before
