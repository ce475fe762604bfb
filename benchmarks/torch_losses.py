"""Losses for torch: time beside torch.sort, and torch's operations beside the compiled sums.

A time is that of the value and the gradient of all pairs of new scores, labels laid out anew,
beside `torch.sort` of the same scores, timed in turn.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import _harness as harness

LIMIT = harness.one_thread()

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from pairrank.losses import LOSSES  # noqa: E402
from pairrank.torch import all_pairs_loss  # noqa: E402

NAMES = (*LOSSES, "square", "tube")
LEVELS, MATRIX_ROWS = 5, 10_000
BAR_SORT = 3.0


def drawn(n_rows: int) -> tuple[Tensor, Tensor]:
    """Return normal scores in float64, and labels of a few levels that lean to them."""
    generator = torch.Generator().manual_seed(n_rows)
    scores = torch.randn(n_rows, dtype=torch.float64, generator=generator)
    noisy = scores + torch.randn(n_rows, dtype=torch.float64, generator=generator)
    borders = torch.linspace(-1.5, 1.5, LEVELS + 1, dtype=torch.float64)[1:-1]
    return scores, torch.bucketize(noisy, borders)


def stepped(loss: Callable[[Tensor], Tensor], scores: Tensor) -> Callable[[], None]:
    """Return a call that evaluates a loss and its gradient at scores that it has not seen."""
    turn = iter(range(1_000_000))

    def step() -> None:
        own = (scores * (1.0 + 1e-9 * next(turn))).requires_grad_()
        loss(own).backward()

    return step


def time_rows(n_rows: int, repeat: int) -> Iterator[list[Any]]:
    """Time every loss beside a sort of the scores."""
    scores, labels = drawn(n_rows)
    for name in NAMES:
        calls = {
            "ours": stepped(lambda s, n=name: all_pairs_loss(s, labels, loss=n), scores),
            "sort": lambda: torch.sort(scores) is None,
        }
        for call in calls.values():
            call()
        timed = harness.in_turn(calls, repeat)
        times = harness.ratio(timed["ours"], timed["sort"])
        yield [name, f"{timed['ours'].median * 1e9 / n_rows:.0f} ns", times.median, times.spread]


def backend_rows(repeat: int) -> Iterator[list[Any]]:
    """Time torch's operations, pair by pair on this CPU, beside compiled sums."""
    scores, labels = drawn(MATRIX_ROWS)
    for name in NAMES:
        calls = {
            backend: stepped(
                lambda s, b=backend, n=name: all_pairs_loss(s, labels, loss=n, backend=b), scores
            )
            for backend in ("compiled", "torch")
        }
        for call in calls.values():
            call()
        timed = harness.in_turn(calls, repeat, budget=20.0)
        times = harness.ratio(timed["torch"], timed["compiled"])
        yield [name, timed["torch"].median, times.median, times.spread]


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    chosen = parser.parse_args()
    print(harness.header("torch"))
    print(f"\n## Value and gradient, {chosen.rows:,} rows of {LEVELS} levels, float64\n")
    columns = ["loss", "per row", f"of sort (bar {BAR_SORT:g})", "spread"]
    print(harness.table(columns, time_rows(chosen.rows, chosen.repeat)))
    print(f"\n## Torch's operations on the CPU, {MATRIX_ROWS:,} rows of {LEVELS} levels\n")
    columns = ["loss", "seconds", "of compiled sums", "spread"]
    print(harness.table(columns, backend_rows(min(chosen.repeat, 3))))
    LIMIT.restore_original_limits()


if __name__ == "__main__":
    main()
