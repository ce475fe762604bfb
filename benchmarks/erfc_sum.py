"""The fast sum of erfc (Raykar 2007, Fig. 2 a, b): every method's time and error, by points.

Sources and targets are as many normal points each, weights 1, as in the paper, and eps is 1e-6; the
methods are timed in turn, with `scipy.special.expit` of the sources, which is one of two arrays.
Times are medians of the process's own seconds on the processor (all is one thread), so that what
else the machine did does not stretch long calls more than short ones. The direct sum is taken at a
few of the targets and scaled to all, where the paper did so too (above 3,200 points); errors are
the greatest at those targets, as a part of the sum of the weights.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit

import _harness as harness
from pairrank import fast_erfc_sum

FAST, EPS = ("beaulieu", "boxes"), 1e-6
MOST_DIRECT, CHECKED, PAIRS_CHECKED = 3_200, 100, 20_000_000
BUDGET = 6.0


def line(n_points: int, repeat: int) -> list[Any]:
    """Return ns a point of every method at n sources and n targets, and errors of the fast ones."""
    sources, targets = np.random.default_rng(n_points).normal(size=(2, n_points))
    few = targets[: checked(n_points)]
    out = np.empty(n_points)
    calls: dict[str, Callable[[], Any]] = {
        method: lambda method=method: fast_erfc_sum(sources, targets, eps=EPS, method=method)
        for method in FAST
    }
    exact = fast_erfc_sum(sources, few, method="direct")
    errors = [float(np.abs(call()[: few.size] - exact).max()) / n_points for call in calls.values()]
    calls["expit"] = lambda: expit(sources, out=out)
    calls["direct"] = lambda: fast_erfc_sum(sources, few, method="direct")
    timed = {name: on_processor(call) for name, call in calls.items()}
    # The slow ones have fewer rounds, and rounds of their own.
    rounds = harness.in_turn(
        {each: timed[each] for each in ("boxes", "expit")}, repeat, budget=BUDGET
    )
    for name in ("beaulieu", "direct"):
        rounds |= harness.in_turn({name: timed[name]}, repeat, budget=BUDGET)
    ns = {name: each.median * 1e9 / n_points for name, each in rounds.items()}
    star = "" if n_points <= MOST_DIRECT else " *"
    direct = f"{ns['direct'] * n_points / few.size:,.0f}{star}"
    return [f"{n_points:,}", direct, *(f"{ns[each]:.3g}" for each in FAST), ns["expit"], *errors]


def on_processor(call: Callable[[], Any]) -> Callable[[], float]:
    """Return a call that times itself by the process's seconds on the processor."""

    def timed() -> float:
        start = time.process_time()
        call()
        return time.process_time() - start

    return timed


def checked(n_points: int) -> int:
    """Return at how many targets the direct sum is taken."""
    if n_points <= MOST_DIRECT:
        return n_points
    return max(2, min(CHECKED, PAIRS_CHECKED // n_points))


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="100,1000,3200,10000,100000,1000000,10000000")
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    limits = harness.one_thread()
    print("## The fast sum of erfc\n", harness.header(), "", sep="\n")
    columns = ["points", "direct", *FAST, "expit", *(f"{method}, error" for method in FAST)]
    rows = (line(int(size), options.repeat) for size in options.sizes.split(","))
    print(harness.table(columns, rows))
    print(f"\n\\* scaled from the direct sum at {CHECKED} targets or fewer.")
    limits.restore_original_limits()


if __name__ == "__main__":
    main()
