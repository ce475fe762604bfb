"""Passes over the partitions of a cluster: results, empty partitions, dead workers, refusals."""

from __future__ import annotations

import contextlib
import gc
import time

import numpy as np
import pytest

pytestmark = pytest.mark.extras
pytest.importorskip("distributed", reason="needs dask: make test-extras")

import dask.array as da  # noqa: E402

from pairrank.dask import DaskRankNCG  # noqa: E402
from pairrank.exceptions import PairrankError  # noqa: E402

CHUNKS = (40, 0, 90, 3, 0, 67)


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


def test_workers_keep_nothing_of_a_fit_that_has_failed(own_client, rows):
    X, y = rows
    hole = np.where(np.arange(y.size) == 60, np.nan, X.T).T
    with contextlib.suppress(PairrankError):  # the error, and its frames, must not stay
        DaskRankNCG(client=own_client).fit(cut(hole), cut(y))
    gc.collect()
    deadline = time.monotonic() + 30.0
    while any(own_client.has_what().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not own_client.futures
    assert not any(own_client.has_what().values())
