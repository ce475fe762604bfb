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
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402

import dask_tasks  # noqa: E402
from pairrank import Pairs  # noqa: E402
from pairrank.dask import passes as dask_passes  # noqa: E402
from pairrank.dask.clients import client_of  # noqa: E402
from pairrank.dask.partitions import partitions_of  # noqa: E402
from pairrank.dask.passes import DaskPasses  # noqa: E402
from pairrank.exceptions import (  # noqa: E402
    FitInterruptedError,
    InputTypeError,
    NoPairsError,
    PairrankError,
    PairrankWarning,
)

CHUNKS = (40, 0, 90, 3, 0, 67)
SHARED = np.array([1.0, -2.0, 0.5])


@pytest.fixture(scope="module")
def rows():
    """Whole numbers as features, so that sums are exact in any order."""
    rng = np.random.default_rng(0)
    size = sum(CHUNKS)
    return rng.integers(-9, 9, (size, 3)).astype(float), rng.integers(0, 4, size)


def cut(array, chunks=CHUNKS):
    array = np.asarray(array)
    return da.from_array(
        array, chunks=(chunks, (array.shape[1],)) if array.ndim == 2 else (chunks,)
    )


def passes_over(client, X, y, persist="auto", **layout):
    return DaskPasses(partitions_of(X, y, layout), client, persist)


def check_gradient(passes, X, y):
    passes.describe(dask_tasks.describe_rows, None)
    passes.prepare(dask_tasks.keep_labels, 2.0)
    total, score, order = passes.reduce(dask_tasks.gradient, SHARED, dask_tasks.add)
    np.testing.assert_array_equal(total, 2.0 * X.T @ y)
    assert score == (X @ SHARED).sum()
    assert order == list(range(passes.n_blocks))


@pytest.mark.parametrize("persist", ["auto", True, False])
def test_a_pass_merges_the_results_of_every_block_in_order(client, rows, persist):
    X, y = rows
    passes = passes_over(client, cut(X), cut(y), persist, sample_weight=cut(np.ones(y.size)))
    found = passes.describe(dask_tasks.describe_rows, "shared")
    sizes = [size for size in CHUNKS if size]
    assert [shape for _, shape, *_ in found] == [(size, 3) for size in sizes]
    assert sum(labels for _, _, labels, *_ in found) == y.sum()
    assert [weight for *_, weight, _ in found] == sizes
    assert {shared for *_, shared in found} == {"shared"}
    assert list(passes.prepare(dask_tasks.keep_labels, 2.0)) == sizes
    before = passes.n_passes
    for _ in range(2):
        check = passes.reduce(dask_tasks.gradient, SHARED, dask_tasks.add)
        np.testing.assert_array_equal(check[0], 2.0 * X.T @ y)
    assert passes.n_passes == before + 2


@pytest.mark.parametrize("backend", ["numpy", "pyarrow"])
@pytest.mark.parametrize("persist", [True, False])
def test_frames_are_read_with_unknown_lengths(client, rows, backend, persist):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y, qid=[f"q{one % 3}" for one in y])
    if backend == "pyarrow":
        frame = frame.convert_dtypes(dtype_backend="pyarrow")
    frames = dd.from_pandas(frame, npartitions=5)
    frames = frames[frames["y"] >= 0]
    passes = passes_over(client, frames[list("abc")], frames["y"], persist, qid=frames["qid"])
    check_gradient(passes, X, y)


def test_a_dead_worker_costs_its_blocks_only(client, rows, tmp_path):
    X, y = rows
    for persist in (True, False):
        passes = passes_over(client, cut(X), cut(y), persist)
        check_gradient(passes, X, y)
        mark = str(tmp_path / f"died-{persist}")
        total, *_ = passes.reduce(dask_tasks.die_once, (SHARED, mark), dask_tasks.add)
        assert os.path.exists(mark)
        np.testing.assert_array_equal(total, 2.0 * X.T @ y)
        client.wait_for_workers(2, timeout=60)


def test_merges_leave_what_they_are_given_as_it_was():
    """A worker may need a result again: merges write into a copy of the first."""
    parts = [[index] for index in range(5)]
    for _ in range(2):
        assert dask_passes.tasks.merge(list.__iadd__, parts) == [0, 1, 2, 3, 4]
    assert parts == [[index] for index in range(5)]


def test_tasks_are_sent_by_name(client, rows):
    """No code travels: a pass's graph is smaller than any of its tasks' code would be."""
    from distributed.protocol import pickle

    for task in (dask_tasks.gradient, dask_tasks.add, dask_passes.tasks.evaluate):
        assert len(pickle.dumps(task)) < 100


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
    passes.describe(dask_tasks.describe_rows, None)
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
    passes.describe(dask_tasks.describe_rows, None)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(FitInterruptedError, match="interrupted") as caught:
        passes.reduce(dask_tasks.sleep, 60.0, dask_tasks.greatest)
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
        passes.describe(dask_tasks.describe_rows, None)
        threading.Timer(0.5, cluster.close).start()
        with pytest.raises(FitInterruptedError, match="lost"):
            passes.reduce(dask_tasks.sleep, 5.0, dask_tasks.greatest)


def refused(rows):
    """Yield what is refused: X, y, further rows, the error and its message."""
    X, y = rows
    dX, dy = cut(X), cut(y)
    shifted = (40, 0, 91, 2, 0, 67)
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3)
    columns = da.from_array(X, chunks=(50, 2))
    return {
        "memory_X": (X, dy, {}, InputTypeError, "X must be an array, a dataframe or a series"),
        "memory_y": (dX, y, {}, InputTypeError, "y must be an array, a dataframe or a series"),
        "no_y": (dX, None, {}, InputTypeError, "y is None"),
        "pairs": (dX, Pairs([0], [1]), {}, InputTypeError, "Pairs number the rows"),
        "flat_X": (dy, dy, {}, InputTypeError, "X must have two dimensions"),
        "series_X": (frame["a"], frame["b"], {}, InputTypeError, "X must have two dimensions"),
        "columns": (columns, dy, {}, PairrankError, r"2 chunks of columns.*rechunk\({1: -1}\)"),
        "count": (dX, cut(y, (100, 100)), {}, PairrankError, "y has 2 partitions and X 6"),
        "lengths": (dX, cut(y, shifted), {}, PairrankError, "partition 2 of y has 91 .* X 90"),
        "weights": (
            *(dX, dy, {"sample_weight": cut(y, shifted)}, PairrankError),
            "partition 2 of sample_weight has 91",
        ),
        "deep_X": (da.ones((4, 2, 3)), dy, {}, InputTypeError, "X must have two dimensions"),
        "delayed_y": (dX, dask.delayed(y), {}, InputTypeError, "y must be an array, a dataframe"),
        "wide_qid": (dX, dy, {"qid": dX}, InputTypeError, "qid must have one dimension"),
        "frame_qid": (frame, frame["a"], {"qid": frame}, InputTypeError, "qid is a DataFrame"),
    }


@pytest.mark.parametrize(
    "name",
    [
        *("memory_X", "memory_y", "no_y", "pairs", "flat_X", "series_X", "columns", "count"),
        *("lengths", "weights", "deep_X", "delayed_y", "wide_qid", "frame_qid"),
    ],
)
def test_what_is_no_collection_cut_by_rows_is_refused_before_any_work(rows, name):
    X, y, layout, error, message = refused(rows)[name]
    with pytest.raises(error, match=message):
        partitions_of(X, y, layout)


def faulty(rows):
    """Yield what only the workers see: X, y, further rows and the message."""
    X, y = rows
    hole = X.copy()
    hole[131, 1] = np.nan
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y, number=np.arange(y.size))
    cut_frame = dd.from_pandas(frame, npartitions=2)
    shorter = cut_frame[cut_frame["number"] != 150]
    undeclared = da.from_delayed(dask.delayed(X[:99]), (100, 3), dtype=float)
    as_text = cut(y).map_blocks(dask_tasks.text_if_short, dtype=object, meta=np.empty(0))
    return {
        "nan": (cut(hole), cut(y), {}, "partition 3: X contains NaN in row 1, feature 1"),
        "unknown_y": (cut_frame[["a"]], shorter["y"], {}, "partition 1 of X has 100 .* y 99"),
        "unknown_w": (
            *(cut_frame[["a"]], cut_frame["y"], {"sample_weight": shorter["y"]}),
            "partition 1 of sample_weight has 99 rows and that of y 100",
        ),
        "negative": (
            *(cut(X), cut(y), {"sample_weight": cut(np.where(np.arange(y.size) == 45, -1.0, 1.0))}),
            r"partition 2: sample_weight\[5\] = -1.0 is negative",
        ),
        "undeclared": (
            *(da.concatenate([undeclared, cut(X[100:], (100,))]), cut(y, (100, 100)), {}),
            "partition 0 of X has 99 rows and that of y 100",
        ),
        "kinds": (cut(X), as_text, {}, "y holds text in partition 3 and numbers in partition 0"),
    }


@pytest.mark.parametrize(
    "name", ["nan", "unknown_y", "unknown_w", "undeclared", "negative", "kinds"]
)
def test_bad_rows_are_an_error_that_names_the_partition(client, rows, name):
    X, y, layout, message = faulty(rows)[name]
    with pytest.raises(PairrankError, match=message):
        passes_over(client, X, y, **layout).describe(dask_tasks.count_threads, None)


def test_collections_without_rows_are_an_error(client):
    with pytest.raises(NoPairsError, match="no rows"):
        passes_over(client, cut(np.ones((0, 2)), (0, 0)), cut(np.ones(0), (0, 0)))


def test_a_missing_client_is_an_error_that_says_what_to_do(client):
    assert client_of(None) is client
    assert client_of(client) is client
    with pytest.raises(InputTypeError, match="client must be"):
        client_of("tcp://scheduler:8786")


def test_a_closed_client_is_an_error_that_says_so(client):
    import distributed

    with distributed.Client(client.scheduler.address, set_as_default=False) as own:
        pass
    with pytest.raises(PairrankError, match="the client is closed"):
        client_of(own)
