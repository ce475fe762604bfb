"""Sums over all pairs: sigmoids, the squared hinge, tubes, weights by role, in times of expit.

Each line is a sum's value and gradient, and a product with its Hessian, timed in turn with
`scipy.special.expit` of the same scores on one thread: medians and spreads. Growth is the exponent
of these times. Asserts nothing.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import expit

import _harness as harness
from pairrank.losses import Logistic, Probit, SquaredHinge, Tube
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels

SIZES = (100_000, 1_000_000, 10_000_000)
BUDGET = 8.0
"""Seconds after which a line is timed no more."""

Array = np.ndarray[Any, Any]
Lines = Iterator[list[Any]]


def levels_of(n_rows: int, n_levels: int, **more: Any) -> Levels:
    """Return rows of random labels; as many levels as rows are a permutation."""
    rng = np.random.default_rng(n_rows)
    many = n_levels >= n_rows
    y = rng.permutation(n_rows) if many else rng.integers(0, n_levels, n_rows)
    return Levels.build(y.astype(np.float64), **more)


def normal(n_rows: int) -> Array:
    """Return normal scores."""
    return np.random.default_rng(n_rows + 1).normal(size=n_rows)


def in_expit(
    sums: dict[str, Any], scores: Array, repeat: int, *, kinked: str = ""
) -> dict[str, harness.Timing]:
    """Return the times of sums and of products with their Hessians, each in those of expit.

    The sum named `kinked` has no Hessian.
    """
    calls: dict[str, Callable[[], Any]] = {}
    v = np.random.default_rng(0).normal(size=scores.size)
    for name, pair_sum in sums.items():
        calls[name] = lambda pair_sum=pair_sum: at_new_scores(pair_sum, scores)
        if name != kinked:
            curvature = pair_sum.at(scores).curvature()
            calls[f"{name} product"] = lambda each=curvature: each.matvec(v) is None
    calls["expit"] = lambda: expit(scores) is None
    for call in calls.values():
        call()
    taken = harness.in_turn(calls, repeat, budget=BUDGET)
    unit = taken.pop("expit")
    return {name: harness.ratio(each, unit) for name, each in taken.items()}


def at_new_scores(pair_sum: Any, scores: Array) -> float:
    """Return the seconds of a value and gradient at scores that the sum has not seen.

    A sorted sum keeps the sort of the last scores. Making the scores is no part of the time.
    """
    moved = scores + time.perf_counter() % 1.0
    start = time.perf_counter()
    pair_sum.at(moved)
    return time.perf_counter() - start


def shown(found: dict[str, harness.Timing], *names: str) -> list[str]:
    """Return times of expit as text, "-" where there is none."""
    return [
        f"{found[name].median:.3g} ({found[name].spread})" if name in found else "-"
        for name in names
    ]


def growth(found: dict[int, float]) -> str:
    """Return the exponent of seconds, in times of expit, by rows."""
    sizes = sorted(found)
    if len(sizes) < 2:
        return "-"
    return f"{harness.growth_exponent(sizes, [n * found[n] for n in sizes]):.2f}"


SIGMOIDS = {"logistic": Logistic(), "probit": Probit()}
SIGMOID_COLUMNS = ("logistic", "probit", "logistic product", "probit product")


def sigmoid_lines(sizes: list[int], repeat: int) -> Lines:
    """Yield logistic and probit sums: sizes, levels and queries."""

    def line(what: str, levels: Levels, scores: Array) -> list[Any]:
        levels = levels.reduced("rows")
        sums = {name: bind(loss, levels, eps=1e-6) for name, loss in SIGMOIDS.items()}
        found = in_expit(sums, scores, repeat)
        grown[scores.size] = found["logistic"].median
        return [what, *shown(found, *SIGMOID_COLUMNS)]

    grown: dict[int, float] = {}
    for n in sizes:
        yield line(f"5 levels, {n:,} rows", levels_of(n, 5), normal(n))
    yield ["growth", growth(grown), "", "", ""]
    n = min(sizes[-1], 1_000_000)
    yield line("as many levels as rows", levels_of(n, n), normal(n))
    for size in (10, 100, 10_000):
        levels = levels_of(n, 5, qid=np.arange(n) // size)
        yield line(f"queries of {size:,}", levels, normal(n))
    yield line("levels of 100 rows", levels_of(n, n // 100), normal(n))


HINGE_COLUMNS = ("cells", "cells product", "sorted")


def hinge_lines(sizes: list[int], repeat: int) -> Lines:
    """Yield the squared hinge over one query, by cells and sorted, with the errors of cells."""
    for n_levels in (2, 5, 100, 0):
        grown: dict[int, float] = {}
        for n in sizes:
            levels = levels_of(n, n_levels or n)
            sums = {
                name: bind(SquaredHinge(), levels, pair_sum=name) for name in ("cells", "sorted")
            }
            scores = normal(n)
            found, wanted = (each.at(scores) for each in sums.values())
            off = np.linalg.norm(found.gradient - wanted.gradient)
            off /= np.linalg.norm(wanted.gradient)
            times = in_expit(sums, scores, repeat)
            grown[n] = times["cells"].median
            errors = (abs(found.value - wanted.value), found.error)
            yield [
                n_levels or "m", f"{n:,}", *shown(times, *HINGE_COLUMNS),
                *(f"{each / wanted.value:.1e}" for each in errors), f"{off:.1e}",
            ]  # fmt: skip
        yield [n_levels or "m", "growth", growth(grown), "", "", "", "", ""]


TUBE_COLUMNS = ("n = 1", "n = 2", "n = 2 product")


def tube_lines(sizes: list[int], repeat: int) -> Lines:
    """Yield tubes over all differences of one query, and of queries of 100 rows."""
    for where in ("one query", "queries of 100"):
        grown: dict[int, float] = {}
        for n in sizes:
            y = np.random.default_rng(0).normal(size=n)
            qid = None if where == "one query" else np.arange(n) // 100
            sums = {
                f"n = {power}": bind(Tube(0.1, power), Differences.build(y, qid))
                for power in (1, 2)
            }
            found = in_expit(sums, y + 0.5 * normal(n), repeat, kinked="n = 1")
            grown[n] = found["n = 2"].median
            yield [where, f"{n:,}", *shown(found, *TUBE_COLUMNS)]
        yield [where, "growth of n = 2", growth(grown), "", ""]


def role_lines(sizes: list[int], repeat: int) -> Lines:
    """Yield the squared hinge without weights and with one as winner and one as loser."""
    n = min(sizes[-1], 1_000_000)
    winner, loser = np.random.default_rng(0).uniform(0.5, 2.0, (2, n))
    for n_levels in (2, 5, 100, n):
        weights = {"winner_weight": winner, "loser_weight": loser}
        sums = {
            "plain": bind(SquaredHinge(), levels_of(n, n_levels)),
            "roles": bind(SquaredHinge(), levels_of(n, n_levels, **weights)),
        }
        found = in_expit(sums, normal(n), repeat)
        found["both"] = harness.ratio(found["roles"], found["plain"])
        yield [n_levels, *shown(found, "plain", "roles", "both")]


ERRORS = ("error of the value", "its bound", "error of the gradient")
TABLES: dict[str, tuple[str, tuple[str, ...], Callable[[list[int], int], Lines]]] = {
    "sigmoids": (
        "Logistic and probit, eps 1e-6; bar 1 at 1e7 rows of 5 levels, growth 1.08",
        ("what", *SIGMOID_COLUMNS),
        sigmoid_lines,
    ),
    "hinge": (
        "The squared hinge, one query; bars 1.5 at 5 levels, 20 at m levels, growth 1.08",
        ("levels", "rows", *HINGE_COLUMNS, *ERRORS),
        hinge_lines,
    ),
    "tubes": (
        "Tubes, epsilon 0.1; bar 4 for n = 2 in one query, growth 1.08",
        ("where", "rows", *TUBE_COLUMNS),
        tube_lines,
    ),
    "roles": (
        "Weights by role; bar 2.5 times the plain sum",
        ("levels", "plain / expit", "with roles / expit", "with roles / plain"),
        role_lines,
    ),
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--rows", nargs="+", type=float, default=list(SIZES))
    parser.add_argument("--repeat", type=int, default=5, help="rounds of timing in turn")
    options = parser.parse_args()
    limits = harness.one_thread()
    print(harness.header(), "", sep="\n")
    sizes = sorted(int(rows) for rows in options.rows)
    for name in options.only:
        title, columns, lines = TABLES[name]
        print(f"{title}:\n", harness.table(columns, lines(sizes, options.repeat)), "", sep="\n")
    limits.restore_original_limits()


if __name__ == "__main__":
    main()
