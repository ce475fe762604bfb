"""The client of a cluster: which one, the memory of its workers, tasks computed or kept."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import dask
import distributed
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker

from pairrank.exceptions import FitInterruptedError, InputTypeError, PairrankError

_LOST = (CancelledError, CommClosedError, KilledWorker, distributed.TimeoutError)
"""The errors by which a client says that workers or the scheduler are gone."""
_ANY_SIZE = {"distributed.admin.large-graph-warning-threshold": "1 PB"}
"""The passes warn of large transfers themselves, with a remedy that applies."""


def client_of(client: Any) -> distributed.Client:
    """Return the client that is given, or else the one of this process, if it can serve a fit."""
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise PairrankError(
                "there is no client of a Dask cluster: make one with distributed.Client(...), "
                "which later fits find, or pass client="
            ) from None
    if not isinstance(client, distributed.Client):
        raise InputTypeError(
            f"client must be a distributed.Client or None, got {type(client).__name__}"
        )
    if client.asynchronous:
        raise PairrankError(
            "the client is asynchronous, and a fit waits for each pass: pass a Client made "
            "without asynchronous=True"
        )
    if client.status == "closed":
        raise PairrankError("the client is closed: pass one that is connected to its cluster")
    return client


def worker_memory(client: distributed.Client) -> float:
    """Return the bytes that all workers may use together; infinite if one has no limit."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] for worker in workers]
    return float(sum(limits)) if all(limits) else float("inf")


def task_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a task that calls a function with values of tasks, of futures, or others."""
    return dask.delayed(function, pure=False, traverse=False)(*arguments)


def shared_by_tasks(value: Any) -> Any:
    """Return a value as a task of its own, so that it travels once."""
    return dask.delayed(value, pure=False, traverse=False)


def kept(client: distributed.Client, tasks: list[Any]) -> list[distributed.Future]:
    """Start to compute tasks, whose values workers keep while the futures live."""
    with dask.config.set(_ANY_SIZE):
        return list(client.compute(tasks, optimize_graph=False))


def computed(client: distributed.Client, tasks: list[Any]) -> list[Any]:
    """Return the values of tasks, each fetched as soon as it is there.

    A FitInterruptedError is raised on Ctrl-C, which ends the work on the cluster too, and if the
    cluster is lost.
    """
    started: list[distributed.Future] = []

    async def each_when_ready() -> list[Any]:
        return await asyncio.gather(*started)

    try:
        started += kept(client, tasks)
        return list(client.sync(each_when_ready))
    except KeyboardInterrupt as error:
        client.cancel(started)
        raise FitInterruptedError("the fit was interrupted") from error
    except _LOST as error:
        raise FitInterruptedError(
            f"the Dask cluster was lost, or a task killed its workers: {error}; give workers more "
            "memory or smaller partitions, or start the cluster again"
        ) from _detached(error)
    except Exception as error:
        raise _detached(error) from None


def _detached(error: Exception) -> Exception:
    """Return a copy of an error of a task, which the client keeps as long as the task's future.

    The error itself would hold the frames of the fit, and these all futures: then workers would
    keep the rows of a fit that has failed.
    """
    try:
        own = copy.copy(error).with_traceback(error.__traceback__)
    except Exception:  # of a class that cannot be copied
        return error
    error.__traceback__ = None
    return own
