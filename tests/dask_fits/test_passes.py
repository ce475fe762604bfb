"""Passes over the partitions of a cluster: results, empty partitions, dead workers, refusals."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("distributed", reason="needs dask: make test-extras")

import dask  # noqa: E402

import dask_tasks  # noqa: E402
from dask_rows import cut, whole_rows  # noqa: E402
from pairrank.dask import passes as dask_passes  # noqa: E402
from pairrank.dask.partitions import partitions_of  # noqa: E402
from pairrank.dask.passes import DaskPasses  # noqa: E402
from pairrank.exceptions import FitInterruptedError, PairrankError, PairrankWarning  # noqa: E402

rows = pytest.fixture(whole_rows, scope="module")


SHARED = np.array([1.0, -2.0, 0.5])


def passes_over(client, X, y, persist="auto", **layout):
    return DaskPasses(partitions_of(X, y, layout), client, persist)


def check_gradient(passes, X, y):
    passes.describe(dask_tasks.count_threads, None)
    passes.prepare(dask_tasks.keep_labels, 2.0)
    total, score, order = passes.reduce(dask_tasks.gradient, SHARED, dask_tasks.add)
    np.testing.assert_array_equal(total, 2.0 * X.T @ y)
    assert score == (X @ SHARED).sum()
    assert order == list(range(passes.n_blocks))


def test_a_block_works_in_one_thread(client, rows):
    X, y = rows
    passes = passes_over(client, cut(X), cut(y))
    found = passes.describe(dask_tasks.count_threads, None)
    assert set(found) == {(1, (1,))}


def test_rows_that_change_between_passes_are_an_error(client, rows, tmp_path):
    X, y = rows
    mark = str(tmp_path / "read")
    changing = cut(X).map_blocks(dask_tasks.changed_once, mark, dtype=float, meta=np.empty((0, 0)))
    passes = passes_over(client, changing, cut(y), persist=False)
    passes.describe(dask_tasks.count_threads, None)
    passes.prepare(dask_tasks.keep_labels, 1.0)
    with pytest.raises(PairrankError, match="partition 0 differs from the first pass"):
        passes.reduce(dask_tasks.gradient, SHARED, dask_tasks.add)


def test_rows_beyond_half_of_the_memory_are_read_again_with_a_warning(client, rows, monkeypatch):
    X, y = rows
    monkeypatch.setattr(dask_passes, "worker_memory", lambda client: 2.0 * X.nbytes - 2.0)
    with pytest.warns(PairrankWarning, match="each pass of the fit reads it again"):
        check_gradient(passes_over(client, cut(X), cut(y)), X, y)
    check_gradient(passes_over(client, cut(X), cut(y), persist=False), X, y)
    check_gradient(passes_over(client, cut(X), cut(y), persist=True), X, y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_interrupt_ends_the_pass_on_the_cluster_too(own_client, rows):
    X, y = rows
    passes = passes_over(own_client, cut(X), cut(y))
    passes.describe(dask_tasks.count_threads, None)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(FitInterruptedError, match="interrupted") as caught:
        passes.reduce(dask_tasks.sleep, 60.0, max)
    timer.join()
    assert isinstance(caught.value.__cause__, KeyboardInterrupt)
    assert time.monotonic() - start < 60.0


def test_a_lost_cluster_is_an_error_that_says_so(rows):
    import distributed

    X, y = rows
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        distributed.LocalCluster(
            n_workers=1, processes=False, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as own,
    ):
        passes = passes_over(own, cut(X), cut(y))
        passes.describe(dask_tasks.count_threads, None)
        threading.Timer(0.5, cluster.close).start()
        with pytest.raises(FitInterruptedError, match="lost"):
            passes.reduce(dask_tasks.sleep, 5.0, max)
