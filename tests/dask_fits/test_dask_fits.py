"""Fits on a Dask cluster against the same fits in memory."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("distributed", reason="needs dask: make test-extras")

import dask.array as da  # noqa: E402

import pairrank  # noqa: E402
import pairrank.dask  # noqa: E402
from dask_rows import cut, labelled_rows  # noqa: E402
from pairrank.blocks import catalog  # noqa: E402
from pairrank.dask.passes import DaskPasses  # noqa: E402
from pairrank.exceptions import FitInterruptedError  # noqa: E402

rows = pytest.fixture(labelled_rows, scope="module")


@pytest.fixture(scope="module", autouse=True)
def small_sample():
    """Have fits draw 300 rows, so that they need passes over all others."""
    patch = pytest.MonkeyPatch()
    patch.setattr(catalog, "SAMPLE_ROWS", 300)
    yield
    patch.undo()


@pytest.mark.parametrize("name", ["RankSVM", "RankNCG"])
def test_what_travels_for_one_query_of_few_labels_does_not_grow_with_the_rows(
    client, monkeypatch, name
):
    largest, described = [], []
    describe = DaskPasses.describe

    def first(passes, *arguments):
        found = describe(passes, *arguments)
        described.append(passes)
        client.run(forget_transfers)
        return found

    monkeypatch.setattr(DaskPasses, "describe", first)
    for n_rows in (100_000, 400_000):
        X = da.random.default_rng(0).normal(size=(n_rows, 2), chunks=(n_rows // 4, 2))
        y = (X[:, 0] > 0).astype(float) + (X[:, 1] > 1)
        getattr(pairrank.dask, f"Dask{name}")(client=client).fit(X, y)
        sizes = [size for each in client.run(received).values() for size in each]
        assert len(sizes) <= 4 * described[-1].n_passes  # at most what each of four blocks gives
        largest.append(max(sizes))
    few, many = largest
    assert 0 < many <= 1.1 * few + 4096  # keys and headers vary a little


def forget_transfers(dask_worker):
    """Empty the log of what came from other workers."""
    dask_worker.transfer_incoming_log.clear()


def received(dask_worker):
    """Return the bytes of what came from other workers; dask may move rows to an idle one."""
    return [
        size
        for entry in dask_worker.transfer_incoming_log
        for key, size in entry["keys"].items()
        if not str(key).startswith(("load_", "prepare"))
    ]


def test_an_interrupted_fit_carries_its_weights_and_goes_on_from_them(client, rows, monkeypatch):
    X, cases = rows
    ranker = pairrank.dask.DaskRankSVM(tol=1e-8, client=client, warm_start=True)
    seen = []

    def interrupt(step):
        seen.append(step.coef)
        if len(seen) == 2:
            monkeypatch.setattr(client, "sync", interrupted)

    def interrupted(*_):
        monkeypatch.undo()
        raise KeyboardInterrupt

    given = cut(X), cut(cases["one_query"][0])
    with pytest.raises(FitInterruptedError, match="interrupted") as caught:
        ranker.fit(*given, callback=interrupt)
    np.testing.assert_array_equal(caught.value.partial_coef_, seen[1])
    resumed = []
    ranker.fit(*given, callback=lambda step: resumed.append(step.coef) and None)
    np.testing.assert_array_equal(resumed[0], seen[1])
    wanted = pairrank.RankSVM(tol=1e-8).fit(X, cases["one_query"][0])
    np.testing.assert_allclose(ranker.coef_, wanted.coef_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("persist", [True, False])
def test_a_worker_killed_in_the_fit_leaves_the_same_answer(client, rows, persist):
    X, cases = rows
    y = cases["one_query"][0]
    killed = []

    def kill(step):
        if step.n_iter == 1 and not killed:
            killed.append(next(iter(client.nthreads())))
            client.run(kill_process, workers=killed, on_error="ignore")

    ranker = pairrank.dask.DaskRankSVM(tol=1e-8, client=client, persist=persist)
    disturbed = ranker.fit(cut(X), cut(y), callback=kill).coef_
    assert killed
    np.testing.assert_array_equal(disturbed, ranker.fit(cut(X), cut(y)).coef_)
    client.wait_for_workers(2, timeout=60)


def kill_process():
    import os

    os._exit(1)
