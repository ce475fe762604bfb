"""Bytes, passes and times of blocks on many machines, from measured costs of a block and a merge.

One query crosses all blocks. The costs of a block (its summary and its gradients) and of merging
and finishing hundreds of simulated summaries are measured on one thread; the second table computes
from them what an evaluation of 1e9 rows x 100 takes on 1 to 64 workers. It counts the reading of X
as given by `--read`, and what is sent at `--network`. Asserts nothing.
"""

from __future__ import annotations

import argparse
import pickle
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import _harness as harness

N_ROWS, N_FEATURES, ITEM_BYTES = 10**9, 100, 4
WORKERS = (1, 2, 4, 8, 16, 32, 64)


class Costs(NamedTuple):
    """What a block and a merge of one sum cost; bytes of a block's summary and of the table."""

    block: float
    """Seconds per row: summary and gradients."""
    merge: float
    """Seconds per summary."""
    finish: float
    up: int
    down: int


def sums() -> Iterator[tuple[str, Any, int]]:
    """Yield the name of a sum, its loss, and the number of levels of its query."""
    from pairrank.losses import Logistic, Square, SquaredHinge, Tube

    yield "squared hinge, 2 levels", SquaredHinge(), 2
    yield "squared hinge, 5 levels", SquaredHinge(), 5
    yield "logistic, 5 levels", Logistic(), 5
    yield "tube, n = 2", Tube(0.1, 2), 0
    yield "square", Square(), 0


def one_block(n_rows: int, n_levels: int, rng: Any) -> tuple[Any, Any]:
    """Return the layout and the scores of a block whose rows all are of the query."""
    import numpy as np

    from pairrank.blocks._contracts import BlockLayout

    y = rng.integers(0, n_levels or 5, n_rows).astype(np.int32)
    layout = BlockLayout(
        n_rows=n_rows,
        whole=None,
        rows=np.arange(n_rows, dtype=np.int32),
        query=np.zeros(1, dtype=np.int32),
        start=np.array([0, n_rows]),
        level=y if n_levels else y[:0],
        label=np.empty(0) if n_levels else 1.0 * y,
        weight=np.empty((0, n_rows)),
    )
    return layout, rng.normal(size=n_rows) + 0.3 * y


def measured(loss: Any, n_levels: int, n_rows: int, n_summaries: int) -> Costs:
    """Measure a block, and the merge of the summaries of so many."""
    import numpy as np

    from pairrank.blocks.crossing_queries import MomentQuery
    from pairrank.blocks.crossing_sum import crossing_sum, merged_summaries

    rng = np.random.default_rng(0)
    query = MomentQuery(0, n_summaries, np.arange(n_levels, dtype=np.int32))
    layout, scores = one_block(n_rows, n_levels, rng)
    total = crossing_sum(loss, (query,)).placed(scores)
    total.finish(total.summary(scores, layout)).entries(scores, layout)  # Compiles.
    start = time.perf_counter()
    summary = total.summary(scores, layout)
    taken = time.perf_counter() - start
    small = one_block(max(n_rows // 20, 1000), n_levels, rng)
    sent = [pickle.dumps(total.summary(small[1] + 0.01 * k, small[0])) for k in range(20)]
    received = [pickle.loads(sent[k % 20]) for k in range(n_summaries)]
    start = time.perf_counter()
    for other in received:
        summary = merged_summaries(summary, other)
    merged = time.perf_counter()
    table = total.finish(summary)
    end = time.perf_counter()
    table.entries(scores, layout)
    taken += time.perf_counter() - end
    down = len(pickle.dumps(table))
    return Costs(taken / n_rows, (merged - start) / n_summaries, end - merged, len(sent[0]), down)


def on_workers(costs: Costs, n_workers: int, block_rows: int, given: Any) -> list[Any]:
    """Return a row of the table: what an evaluation takes on so many workers.

    A worker merges the summaries of its own blocks, so the client gets one from each; a table goes
    to each worker once. X is read twice: for the scores, and for the gradient.
    """
    n_blocks = -(-N_ROWS // block_rows)
    moved = n_workers * (costs.up + costs.down)
    reading = 2.0 * N_ROWS * N_FEATURES * ITEM_BYTES / (given.read * 1e9) / n_workers
    summing = N_ROWS * costs.block / n_workers
    merging = (n_blocks / n_workers + n_workers) * costs.merge + costs.finish
    sending = moved / (given.network * 1e9)
    seconds = reading + summing + merging + sending
    return [
        n_workers, 2, f"{moved / 1e6:.3g}", f"{reading:.3g}",
        f"{summing:.3g}", f"{merging + sending:.2g}", f"{seconds:.3g}",
    ]  # fmt: skip


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e6, help="rows of a block")
    parser.add_argument("--summaries", type=int, default=500, help="summaries to merge")
    parser.add_argument("--read", type=float, default=1.0, help="GB of X per second and worker")
    parser.add_argument("--network", type=float, default=0.1, help="GB per second of the client")
    given = parser.parse_args()
    limits = harness.one_thread()
    print(harness.header(), "", sep="\n")
    found = {
        name: measured(loss, n_levels, int(given.rows), given.summaries)
        for name, loss, n_levels in sums()
    }
    print(
        harness.table(
            (
                "sum of one query", "block, ns per row", f"merge of {given.summaries}, s",
                "finish, s", "summary, kB", "table, kB",
            ),
            (
                [
                    name, f"{1e9 * costs.block:.3g}", f"{given.summaries * costs.merge:.2g}",
                    f"{costs.finish:.2g}", f"{costs.up / 1e3:.3g}", f"{costs.down / 1e3:.3g}",
                ]
                for name, costs in found.items()
            ),
        )
    )  # fmt: skip
    for name, costs in found.items():
        print(f"\n{N_ROWS:.0e} rows x {N_FEATURES} float32, {name}\n")
        print(
            harness.table(
                (
                    "workers", "passes", "MB sent", "reading X, s", "sums, s",
                    "merging and sending, s", "evaluation, s",
                ),
                (on_workers(costs, n, int(given.rows), given) for n in WORKERS),
            )
        )  # fmt: skip
    del limits


if __name__ == "__main__":
    main()
