"""Pair sums: every loss, algorithm, size and number of levels, beside expit, np.sort and others.

A cell of the first tables is the squared hinge's value and gradient at new scores, sort included,
in nanoseconds per row and in times of `scipy.special.expit` of the same scores, timed in turn. Both
are medians. An algorithm is left out where it would take minutes. Tubes are summed over all
differences of real labels. The tables of logistic and probit sums are in `_sigmoid_tables.py`;
`--losses` chooses.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

import _harness as harness
import _sigmoid_tables as sigmoids
from _trees import double_loop, prsvm_plus, tree_by_levels, tree_by_scores
from pairrank.losses import SquaredHinge, Tube
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels, Pairs

LEVELS = ("2", "5", "100", "m")
ALGORITHMS = ("auto", "sorted", "selection_tree", "level_counting")
BARS = {"2": 1.5, "5": 1.5, "100": 1.5, "m": 15.0}
BAR_TUBE, BAR_EXPONENT, BAR_BYTES = 3.0, 1.08, 120
BUDGET = 8.0
ROWS_OF_A_QUERY = 100
EPSILON = 0.1
TUBES = ("n = 1", "n = 2", "product")


def make(n_rows: int, levels: str, many: bool) -> tuple[np.ndarray[Any, Any], ...]:
    """Return labels, query identifiers (or None), and normal scores."""
    generator = np.random.default_rng(n_rows)
    if levels == "m":
        y = generator.permutation(n_rows)
    else:
        y = generator.integers(0, int(levels), n_rows)
    qid = np.arange(n_rows) // ROWS_OF_A_QUERY if many else None
    return y.astype(np.float64), qid, generator.normal(size=n_rows)


def is_affordable(algorithm: str, n_rows: int, levels: str, many: bool) -> bool:
    """Whether an algorithm ends in seconds."""
    n_levels = (ROWS_OF_A_QUERY if many else n_rows) if levels == "m" else int(levels)
    if algorithm == "selection_tree":
        return n_rows <= 1_000_000 or n_levels <= 5
    return algorithm != "level_counting" or n_rows * n_levels <= 100_000_000


def fresh(y: Any, qid: Any, scores: Any, algorithm: str) -> Callable[[], Any]:
    """Return a call that sums at scores that the sum has not seen."""
    bound = bind(SquaredHinge(), Levels.build(y, qid), pair_sum=algorithm)
    return _at_new_scores(bound, scores.copy())


def algorithms_table(sizes: list[int], many: bool, repeat: int) -> tuple[list[list[Any]], dict]:
    """Time the algorithms at every size and number of levels; return rows and ratios to expit."""
    rows, flat = [], {}
    for levels in LEVELS:
        for n_rows in sizes:
            y, qid, scores = make(n_rows, levels, many)
            out = np.empty(n_rows)
            chosen = [name for name in ALGORITHMS if is_affordable(name, n_rows, levels, many)]
            calls = {name: fresh(y, qid, scores, name) for name in chosen}
            calls["expit"] = lambda scores=scores, out=out: expit(scores, out=out) is None
            calls["sort"] = lambda scores=scores: np.sort(scores) is None
            for call in calls.values():
                call()
            timed = harness.in_turn(calls, repeat, budget=BUDGET)
            cells = [_cell(timed, name, n_rows) for name in ALGORITHMS]
            unit = 1e9 / n_rows
            plain = [timed[name].median * unit for name in ("expit", "sort")]
            rows.append([levels, f"{n_rows:,}", *cells, *plain])
            times = harness.ratio(timed["auto"], timed["expit"])
            flat[levels, n_rows] = times.median, times.spread
            print(*rows[-1], flush=True)
    return rows, flat


def _cell(timed: dict[str, harness.Timing], name: str, n_rows: int) -> str:
    if name not in timed:
        return "-"
    times = harness.ratio(timed[name], timed["expit"]).median
    return f"{timed[name].median * 1e9 / n_rows:.0f} ns, {times:.1f}x"


def bars_table(flat: dict, sizes: list[int]) -> Iterator[list[Any]]:
    """Compare the largest size with the bars, and fit how the time grows from 1e5 rows on.

    Growth is that of the times in units of one `expit`, which grows with the rows: what else the
    machine did meanwhile then cancels.
    """
    grown = [n_rows for n_rows in sizes if n_rows >= 100_000]
    for levels, bar in BARS.items():
        times, spread = flat[levels, sizes[-1]]
        yield [f"{levels} levels, {sizes[-1]:,} rows", f"{times:.2f}x ({spread})", f"<= {bar:g}x"]
    if len(grown) > 1:
        for levels in LEVELS:
            found = harness.growth_exponent(grown, [n * flat[levels, n][0] for n in grown])
            yield [f"exponent, {levels} levels", f"{found:.2f}", f"<= {BAR_EXPONENT}"]


def rivals_table(sizes: list[int], repeat: int) -> Iterator[list[Any]]:
    """Time the paper's other methods beside ours, in one query."""
    rivals = {
        "double loop": (double_loop, 10_000, 10_000),
        "AA tree by levels": (tree_by_levels, 1_000_000, 1_000_000),
        "AA tree by scores": (tree_by_scores, 1_000_000, 1_000_000),
        "PRSVM+": (prsvm_plus, 1_000_000, 100),
    }
    for levels in LEVELS:
        for n_rows in (n for n in sizes if n <= 1_000_000):
            y, qid, scores = make(n_rows, levels, False)
            names, level = np.unique(y, return_inverse=True)
            calls: dict[str, Callable[[], Any]] = {
                "sorted": fresh(y, qid, scores, "sorted"),
                "selection_tree": fresh(y, qid, scores, "selection_tree"),
            }
            wanted = bind(SquaredHinge(), Levels.build(y), pair_sum="sorted").at(scores)
            for name, (method, most_rows, most_levels) in rivals.items():
                if n_rows <= most_rows and names.size <= most_levels:
                    more = () if method is double_loop else (names.size,)
                    value, gradient = method(scores, level, *more)
                    np.testing.assert_allclose(value, wanted[0], rtol=1e-9)
                    np.testing.assert_allclose(gradient, wanted[1], rtol=1e-6, atol=1e-6 * n_rows)
                    calls[name] = lambda m=method, s=scores, k=level, e=more: m(s, k, *e) is None
            for name in ("sorted", "selection_tree"):
                calls[name]()
            timed = harness.in_turn(calls, repeat, budget=BUDGET)
            cells = [
                f"{timed[name].median * 1e9 / n_rows:.0f}" if name in timed else "-"
                for name in ("sorted", "selection_tree", *rivals)
            ]
            print(levels, n_rows, *cells, flush=True)
            yield [levels, f"{n_rows:,}", *cells]


def products_table(sizes: list[int], repeat: int) -> Iterator[list[Any]]:
    """Time Hessian products at scores that are known, one vector and 50 at once."""
    for levels in LEVELS:
        for n_rows in sizes:
            y, qid, scores = make(n_rows, levels, False)
            curvature = bind(SquaredHinge(), Levels.build(y, qid)).at(scores).curvature()
            v = np.random.default_rng(0).normal(size=n_rows)
            calls = {"one": lambda c=curvature, v=v: c.matvec(v) is None}
            if n_rows <= 100_000:
                many = np.tile(v, (50, 1))
                calls["many"] = lambda c=curvature, v=many: c.matmat(v) is None
            for call in calls.values():
                call()
            timed = harness.in_turn(calls, repeat, budget=BUDGET)
            unit = 1e9 / n_rows
            many_cell = timed["many"].median * unit / 50 if "many" in timed else "-"
            yield [levels, f"{n_rows:,}", timed["one"].median * unit, many_cell]


def pairs_table(repeat: int) -> Iterator[list[Any]]:
    """Time the sum over explicit comparisons."""
    for n_pairs in (1_000_000, 10_000_000):
        generator = np.random.default_rng(0)
        n_rows = n_pairs // 10
        i = generator.integers(0, n_rows, n_pairs)
        j = (i + generator.integers(1, n_rows, n_pairs)) % n_rows
        bound = bind(SquaredHinge(), Pairs(i, j, n_rows=n_rows).bound(n_rows))
        scores = generator.normal(size=n_rows)
        bound.at(scores)
        calls = {"pairs": lambda b=bound, s=scores: b.at(s) is None}
        timed = harness.in_turn(calls, repeat)
        yield [f"{n_pairs:,}", f"{n_rows:,}", timed["pairs"].median * 1e9 / n_pairs]


def tubes_table(sizes: list[int], repeat: int) -> tuple[list[list[Any]], dict]:
    """Time tubes of both powers beside expit; return rows, and ratios by what and size."""
    rows, found = [], {}
    for many in (False, True):
        for n_rows in sizes:
            generator = np.random.default_rng(n_rows)
            y, scores, v = generator.normal(size=(3, n_rows))
            qid = np.arange(n_rows) // ROWS_OF_A_QUERY if many else None
            differences = Differences.build(y, qid)
            calls: dict[str, Callable[[], Any]] = {}
            for n in (1, 2):
                bound = bind(Tube(EPSILON, n), differences)
                calls[f"n = {n}"] = _at_new_scores(bound, scores.copy())
            curvature = bind(Tube(EPSILON, 2), differences).at(scores).curvature()
            calls["product"] = lambda c=curvature, v=v: c.matvec(v) is None
            out = np.empty(n_rows)
            calls["expit"] = lambda scores=scores, out=out: expit(scores, out=out) is None
            for call in calls.values():
                call()
            timed = harness.in_turn(calls, repeat, budget=BUDGET)
            what = f"queries of {ROWS_OF_A_QUERY}" if many else "one query"
            cells = [_cell(timed, name, n_rows) for name in TUBES]
            rows.append([what, f"{n_rows:,}", *cells, timed["expit"].median * 1e9 / n_rows])
            print(*rows[-1], flush=True)
            for name in TUBES:
                found[what, name, n_rows] = harness.ratio(timed[name], timed["expit"])
    return rows, found


def _at_new_scores(bound: Any, scores: np.ndarray[Any, Any]) -> Callable[[], Any]:
    def call() -> Any:
        scores[0] = -scores[0]
        return bound.at(scores)

    return call


def tube_bars(found: dict, sizes: list[int]) -> Iterator[list[Any]]:
    """Compare with the bars, and fit how the times grow from 1e5 rows on, as in `bars_table`.

    A product is little more than two passes over memory out of order, so its growth is that of a
    cache miss and has no bar.
    """
    largest = found["one query", "n = 2", sizes[-1]]
    cost = f"{largest.median:.2f}x ({largest.spread})"
    yield [f"one query, n = 2, {sizes[-1]:,} rows", cost, f"<= {BAR_TUBE:g}x"]
    grown = [n_rows for n_rows in sizes if n_rows >= 100_000]
    for what in dict.fromkeys(key[0] for key in found):
        for name in TUBES:
            if len(grown) > 1:
                times = [n * found[what, name, n].median for n in grown]
                exponent = f"{harness.growth_exponent(grown, times):.2f}"
                bar = "-" if name == "product" else f"<= {BAR_EXPONENT}"
                yield [f"exponent, {what}, {name}", exponent, bar]


def measure_peak(n_rows: int, levels: str, many: bool) -> None:
    """Print the bytes per row, beyond labels and scores, at the peak of build, sum and gradient."""
    y, qid, scores = make(1000, levels, many)
    bind(SquaredHinge(), Levels.build(y, qid)).at(scores)
    y, qid, scores = make(n_rows, levels, many)
    Path("/proc/self/clear_refs").write_text("5")
    start = _memory("VmRSS")
    bound = bind(SquaredHinge(), Levels.build(y, qid))
    building = _memory("VmHWM") - start
    Path("/proc/self/clear_refs").write_text("5")
    bound.at(scores)
    summing = _memory("VmHWM") - start
    print(building / n_rows, summing / n_rows)


def _memory(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")


def peaks_table(n_rows: int) -> Iterator[list[Any]]:
    """Measure the peaks, each in a process of its own."""
    for levels in LEVELS:
        for many in (False, True):
            command = [sys.executable, __file__, "--peak", str(n_rows), levels, str(int(many))]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            building, summing = map(float, done.stdout.split())
            where = f"queries of {ROWS_OF_A_QUERY}" if many else "one query"
            yield [levels, where, f"{building:.0f}", f"{summing:.0f}", f"<= {BAR_BYTES}"]


def main() -> None:
    """Run every table and print Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000,1000000,10000000")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--losses", choices=("all", "hinge", "sigmoids", "tubes"), default="all")
    parser.add_argument("--peak", nargs=3, metavar=("ROWS", "LEVELS", "MANY"))
    options = parser.parse_args()
    harness.one_thread()
    if options.peak:
        measure_peak(int(options.peak[0]), options.peak[1], options.peak[2] == "1")
        return
    sizes = [int(size) for size in options.sizes.split(",")]
    if options.losses in ("all", "hinge"):
        print_hinge(sizes, options.repeat)
    if options.losses in ("all", "sigmoids"):
        print_sigmoids(sizes, options.repeat)
    if options.losses in ("all", "tubes"):
        print_tubes(sizes, options.repeat)


def print_tubes(sizes: list[int], repeat: int) -> None:
    """Run the table of tube sums and print Markdown."""
    rows, found = tubes_table(sizes, repeat)
    columns = ("where", "rows", "n = 1", "n = 2", "Hessian product, n = 2", "expit, ns")
    print(f"\n## Pair sums of tubes, epsilon {EPSILON}\n", harness.header(), "", sep="\n")
    sections = (
        ("Bars", ("what", "found", "bar"), tube_bars(found, sizes)),
        ("Value and gradient over all differences", columns, rows),
    )
    _print(sections)


def print_sigmoids(sizes: list[int], repeat: int) -> None:
    """Run the tables of logistic and probit sums and print Markdown."""
    one, found = sigmoids.sizes_table(sizes, repeat)
    n_rows = min(sizes[-1], sigmoids.LARGEST_M)
    print("\n## Pair sums of logistic and probit losses\n", harness.header(), "", sep="\n")
    sections = (
        ("Bars", ("what", "found", "bar"), sigmoids.bars_table(found, sizes)),
        ("One query, eps 1e-6", ("levels", "rows", *sigmoids.COLUMNS), one),
        (
            f"Other eps, scores, queries and graphs, {n_rows:,} rows",
            ("what", *sigmoids.COLUMNS),
            sigmoids.kinds_table(n_rows, repeat),
        ),
    )
    _print(sections)


def print_hinge(sizes: list[int], repeat: int) -> None:
    """Run the tables of hinge sums and print Markdown."""
    columns = ("levels", "rows", *ALGORITHMS, "expit, ns", "np.sort, ns")
    one, flat = algorithms_table(sizes, False, repeat)
    queries, _ = algorithms_table(sizes, True, repeat)
    print("\n## Pair sums of the squared hinge\n", harness.header(), "", sep="\n")
    sections = (
        ("Bars", ("what", "found", "bar"), bars_table(flat, sizes)),
        ("One query: value and gradient", columns, one),
        (f"Queries of {ROWS_OF_A_QUERY} rows: value and gradient", columns, queries),
        (
            "The paper's other methods, one query, ns per row",
            ("levels", "rows", "sorted", "selection_tree", "double loop",
             "AA tree by levels", "AA tree by scores", "PRSVM+"),
            list(rivals_table(sizes, repeat)),
        ),
        (
            "Hessian products, ns per row and vector",
            ("levels", "rows", "one vector", "50 vectors"),
            list(products_table(sizes, repeat)),
        ),
        ("Explicit pairs", ("pairs", "rows", "ns per pair"), pairs_table(repeat)),
        (
            f"Peak bytes per row beyond labels and scores, {sizes[-1]:,} rows",
            ("levels", "queries", "building preferences", "value and gradient", "bar"),
            peaks_table(sizes[-1]),
        ),
    )  # fmt: skip
    _print(sections)


def _print(sections: Any) -> None:
    for title, names, rows in sections:
        print(f"### {title}\n", harness.table(names, rows), "", sep="\n", flush=True)


if __name__ == "__main__":
    main()
