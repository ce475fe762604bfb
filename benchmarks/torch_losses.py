"""Losses for torch: exactness, time beside torch.sort and other all-pairs losses, and memory.

A time is that of the value and the gradient of all pairs of new scores, labels laid out anew,
beside `torch.sort` of the same scores, timed in turn. The others are
restated here from their papers' formulas: the mean over the n x n matrix of a surrogate of all
differences, as in LibAUC's pairwise loss (Yuan et al. 2023), and the squared hinge as a running
sum of parabolas over sorted scores (Hillman and Hocking 2023). Both are for two levels; the matrix
is given 5 as well. Memory is the peak of a process of its own, per further row; it comes first,
since a process inherits the peak of its parent.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import _harness as harness

LIMIT = harness.one_thread()

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from pairrank.losses import LOSSES, Square, Tube  # noqa: E402
from pairrank.pair_sums import bind  # noqa: E402
from pairrank.preferences import Differences, Levels  # noqa: E402
from pairrank.torch import all_pairs_loss  # noqa: E402

NAMES = (*LOSSES, "square", "tube")
EXACT = {
    **dict.fromkeys(("squared_hinge", "hinge"), "sorted"),
    **dict.fromkeys(("logistic", "probit", "raykar", "exponential"), "direct"),
    **dict.fromkeys(("modified_huber", "huberised_hinge"), "direct"),
    "tube": "sorted",
    "square": "auto",
}
"""The compiled sum that is exact."""
LEVELS, MATRIX_ROWS, SHORT_STEPS = 5, 10_000, 31
BAR_SORT, BAR_EXACT = 3.0, 1e-10


def drawn(n_rows: int, n_levels: int = LEVELS) -> tuple[Tensor, Tensor]:
    """Return normal scores in float64, and labels of a few levels that lean to them."""
    generator = torch.Generator().manual_seed(n_rows)
    scores = torch.randn(n_rows, dtype=torch.float64, generator=generator)
    noisy = scores + torch.randn(n_rows, dtype=torch.float64, generator=generator)
    borders = torch.linspace(-1.5, 1.5, n_levels + 1, dtype=torch.float64)[1:-1]
    return scores, torch.bucketize(noisy, borders)


def stepped(
    loss: Callable[[Tensor], Tensor], scores: Tensor, times: int = 1
) -> Callable[[], float]:
    """Return a call that evaluates a loss and its gradient at scores that it has not seen.

    It returns the median seconds of so many times: short steps need several.
    """
    turn = iter(range(1_000_000))

    def step() -> None:
        own = (scores * (1.0 + 1e-9 * next(turn))).requires_grad_()
        loss(own).backward()

    return lambda: statistics.median(harness.seconds(step) for _ in range(times))


def exactness_rows(n_rows: int) -> Iterator[list[Any]]:
    """Compare the torch backend with compiled exact sums."""
    scores, labels = drawn(n_rows)
    y, qid = labels.numpy().astype(np.float64), np.arange(n_rows) // 200
    losses: dict[str, Any] = {**LOSSES, "square": Square, "tube": Tube}
    for name, algorithm in EXACT.items():
        made = losses[name]()
        differences = name in ("square", "tube")
        pairs = Differences.build(y, qid) if differences else Levels.build(y, qid)
        wanted = bind(made, pairs, pair_sum=algorithm).at(scores.numpy())
        own = scores.clone().requires_grad_()
        value = all_pairs_loss(own, labels, qid, loss=name, reduction="sum", backend="torch")
        value.backward()
        gradient = own.grad.numpy()
        value = value.detach()
        if differences:  # their pairs weigh 1/(2 n_q) there, and 1 in a sum
            weight = 2.0 * np.bincount(qid)[qid]
            value, gradient = _in_differences(made, own.detach(), y, qid), gradient / weight
        off = abs(float(value) / wanted.value - 1.0)
        most = np.abs(gradient - wanted.gradient).max() / np.abs(wanted.gradient).max()
        yield [name, f"{off:.1e}", f"{most:.1e}", f"<= {BAR_EXACT:.0e}"]


def _in_differences(loss: Any, scores: Tensor, y: Any, qid: Any) -> float:
    """Return the sum by the torch backend with the weights of `Differences`."""
    counts = np.bincount(qid)
    parts = [
        float(
            all_pairs_loss(
                scores[qid == query], y[qid == query], loss=loss, reduction="sum", backend="torch"
            )
        )
        / (2.0 * counts[query])
        for query in range(counts.size)
    ]
    return sum(parts)


def time_rows(n_rows: int, repeat: int) -> Iterator[list[Any]]:
    """Time every loss beside a sort of the scores, in float32 and float64."""
    for dtype in (torch.float32, torch.float64):
        scores, labels = drawn(n_rows)
        scores = scores.to(dtype)
        for name in NAMES:
            calls = {
                "ours": stepped(lambda s, y=labels, n=name: all_pairs_loss(s, y, loss=n), scores),
                "sort": lambda scores=scores: torch.sort(scores) is None,
            }
            for call in calls.values():
                call()
            timed = harness.in_turn(calls, repeat)
            times = harness.ratio(timed["ours"], timed["sort"])
            cells = [f"{timed['ours'].median * 1e9 / n_rows:.0f} ns", times.median, times.spread]
            yield [name, str(dtype).partition(".")[2], *cells, f"<= {BAR_SORT:.0f}"]


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


def matrix_loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the mean squared hinge of all pairs, by the n x n matrix of differences."""
    d = scores[:, None] - scores[None, :]
    preferred = labels[:, None] > labels[None, :]
    return (1.0 - d).clamp(min=0.0).square()[preferred].mean()


def blocks_loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the mean squared hinge of winners less losers, by their matrix (two levels)."""
    d = scores[labels == 1][:, None] - scores[labels == 0][None, :]
    return (1.0 - d).clamp(min=0.0).square().mean()


def parabolas_loss(scores: Tensor, labels: Tensor) -> Tensor:
    """Return the mean squared hinge of all pairs of two levels, by one sort.

    A loser of score s costs the sum of (1 - s_i + s)^2 over the winners below s + 1: a parabola in
    s whose coefficients are running sums over sorted scores, losers moved up by the margin.
    """
    wins = (labels == 1).to(scores.dtype)
    order = torch.argsort(scores.detach() + (1.0 - wins))
    s, w = scores[order], wins[order]
    a, b, c = (torch.cumsum(w * (1.0 - s) ** power, 0) for power in range(3))
    total = ((1.0 - w) * (a * s * s + 2.0 * b * s + c)).sum()
    return total / (wins.sum() * (1.0 - wins).sum())


def rival_rows(n_rows: int, repeat: int) -> Iterator[list[Any]]:
    """Time the squared hinge of others beside ours, and compare values."""
    cases: list[tuple[str, Callable[..., Tensor], int, int]] = [
        ("n x n matrix", matrix_loss, MATRIX_ROWS, LEVELS),
        ("winners x losers (LibAUC)", blocks_loss, MATRIX_ROWS, 2),
        ("running parabolas", parabolas_loss, MATRIX_ROWS, 2),
        ("running parabolas", parabolas_loss, n_rows, 2),
    ]
    for name, rival, rows, levels in cases:
        for dtype in (torch.float32, torch.float64):
            scores, labels = drawn(rows, levels)
            exact = float(all_pairs_loss(scores, labels, loss="squared_hinge"))
            scores = scores.to(dtype)
            times = SHORT_STEPS if rows <= MATRIX_ROWS else 1
            calls = {
                "theirs": stepped(
                    lambda s, f=rival, y=labels: f(s, y),
                    scores,
                    times if rival is parabolas_loss else 1,
                ),
                "ours": stepped(
                    lambda s, y=labels: all_pairs_loss(s, y, loss="squared_hinge"), scores, times
                ),
            }
            for call in calls.values():
                call()
            timed = harness.in_turn(calls, repeat, budget=20.0)
            factor = harness.ratio(timed["theirs"], timed["ours"])
            off = abs(float(rival(scores, labels)) / exact - 1.0)
            own = abs(float(all_pairs_loss(scores, labels, loss="squared_hinge")) / exact - 1.0)
            kind = str(dtype).partition(".")[2]
            cells = [factor.median, factor.spread, f"{off:.0e}", f"{own:.0e}"]
            yield [name, f"{rows:,}", levels, kind, *cells]


def peak_bytes(name: str, n_rows: int) -> float:
    """Return the peak memory of a process that evaluates a loss and its gradient once."""
    command = [sys.executable, __file__, "--peak", json.dumps([name, n_rows])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def print_peak(name: str, n_rows: int) -> None:
    """Evaluate a loss and its gradient, and print the peak memory in bytes."""
    scores, labels = drawn(n_rows)
    stepped(lambda s: all_pairs_loss(s, labels, loss=name), scores)()
    unit = 1 if sys.platform == "darwin" else 1024
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def memory_rows(n_rows: int) -> Iterator[list[Any]]:
    """Measure the memory per further row, scores, labels and gradient included."""
    sizes = (n_rows // 2, n_rows, 2 * n_rows)
    for name in ("squared_hinge", "logistic", "exponential", "square"):
        peaks = [peak_bytes(name, size) for size in sizes]
        steps = zip(peaks, peaks[1:], sizes, sizes[1:], strict=False)
        yield [name, *((b - a) / (m - n) for a, b, n, m in steps)]


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.peak:
        print_peak(*json.loads(chosen.peak))
        return
    n_rows, repeat = chosen.rows, chosen.repeat
    print(harness.header("torch"))
    print("\n## Memory, in bytes per further row\n")
    columns = ["loss", f"to {n_rows:,} rows", f"to {2 * n_rows:,} rows"]
    print(harness.table(columns, memory_rows(n_rows)))
    print(f"\n## Torch's operations against exact compiled sums, {MATRIX_ROWS:,} rows\n")
    columns = ["loss", "value off by", "gradient off by", "bar"]
    print(harness.table(columns, exactness_rows(MATRIX_ROWS)))
    print(f"\n## Value and gradient, {n_rows:,} rows of {LEVELS} levels, in times of torch.sort\n")
    columns = ["loss", "scores", "per row", "of sort", "spread", "bar"]
    print(harness.table(columns, time_rows(n_rows, repeat)))
    print(f"\n## Torch's operations on the CPU, {MATRIX_ROWS:,} rows of {LEVELS} levels\n")
    columns = ["loss", "seconds", "of compiled sums", "spread"]
    print(harness.table(columns, backend_rows(min(repeat, 3))))
    print("\n## Squared hinge of others, in times of ours\n")
    columns = ["loss", "rows", "levels", "scores", "times", "spread", "off by", "ours off by"]
    print(harness.table(columns, rival_rows(n_rows, repeat)))


if __name__ == "__main__":
    main()
