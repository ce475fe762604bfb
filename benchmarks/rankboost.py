"""RankBoost: a round's time and growth, and a round beside one that lists the pairs.

The first table times a round of 256 bins and five labels, on one thread and on two: wall seconds,
and seconds of processor per thread, which other processes disturb less. Growth is that of a round
on one thread, in processor seconds and in units of `expit` of as many scores, timed in turn. The
second table has a round of a version that lists the pairs, vectorised by numpy. Asserts nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import expit

import _harness as harness
from pairrank import threads
from pairrank.preferences import Levels
from pairrank.rank_boost.binning import Codes, encode
from pairrank.rank_boost.rounds import Booster

N_LEVELS, N_BINS = 5, 256
BAR_SECONDS, BAR_EXPONENT = 0.5, 1.1


def make(n_rows: int, n_features: int) -> tuple[Any, Any]:
    """Return normal features of float32, and labels that depend on two of them."""
    generator = np.random.default_rng(n_rows)
    X = generator.standard_normal((n_rows, n_features), dtype=np.float32)
    hidden = X[:, 0] + X[:, 1] ** 2 + generator.normal(size=n_rows)
    cuts = np.quantile(hidden, np.linspace(0.0, 1.0, N_LEVELS + 1)[1:-1])
    return X, np.digitize(hidden, cuts).astype(np.float64)


def booster(codes: Codes, y: Any) -> Booster:
    """Return a booster over rows in one query."""
    return Booster(codes, Levels.build(y))


def on_threads(n_threads: int, call: Callable[[], Any]) -> tuple[float, float]:
    """Return the wall seconds of a call, and its processor seconds per thread."""
    usual = threads.n_threads
    threads.n_threads = lambda: n_threads
    try:
        wall, used = time.perf_counter(), time.process_time()
        call()
        return time.perf_counter() - wall, (time.process_time() - used) / n_threads
    finally:
        threads.n_threads = usual


def rounds_table(sizes: list[int], n_features: int, repeat: int) -> Iterator[list[Any]]:
    """Yield a row for each number of rows; the last one has the growth."""
    encode(make(100, 2)[0], None, N_BINS)  # compiles
    grown, used = [], []
    for n_rows in sizes:
        X, y = make(n_rows, n_features)
        start = time.perf_counter()
        codes = encode(X, None, N_BINS)
        binning = time.perf_counter() - start
        runs = {n: booster(codes, y) for n in (1, 2)}
        scores, out = np.random.default_rng(0).normal(size=n_rows), np.empty(n_rows)
        for run in runs.values():
            run.advance()
        found: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
        unit: list[float] = []
        for _ in range(repeat):
            for n, run in runs.items():
                found[n].append(on_threads(n, run.advance))
            unit.append(harness.seconds(lambda s=scores, o=out: expit(s, out=o) is None))
        medians = {n: np.median(each, axis=0) for n, each in found.items()}
        walls = harness.Timing(tuple(wall for wall, _ in found[2]))
        times = harness.Timing(tuple(wall for wall, _ in found[1]))
        in_units = harness.ratio(times, harness.Timing(tuple(unit))).median
        grown.append(n_rows * in_units)
        used.append(float(medians[1][1]))
        yield [
            f"{n_rows:,}", binning, *medians[1].tolist(), f"{walls.median:.3g} ({walls.spread})",
            float(medians[2][1]), in_units,
        ]  # fmt: skip
    if len(sizes) > 1:
        each = [harness.growth_exponent(sizes, times) for times in (used, grown)]
        of_processor, of_units = (f"{found:.2f} (bar {BAR_EXPONENT})" for found in each)
        yield ["growth", "", "", of_processor, "", "", of_units]


def pair_list_round(codes: Codes, y: Any) -> Callable[[], Any]:
    """Return a round over the list of all pairs: weights, edges of all thresholds, the best."""
    i, j = np.nonzero(y[:, np.newaxis] > y)
    scores = np.zeros(y.size)

    def advance() -> None:
        weight = np.exp(scores[j] - scores[i])
        weight /= weight.sum()
        best = (0.0, 0, 0)
        for feature in range(codes.n_features):
            code, n = codes.of_feature(feature), int(codes.n_values[feature])
            at = np.bincount(code[i], weight, n) - np.bincount(code[j], weight, n)
            edges = np.cumsum(at[::-1])[::-1][1:]
            cut = int(np.argmax(np.abs(edges)))
            best = max(best, (abs(float(edges[cut])), feature, cut))
        h = codes.of_feature(best[1]) > best[2]
        right, wrong = weight[h[i] & ~h[j]].sum(), weight[h[j] & ~h[i]].sum()
        scores[h] += 0.5 * np.log((right + 1e-3) / (wrong + 1e-3))

    return advance


def pairs_table(sizes: list[int], repeat: int) -> Iterator[list[Any]]:
    """Yield a row for each number of rows: a round of ours, and of the list of pairs."""
    taken: dict[str, list[float]] = {"ours": [], "list of pairs": []}
    for n_rows in sizes:
        X, y = make(n_rows, 10)
        codes = encode(X, None, N_BINS)
        calls = {"ours": booster(codes, y).advance, "list of pairs": pair_list_round(codes, y)}
        for call in calls.values():
            call()
        timed = harness.in_turn(calls, repeat)
        for name, each in timed.items():
            taken[name].append(each.median)
        factor = harness.ratio(timed["list of pairs"], timed["ours"])
        yield [f"{n_rows:,}", *(each.median for each in timed.values()), factor.median]
    each = [f"{harness.growth_exponent(sizes, times):.2f}" for times in taken.values()]
    yield ["growth", *each, ""]


def options_of() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=float, default=1e6, help="the most rows of a round")
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=7)
    return parser.parse_args()


def main() -> None:
    """Print the tables as Markdown."""
    options = options_of()
    limits = harness.one_thread()
    print(harness.header(), "", sep="\n")
    sizes = [int(options.rows * share) for share in (0.01, 0.03, 0.1, 0.3, 1.0)]
    columns = ["rows", "binning s", "1 thread: wall s", "processor s", "2 threads: wall s",
               "processor s per thread", "1 thread / expit"]  # fmt: skip
    print(f"A round, {options.features} features; bar {BAR_SECONDS} s on two threads\n")
    print(harness.table(columns, rounds_table(sizes, options.features, options.repeat)), "\n")
    columns = ["rows", "ours s", "list of pairs s", "factor"]
    print(harness.table(columns, pairs_table([250, 500, 1000, 2000, 4000], options.repeat)), "\n")
    limits.restore_original_limits()


if __name__ == "__main__":
    main()
