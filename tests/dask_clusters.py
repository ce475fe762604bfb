"""A cluster of two worker processes that all tests of Dask share, and one of a test's own."""

from __future__ import annotations

import contextlib

import pytest


@contextlib.contextmanager
def cluster_of(n_workers, *, set_as_default):
    """Lend the client of a new cluster of processes."""
    distributed = pytest.importorskip("distributed", reason="needs dask: make test-extras")
    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=set_as_default) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def client():
    with cluster_of(2, set_as_default=True) as client:
        yield client


@pytest.fixture
def own_client():
    """A cluster that a test may leave with unfinished tasks."""
    with cluster_of(1, set_as_default=False) as client:
        yield client
