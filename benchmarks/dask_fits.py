"""Fits on a Dask cluster: bytes per pass, two workers against one, one worker against memory.

Beside the ratio of two workers stands what the machine allowed in the same minutes: two workers
against one that share work in the processor's cache, and that only read the X that they keep.
"""

from __future__ import annotations

import argparse
import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from _allowed import computing, reading
from _harness import header, in_turn, one_thread, ratio, table
from pairrank import RankNCG, RankSVM
from pairrank.dask import DaskRankNCG, DaskRankSVM

N_PARTITIONS = 8
SPEED_BAR, OVERHEAD_BAR, BYTES_BAR = 1.6, 1.5, 1.1
OF_ROWS = ("pairrank_block", "pairrank_labels", "pairrank_prepare")
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


def collections(n_rows: int, n_features: int) -> tuple[Any, Any]:
    """Return X and y, made by the workers."""
    import dask
    import dask.array as da

    size = n_rows // N_PARTITIONS
    parts: dict[str, list[Any]] = {"X": [], "y": []}
    for name, shape in (("X", (size, n_features)), ("y", (size,))):
        for number in range(N_PARTITIONS):
            rows = dask.delayed(made)(number, size, n_features, name)
            parts[name].append(da.from_delayed(rows, shape, dtype=float))
    return da.concatenate(parts["X"]), da.concatenate(parts["y"])


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

    Results are counted pickled, by the passes themselves: every block's and what all blocks get
    back, so no more travels between workers. Dask's own log of transfers does not count the arrays
    in them. The two passes of an evaluation are one graph, whose bytes are halved.
    """

    def __init__(self, client: Any) -> None:
        self.client, self.sent, self.results = client, 0, 0
        self.between: list[Any] = []
        self.to_scheduler: list[float] = []
        self._send = client._send_to_scheduler
        client._send_to_scheduler = self._counted

    def of_fit(self, fit: Callable[[], Any]) -> tuple[float, float, float]:
        """Return the bytes of results, of rows and to the scheduler.

        They are the means of all passes of a fit but the first.
        """
        from pairrank.dask.passes import DaskPasses

        def counting(reduce: Callable[..., Any], n_passes: int) -> Callable[..., Any]:
            def counted(passes: Any, *arguments: Any) -> Any:
                before, sent = self._received(), self.sent
                found = reduce(passes, *arguments)
                of_pass = np.array([self.results, self._received() - before]) / n_passes
                self.between += [of_pass] * n_passes
                self.to_scheduler += [(self.sent - sent) / n_passes] * n_passes
                return found

            return counted

        def warned(passes: Any, n_bytes: int) -> None:
            self.results = n_bytes

        self.between, self.to_scheduler = [], []
        whole = {"reduce": 1, "reduce_twice": 2}
        known = {name: getattr(DaskPasses, name) for name in (*whole, "_warn_of_bytes")}
        DaskPasses._warn_of_bytes = warned  # type: ignore[method-assign]
        try:
            for name, n_passes in whole.items():
                setattr(DaskPasses, name, counting(known[name], n_passes))
            fit()
        finally:
            for name, reduce in known.items():
                setattr(DaskPasses, name, reduce)
        results, rows = np.mean(self.between, axis=0)
        return float(results), float(rows), float(np.mean(self.to_scheduler))

    def _received(self) -> Any:
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
                between, rows, sent = traffic.of_fit(lambda r=ranker, X=X, y=y: r.fit(X, y))
                first = first or between + sent
                grown = (between + sent) / first
                lines.append(
                    (name, n_rows, between, rows, sent, len(traffic.between), grown, BYTES_BAR)
                )
    return lines


def compute_share(client: Any) -> None:
    """Have each worker compute its share of the items."""
    client.run(computing, _COMPUTED // len(client.nthreads()))


def read_kept(dask_worker: Any) -> None:
    """Read every X that a worker keeps."""
    for value in dask_worker.data.values():
        if np.ndim(value) == 2:
            reading(value)


def fits(n_rows: int, n_features: int, repeat: int) -> list[tuple[Any, ...]]:
    """Return a line per ranker: seconds in memory, on one worker and on two, and ratios."""
    lines = []
    with cluster(1) as one, cluster(2) as two:
        for name, (on_dask, in_memory) in RANKERS.items():
            X, y = collections(n_rows, n_features)
            kept = [client.persist((X, y)) for client in (one, two)]
            for client, rows in zip((one, two), kept, strict=True):
                client.gather(client.compute([each.sum() for each in rows]))
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
