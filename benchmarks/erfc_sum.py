"""The fast sum of erfc (Raykar 2007, Fig. 2): every method's time and error, by points and by eps.

Sources and targets are as many normal points each, weights 1, as in the paper; the methods are
timed in turn, with `scipy.special.expit` of the sources, which is one of two arrays. Times are
medians of the process's own seconds on the processor (all is one thread), so that what else the
machine did does not stretch long calls more than short ones. The direct sum is taken at a few of
the targets and scaled to all, where the paper did so too (above 3,200 points); errors are the
greatest at those targets, as a part of the sum of the weights.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

import _harness as harness
from pairrank import fast_erfc_sum

FAST = ("beaulieu", "boxes")
MOST_DIRECT, CHECKED, PAIRS_CHECKED = 3_200, 100, 20_000_000
PAPER_SECONDS, PAPER_POINTS, PAPER_EPS = 4.29, 51_200, 1e-10
BAR_EXPONENT, BAR_OVER_BEAULIEU, BAR_EXPIT = 1.05, 50.0, 1.2
BUDGET = 6.0


class Cell(NamedTuple):
    """What one size and eps gave: timings of every method, of expit, and the errors.

    The slow one has rounds of its own, fewer, with boxes and expit in turn.
    """

    quick: dict[str, harness.Timing]
    slow: dict[str, harness.Timing]
    direct: float
    errors: dict[str, float]

    def timed(self, method: str) -> harness.Timing:
        """Return a method's times."""
        return (self.slow if method == "beaulieu" else self.quick)[method]

    def times(self, method: str, unit: str) -> harness.Timing:
        """Return a method's time as a multiple of another's."""
        rounds = self.slow if method == "beaulieu" else self.quick
        return harness.ratio(rounds[method], rounds[unit])


def measure(n_points: int, eps: float, repeat: int) -> Cell:
    """Time every method at n sources and n targets, and compare it with the direct sum."""
    sources, targets = np.random.default_rng(n_points).normal(size=(2, n_points))
    few = targets[: checked(n_points)]
    out = np.empty(n_points)
    exact = fast_erfc_sum(sources, few, method="direct")
    calls: dict[str, Callable[[], Any]] = {
        method: lambda method=method: fast_erfc_sum(sources, targets, eps=eps, method=method)
        for method in FAST
    }
    errors = {
        method: float(np.abs(call()[: few.size] - exact).max()) / n_points
        for method, call in calls.items()
    }
    calls["expit"] = lambda: expit(sources, out=out)
    calls["direct"] = lambda: fast_erfc_sum(sources, few, method="direct")
    slow = {name: on_processor(calls[name]) for name in ("beaulieu", "boxes", "expit")}
    quick = {name: on_processor(calls[name]) for name in ("boxes", "expit")}
    direct = on_processor(calls["direct"])
    taken = harness.in_turn({"direct": direct}, repeat, budget=0.5)["direct"].median
    cell = Cell(
        harness.in_turn(quick, repeat, budget=BUDGET),
        harness.in_turn(slow, repeat, budget=BUDGET),
        taken * n_points / few.size,
        errors,
    )
    print(n_points, eps, [f"{cell.timed(name).median:.3g} s" for name in FAST], flush=True)
    return cell


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


def time_rows(cells: dict[int, Cell]) -> Iterator[list[Any]]:
    """Yield Fig. 2 (a) and (b): nanoseconds a point and errors against the number of points."""
    for n_points, cell in cells.items():
        unit = 1e9 / n_points
        star = "" if n_points <= MOST_DIRECT else " *"
        times = [f"{cell.timed(method).median * unit:.3g}" for method in FAST]
        errors = [cell.errors[method] for method in FAST]
        expits = cell.timed("expit").median * unit
        yield [f"{n_points:,}", f"{cell.direct * unit:,.0f}{star}", *times, expits, *errors]


def eps_rows(n_points: int, all_eps: list[float], repeat: int) -> Iterator[list[Any]]:
    """Yield Fig. 2 (c) and (d): how much faster than the direct sum, and errors against eps."""
    for eps in all_eps:
        cell = measure(n_points, eps, repeat)
        faster = [f"{cell.direct / cell.timed(method).median:,.0f}x" for method in FAST]
        yield [f"{eps:.0e}", *faster, *[cell.errors[method] for method in FAST]]


def exponent_rows(cells: dict[int, Cell]) -> Iterator[list[Any]]:
    """Yield how the time grows from 1e5 points on, in best seconds and in times of one expit.

    expit's own time grows with the points, and what else the machine did met both.
    """
    sizes = [n_points for n_points in cells if n_points >= 100_000]
    if len(sizes) < 2:
        return
    for method in FAST:
        seconds = [cells[n].timed(method).best for n in sizes]
        expits = [n * cells[n].times(method, "expit").median for n in sizes]
        found = [harness.growth_exponent(sizes, times) for times in (seconds, expits)]
        verdict = "holds" if found[0] <= BAR_EXPONENT else "FAILS"
        yield [method, *[f"{exponent:.3f}" for exponent in found], f"<= {BAR_EXPONENT}: {verdict}"]


def bar_rows(cell: Cell, n_points: int) -> Iterator[list[Any]]:
    """Yield the two ratios that are promised at 1e6 points and eps 1e-6, and the paper's time."""
    expits = cell.times("boxes", "expit")
    verdict = "holds" if expits.median <= BAR_EXPIT else "FAILS"
    yield [
        f"boxes / expit, {n_points:,} points",
        f"{expits.median:.2f} ({expits.spread})",
        f"<= {BAR_EXPIT}: {verdict}",
    ]
    faster = cell.times("beaulieu", "boxes")
    verdict = "holds" if faster.median >= BAR_OVER_BEAULIEU else "FAILS"
    yield [
        f"beaulieu / boxes, {n_points:,} points",
        f"{faster.median:.0f} ({faster.spread})",
        f">= {BAR_OVER_BEAULIEU:.0f}: {verdict}",
    ]


def paper_rows(repeat: int) -> Iterator[list[Any]]:
    """Yield what the paper's 51,200 points at eps 1e-10 take here."""
    cell = measure(PAPER_POINTS, PAPER_EPS, repeat)
    for method in FAST:
        seconds = cell.timed(method).median
        yield [method, seconds, f"{PAPER_SECONDS / seconds:,.0f}x", cell.errors[method]]
    yield ["direct *", cell.direct, "-", "-"]


def main() -> None:
    """Run every table and print Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="100,1000,3200,10000,100000,1000000,10000000")
    parser.add_argument("--eps", default="1e-2,1e-4,1e-6,1e-8,1e-10,1e-12,1e-13")
    parser.add_argument("--eps-sizes", default="3000,1000000", help="points of the tables by eps")
    parser.add_argument("--bar-size", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    harness.one_thread()
    sizes = [int(size) for size in options.sizes.split(",")]
    all_eps = [float(eps) for eps in options.eps.split(",")]
    cells = {n_points: measure(n_points, 1e-6, options.repeat) for n_points in sizes}
    bar_cell = cells.get(options.bar_size) or measure(options.bar_size, 1e-6, options.repeat)
    errors = [f"{method}, error" for method in FAST]
    columns = ["points", "direct", *FAST, "expit", *errors]
    sections = [
        ("Bars, eps 1e-6", ("what", "found", "bar"), list(bar_rows(bar_cell, options.bar_size))),
        (
            "Growth from 1e5 points on, eps 1e-6",
            ("method", "exponent of seconds", "of seconds / expit, times points", "bar"),
            list(exponent_rows(cells)),
        ),
        ("Fig. 2 (a, b): ns a point, eps 1e-6", columns, list(time_rows(cells))),
    ]
    for size in map(int, options.eps_sizes.split(",")):
        title = f"Fig. 2 (c, d): times faster than direct, {size:,} points"
        rows = list(eps_rows(size, all_eps, options.repeat))
        sections.append((title, ["eps", *FAST, *errors], rows))
    sections.append(
        (
            f"The paper's {PAPER_POINTS:,} points at eps 1e-10 ({PAPER_SECONDS} s there)",
            ("method", "s", "against the paper", "error"),
            list(paper_rows(options.repeat)),
        )
    )
    print("\n## The fast sum of erfc\n", harness.header(), "", sep="\n")
    for title, names, rows in sections:
        print(f"### {title}\n", harness.table(names, rows), "", sep="\n", flush=True)
    print(f"\\* scaled from the direct sum at {CHECKED} targets or fewer.")


if __name__ == "__main__":
    main()
