"""Fits on a Dask cluster: bytes per pass, two workers against one, one worker against memory.

Beside the ratio of two workers stands what the machine allowed in the same minutes: two workers
against one that share work in the processor's cache, and that only read the X that they keep.
"""

from __future__ import annotations

import argparse
import functools
import logging
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from _allowed import computing, reading
from _harness import header, in_turn, one_thread, ratio, table
from pairrank import RankNCG, RankSVM
from pairrank.dask import DaskRankNCG, DaskRankSVM

N_PARTITIONS = 8
SPEED_BAR, OVERHEAD_BAR, BYTES_BAR = 1.6, 1.5, 1.1
OF_ROWS = ("load_", "prepare")
"""What a worker keeps of rows has names that begin so."""
_COMPUTED = 8
"""The items of work in the processor's cache that all workers share."""
RANKERS = {"RankSVM": (DaskRankSVM, RankSVM), "RankNCG": (DaskRankNCG, RankNCG)}


def made(number: int, n_rows: int, n_features: int, part: str) -> Any:
    """Return the features of a partition, or labels of five levels; the same rows for both."""
    X = np.random.default_rng(number).normal(size=(n_rows, n_features))
    if part == "X":
        return X
    utility = X @ np.linspace(-1.0, 1.0, n_features) / np.sqrt(n_features / 3.0)
    noisy = utility + np.random.default_rng([number, 1]).normal(size=n_rows)
    return np.digitize(noisy, [-1.5, -0.5, 0.5, 1.5]).astype(float)


def collections(n_rows: int, n_features: int, client: Any = None) -> tuple[Any, Any]:
    """Return X and y, made by the workers when they are needed, or now by those of a client.

    These keep as many partitions each. Where Dask places them, one of two workers may keep 5 of 8,
    and work ends when its work does.
    """
    import dask
    import dask.array as da

    size = n_rows // N_PARTITIONS
    workers = [] if client is None else list(client.nthreads())
    parts: dict[str, list[Any]] = {"X": [], "y": []}
    for name, shape in (("X", (size, n_features)), ("y", (size,))):
        for number in range(N_PARTITIONS):
            how = number, size, n_features, name
            rows = dask.delayed(made)(*how)
            if workers:
                own = workers[number % len(workers)]
                rows = dask.delayed(client.submit(made, *how, workers=[own]))
            parts[name].append(da.from_delayed(rows, shape, dtype=float))
    X, y = da.concatenate(parts["X"]), da.concatenate(parts["y"])
    if workers:
        X, y = client.persist((X, y))
        client.gather(client.compute([X.sum(), y.sum()]))
    return X, y


@contextmanager
def cluster(n_workers: int) -> Iterator[Any]:
    """Start workers of one thread each, as processes.

    Yields
    ------
    distributed.Client
    """
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        ) as workers,
        Client(workers, set_as_default=False) as client,
    ):
        yield client


def received(dask_worker: Any) -> int:
    """Return the bytes of rows that a worker has received from other workers.

    Rows travel where the scheduler of Dask gives a task to a worker that is idle.
    """
    return sum(
        size
        for entry in dask_worker.transfer_incoming_log
        for key, size in entry["keys"].items()
        if str(key).startswith(OF_ROWS)
    )


class Traffic:
    """The bytes of the passes of a fit: of results, and from the client to the scheduler.

    Results are counted pickled: that of all blocks together, which is about as large as each
    block's.
    """

    def __init__(self, client: Any) -> None:
        self.client, self.sent = client, 0
        self._send = client._send_to_scheduler
        client._send_to_scheduler = self._counted

    def of_fit(self, fit: Callable[[], Any]) -> tuple[float, float, float, int]:
        """Return the bytes of results, of rows and to the scheduler, and the number of passes.

        They are the means of all passes of a fit but the first.
        """
        from pairrank.dask.passes import DaskPasses

        describe, reduce = DaskPasses.describe, DaskPasses.reduce
        results: list[int] = []
        n_passes, sent, received_before = 0, 0, 0

        def first(passes: Any, *arguments: Any) -> Any:
            nonlocal received_before
            found = describe(passes, *arguments)
            received_before = self._received()
            return found

        def counted(passes: Any, *arguments: Any) -> Any:
            nonlocal n_passes, sent
            before = self.sent
            found = reduce(passes, *arguments)
            n_passes += 1
            sent += self.sent - before
            results.append(passes.n_blocks * len(pickle.dumps(found)))
            return found

        with (
            patch.object(DaskPasses, "describe", first),
            patch.object(DaskPasses, "reduce", counted),
        ):
            fit()
        rows = self._received() - received_before
        return sum(results) / n_passes, rows / n_passes, sent / n_passes, n_passes

    def _received(self) -> int:
        return sum(self.client.run(received).values())

    def _counted(self, message: Any) -> Any:
        graph = message.get("expr_ser")
        if graph is not None:
            self.sent += sum(len(memoryview(frame).cast("B")) for frame in graph.frames)
        return self._send(message)


def bytes_per_pass(sizes: list[int], n_features: int) -> list[tuple[Any, ...]]:
    """Return a line per ranker and number of rows: one query of five levels."""
    lines = []
    with cluster(2) as client:
        traffic = Traffic(client)
        for name, (on_dask, _) in RANKERS.items():
            first = None
            for n_rows in sizes:
                X, y = collections(n_rows, n_features)
                ranker = on_dask(client=client)
                found = traffic.of_fit(lambda r=ranker, X=X, y=y: r.fit(X, y))
                between, rows, sent, n_passes = found
                first = first or between + sent
                grown = (between + sent) / first
                lines.append((name, n_rows, between, rows, sent, n_passes, grown, BYTES_BAR))
    return lines


def compute_share(client: Any) -> None:
    """Have each worker compute its share of the items."""
    client.run(computing, _COMPUTED // len(client.nthreads()))


def read_kept(dask_worker: Any) -> None:
    """Read every X that a worker keeps."""
    for value in dask_worker.data.values():
        if getattr(value, "ndim", 0) == 2:
            reading(value)


def fits(n_rows: int, n_features: int, repeat: int) -> list[tuple[Any, ...]]:
    """Return a line per ranker: seconds in memory, on one worker and on two, and ratios."""
    lines = []
    with cluster(1) as one, cluster(2) as two:
        for name, (on_dask, in_memory) in RANKERS.items():
            kept = [collections(n_rows, n_features, client) for client in (one, two)]
            local = [np.concatenate([made(number, n_rows // N_PARTITIONS, n_features, part)
                     for number in range(N_PARTITIONS)]) for part in ("X", "y")]  # fmt: skip
            calls: dict[str, Callable[[], Any]] = {
                "memory": lambda f=in_memory, rows=local: f().fit(*rows),
                "one": lambda f=on_dask, rows=kept[0]: f(client=one).fit(*rows),
                "two": lambda f=on_dask, rows=kept[1]: f(client=two).fit(*rows),
            }
            timed = tuple(calls)
            for number, client in (("one", one), ("two", two)):
                calls[f"computing {number}"] = functools.partial(compute_share, client)
                calls[f"reading {number}"] = functools.partial(client.run, read_kept)
            in_turn(calls, 1)
            found = in_turn(calls, repeat)
            overhead, gain = ratio(found["one"], found["memory"]), ratio(found["one"], found["two"])
            medians = (found[each].median for each in timed)
            allowed = (
                ratio(found[f"{work} one"], found[f"{work} two"]).median
                for work in ("computing", "reading")
            )
            lines.append(
                (name, *medians, overhead.median, OVERHEAD_BAR, gain.median, gain.spread, *allowed,
                 SPEED_BAR)
            )  # fmt: skip
    return lines


def main() -> None:
    """Print both tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--bytes-rows", type=float, nargs="+", default=[1e5, 1e7])
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    limit = one_thread()
    print(header("dask", "distributed"))
    print(f"\nOne query of five levels x {options.features}, {N_PARTITIONS} partitions\n")
    lines = bytes_per_pass([int(size) for size in options.bytes_rows], options.features)
    print(table(("", "rows", "bytes of results per pass", "bytes of rows",
                 "bytes to the scheduler", "passes",
                 "of the first", "bar"), lines))  # fmt: skip
    print(f"\n{options.rows:g} x {options.features}, whole fits\n")
    lines = fits(int(options.rows), options.features, options.repeat)
    print(table(("", "memory (s)", "one worker (s)", "two (s)", "one/memory", "bar", "one/two",
                 "spread", "computing", "reading X", "bar"), lines))  # fmt: skip
    del limit


if __name__ == "__main__":
    main()
