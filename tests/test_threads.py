"""Threads: the same bits on any number of them, their limits, forks, exceptions and Ctrl-C."""

from __future__ import annotations

import functools
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

from pairrank import RankSVM, threads
from pairrank.design import Design
from pairrank.losses import SquaredHinge
from pairrank.pair_sums import bind, cells, piecewise
from pairrank.preferences import Levels

FORMS = (np.ascontiguousarray, np.asfortranarray, sparse.csr_array)


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut a few hundred rows into many blocks, and let cells serve small queries."""
    monkeypatch.setattr("pairrank.design._BLOCK_ENTRIES", 100)
    monkeypatch.setattr("pairrank.design._ENTRIES_PER_FEATURE", 1)
    monkeypatch.setattr(cells, "LEAST_ROWS", 2)
    monkeypatch.setattr(cells, "ROWS_PER_BAND", 30)
    for module in (piecewise, cells):
        monkeypatch.setattr(module, "ROWS_PER_BLOCK", 50)
    monkeypatch.setattr(cells, "SMALL_TABLE", 1 << 20)
    monkeypatch.setattr(cells, "ROWS_PER_ENTRY", (0.01, 0.02))


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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_have_the_same_bits_on_any_number_of_threads(small_blocks, on, form, dtype):
    X = rows_of().astype(dtype)
    design = Design(form(X))
    w, v = rows_of(6, 1)[:, 0], rows_of(700, 1)[:, 0]
    assert len(design._blocks()) > 20
    squares = functools.partial(design.squares_transposed, v)
    for product in (lambda: design.scores(w), lambda: design.transposed(v), squares):
        one = on(1, product)
        for n in (2, 3):
            assert_array_equal(on(n, product), one)


@pytest.mark.parametrize("n_levels", [2, 4, 700])
@pytest.mark.parametrize("weighted", [False, True])
def test_cell_sums_have_the_same_bits_on_any_number_of_threads(
    small_blocks, on, n_levels, weighted
):
    rng = np.random.default_rng(1)
    y = rng.permutation(700) % n_levels
    weight = rng.uniform(0.5, 2.0, 700) if weighted else None
    levels = Levels.build(y.astype(float), sample_weight=weight)
    scores, v = rng.normal(size=(2, 700))

    def found():
        at = bind(SquaredHinge(), levels, pair_sum="cells").at(scores)
        curvature = at.curvature()
        sums = (at.value, at.error, at.gradient_error)
        return np.concatenate((sums, at.gradient, curvature.matvec(v), curvature.diagonal()))

    one = on(1, found)
    for n in (2, 3):
        assert_array_equal(on(n, found), one)


def test_a_cell_sum_is_added_up_in_several_tables(small_blocks):
    levels = Levels.build(np.arange(700.0) % 2)
    unit = cells.divide(levels)[0][0]
    made = []

    class Seen(cells.UnitSum):
        def _merged(self, add):
            return super()._merged(lambda rows: made.append(rows) or add(rows))

    grid = piecewise.make_grid(np.zeros(700), 0.0, 1.0, 16.0, 100)
    terms = np.array([1.0]), np.array([2]), np.array([1.0])
    Seen(unit, terms, np.linspace(0, 1, 700), grid).gradient(np.zeros(700), True)
    assert len(made) == 8
    assert sum(rows.stop - rows.start for rows in made) == 700


@pytest.mark.parametrize("n_levels", [2, 700])
@pytest.mark.parametrize("form", FORMS)
def test_a_fit_has_the_same_bits_on_any_number_of_threads(small_blocks, on, form, n_levels):
    X = rows_of()
    y = np.argsort(np.argsort(X @ np.arange(6.0) + rows_of(700, 1, 3)[:, 0])) * n_levels // 700

    def fit(n):
        with threadpool_limits(n):
            return on(n, RankSVM(pair_sum="cells").fit(form(X), y).coef_.copy)

    one = fit(1)
    for n in (2, 3):
        assert_array_equal(fit(n), one)


def test_results_come_in_the_order_of_the_items(on):
    def slow_first(item):
        time.sleep(0.01 if item == 0 else 0.0)
        return item, threading.get_ident()

    found = on(3, lambda: threads.run(slow_first, range(50)))
    assert [item for item, _ in found] == list(range(50))
    assert len({thread for _, thread in found}) > 1
    assert threads.run(slow_first, []) == []


def test_one_item_is_done_by_the_caller(monkeypatch):
    monkeypatch.setattr(threads, "n_threads", None)
    assert threads.run(lambda _: threading.get_ident(), [0]) == [threading.get_ident()]


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


def test_work_within_work_ends(on):
    def outer(item):
        return sum(threads.run(lambda inner: inner * item, range(20)))

    assert on(3, lambda: threads.run(outer, range(20))) == [190 * k for k in range(20)]


def test_numpy_reports_errors_in_helpers_as_in_the_caller(on):
    wait = threading.Barrier(2)

    def work(_):
        wait.wait(timeout=10)
        return np.geterr()["over"]

    with np.errstate(over="raise"):
        found = on(2, lambda: threads.run(work, range(2)))
    assert found[0] == "raise"
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        assert found == ["raise", "raise"]


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


def test_helpers_use_one_thread_each(on):
    wait = threading.Barrier(2)
    real = threads.n_threads

    def work(_):
        wait.wait(timeout=10)
        return threading.get_ident(), real()

    found = dict(on(2, lambda: threads.run(work, range(2))))
    del found[threading.get_ident()]
    assert list(found.values()) == [1]


def test_calls_from_several_threads_share_the_limit(on):
    """A second caller gets no helper while a first one has the only one."""
    pool = threads._pool

    def lent():
        with pool.helpers(9) as first, pool.helpers(9) as second:
            return first, second

    assert on(2, lent) == (1, 0)
    assert on(4, lent) == (3, 2)
    assert pool.n_callers == 0


@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_workers_of_joblib_keep_to_their_share(backend):
    n_jobs = os.cpu_count() or 1
    found = Parallel(n_jobs=max(n_jobs, 2), backend=backend)(
        delayed(threads.n_threads)() for _ in range(3)
    )
    assert found == [1, 1, 1]


def _products(queue):
    threads.n_threads = lambda: 2
    queue.put(Design(rows_of()).scores(np.ones(6)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(small_blocks, on):
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


def test_a_fit_that_fails_gives_blas_its_threads_back():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), threads.blas_for(np.zeros((1, 5))):
        raise ZeroDivisionError
    assert blas_threads() == before
