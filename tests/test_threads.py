"""Threads: order, limits, forks, exceptions, Ctrl-C, and the same bits on any number of them."""

from __future__ import annotations

import io
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
from pairrank.io import read_rows
from pairrank.losses import Logistic, SquaredHinge
from pairrank.pair_sums import bind
from pairrank.preferences import Levels


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
            for unknown in ("many", "0"):
                patch.setenv(name, unknown)
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


N_ROWS = 700


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut a few hundred rows into many blocks, and let cells serve small queries."""
    for module, sizes in {
        "design": {"_BLOCK_ENTRIES": 100, "_ENTRIES_PER_FEATURE": 1},
        "pair_sums._bound": {"_FEW_ROWS": 1},
        "pair_sums.cells": {
            **{"LEAST_ROWS": 300, "ROWS_PER_BAND": 30, "SMALL_TABLE": 1 << 20},
            **{"ROWS_PER_ENTRY": 0.01, "ROWS_PER_BLOCK": 50},
        },
        "pair_sums.sorted": {"ROWS_PER_PART": 30},
        "pair_sums.boxes": {"ROWS_A_BATCH": 30},
        "pair_sums.sigmoid_pairs": {"PAIRS_A_THREAD": 100},
        "pair_sums.box_sum": {"ROWS_A_BLOCK": 50, "_POINTS_PER_ENTRY": 0},
        "io.svmlight": {"_BLOCK": 64},
    }.items():
        for name, value in sizes.items():
            monkeypatch.setattr(f"pairrank.{module}.{name}", value)


@pytest.fixture
def assert_same(on, small_blocks):
    """Return a function that calls another on one thread, two and three: the same arrays."""

    def check(function):
        found, *others = (on(n, function) for n in (1, 2, 3))
        for other in others:
            for array, wanted in zip(other, found, strict=True):
                assert_array_equal(array, wanted)

    return check


def rows(n_levels: int = 5):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N_ROWS, 6))
    y = np.argsort(np.argsort(X @ np.arange(6.0) + generator.normal(size=N_ROWS)))
    qid = np.where(np.arange(N_ROWS) < 200, 0, np.arange(N_ROWS) // 20)
    return X, y * n_levels // N_ROWS, qid


FORMS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "CSR": sparse.csr_array,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1029, 19), (5, 2051)])
@pytest.mark.usefixtures("small_blocks")
def test_products_of_whole_numbers_are_exact(shape, dtype, form):
    rng = np.random.default_rng(0)
    X = rng.integers(-9, 10, shape) * (rng.random(shape) < 0.7)
    w, values = rng.integers(-9, 10, shape[1]) * 1.0, rng.integers(-9, 10, shape[0]) * 1.0
    design = Design(form(X.astype(dtype)))
    assert_array_equal(design.scores(w), X @ w)
    assert_array_equal(design.transposed(values), X.T @ values)
    assert_array_equal(design.squares_transposed(np.abs(values)), np.square(X).T @ np.abs(values))


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_have_the_same_bits_on_any_number_of_threads(assert_same, form, dtype):
    X = rows()[0].astype(dtype)
    design, (v, w) = Design(form(X)), np.random.default_rng(1).normal(size=(2, N_ROWS))
    assert len(design._blocks()) > 20
    assert_same(lambda: (design.scores(w[:6]), design.transposed(v), design.squares_transposed(v)))


@pytest.mark.parametrize("n_levels", [2, 100])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("loss", "pair_sum"),
    [(SquaredHinge(), "sorted"), (SquaredHinge(), "cells"), (Logistic(), "auto"),
     (Logistic(), "boxes"), (Logistic(), "direct")],
)  # fmt: skip
def test_sums_have_the_same_bits_on_any_number_of_threads(
    assert_same, loss, pair_sum, weighted, n_levels
):
    _, y, qid = rows(n_levels)
    scores, weight, *vectors = np.random.default_rng(1).normal(size=(7, N_ROWS))
    made = Levels.build(y, qid, sample_weight=np.exp(weight) if weighted else None)

    def found():
        at = bind(loss, made, pair_sum=pair_sum).at(0.1 * scores)
        curvature = at.curvature()
        products = curvature.diagonal(), curvature.matmat(np.array(vectors))
        return at.value, at.error, getattr(at, "gradient_error", 0.0), at.gradient, *products

    assert_same(found)


LINES = b"".join(
    b"%d qid:q%d 1:%.17g %d:1e-30 # %d\n" % (k % 3, k // 7, np.sin(k), k % 5 + 2, k)
    for k in range(400)
)


def test_svmlight_is_read_with_the_same_bits_on_any_number_of_threads(assert_same):
    def found():
        read = read_rows(io.BytesIO(b"# first\n\n" + LINES), docid="docid")
        assert read.y.size == 400
        return *read[:3], read.docid

    assert_same(found)
