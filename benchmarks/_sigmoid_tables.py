"""The tables of logistic and probit pair sums, for `pair_sums.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import expit

import _harness as harness
from pairrank.losses import Logistic, Probit
from pairrank.pair_sums import bind
from pairrank.preferences import Levels, OrderGraph

LOSSES = {"logistic": Logistic(), "probit": Probit()}
LEVELS = ("2", "5", "20", "m")
ROWS_OF_QUERIES = (10, 100, 10_000)
CLASSES = 10
LARGEST_M = 1_000_000
"""As many levels as rows up to so many rows."""
BUDGET = 8.0

Array = np.ndarray[Any, Any]


def _levels(n_rows: int, levels: str, qid: Array | None = None, graph: Any = "full") -> Levels:
    generator = np.random.default_rng(n_rows)
    many = levels == "m"
    y = generator.permutation(n_rows) if many else generator.integers(0, int(levels), n_rows)
    return Levels.build(y.astype(np.float64), qid, graph=graph).reduced("rows")


def _scores(kind: str, n_rows: int) -> Array:
    scores = np.random.default_rng(n_rows + 1).normal(size=n_rows)
    if kind == "outlier":
        scores[0] = 1e9
    return {"equal": np.full(n_rows, 0.3), "spread 30": 30.0 * scores}.get(kind, scores)


def _timed(levels: Levels, scores: Array, repeat: int, eps: float = 1e-6) -> dict[str, Any]:
    """Time value and gradient, and one Hessian product, of both losses beside expit."""
    calls: dict[str, Callable[[], Any]] = {}
    v = np.random.default_rng(0).normal(size=scores.size)
    for name, loss in LOSSES.items():
        bound = bind(loss, levels, eps=eps)
        calls[name] = lambda bound=bound: bound.at(scores) is None
        curvature = bound.at(scores).curvature()
        calls[name + " product"] = lambda curvature=curvature: curvature.matvec(v) is None
    calls["expit"] = lambda: expit(scores) is None
    for call in calls.values():
        call()
    return harness.in_turn(calls, repeat, budget=BUDGET)


def _cells(timed: dict[str, Any], n_rows: int) -> list[str]:
    names = [name + what for what in ("", " product") for name in LOSSES]
    cells = []
    for name in names:
        times = harness.ratio(timed[name], timed["expit"])
        cells.append(f"{timed[name].median * 1e9 / n_rows:.1f} ns, {times.median:.2f}x")
    return [*cells, f"{timed['expit'].median * 1e9 / n_rows:.1f}"]


COLUMNS = ("logistic", "probit", "logistic product", "probit product", "expit, ns")


def sizes_table(sizes: list[int], repeat: int) -> tuple[list[list[Any]], dict]:
    """Time every size and number of levels in one query; return rows and ratios to expit."""
    rows, found = [], {}
    for levels in LEVELS:
        for n_rows in sizes:
            if levels == "m" and n_rows > LARGEST_M:
                continue
            timed = _timed(_levels(n_rows, levels), _scores("normal", n_rows), repeat)
            rows.append([levels, f"{n_rows:,}", *_cells(timed, n_rows)])
            print(*rows[-1], flush=True)
            for name in timed:
                times = harness.ratio(timed[name], timed["expit"])
                found[name, levels, n_rows] = times.median, times.spread
    return rows, found


def bars_table(found: dict, sizes: list[int]) -> Iterator[list[Any]]:
    """Compare with the bars; growth is of times in units of one expit, from 1e5 rows on."""
    of_m = max((n_rows for n_rows in sizes if n_rows <= LARGEST_M), default=None)
    for name in LOSSES:
        for levels, n_rows, what, bar in (
            ("5", sizes[-1], "", 0.7), ("m", of_m, "", 4.0), ("5", sizes[-1], " product", 1.0),
        ):  # fmt: skip
            if n_rows is None:
                continue
            times, spread = found[name + what, levels, n_rows]
            label = f"{name}{what}, {levels} levels, {n_rows:,} rows"
            yield [label, f"{times:.2f}x ({spread})", f"<= {bar:g}x"]
        grown = [n_rows for n_rows in sizes if n_rows >= 100_000]
        if len(grown) > 1:
            exponent = harness.growth_exponent(grown, [n * found[name, "5", n][0] for n in grown])
            yield [f"{name}, growth at 5 levels", f"{exponent:.2f}", "<= 1.08"]


def kinds_table(n_rows: int, repeat: int) -> Iterator[list[Any]]:
    """Time other eps, scores, queries and graphs."""
    five, normal = _levels(n_rows, "5"), _scores("normal", n_rows)
    for eps in (1e-3, 1e-10, 1e-13):
        yield [f"5 levels, eps {eps:g}", *_cells(_timed(five, normal, repeat, eps), n_rows)]
    for kind in ("equal", "spread 30", "outlier"):
        yield [f"5 levels, {kind}", *_cells(_timed(five, _scores(kind, n_rows), repeat), n_rows)]
    for size in ROWS_OF_QUERIES:
        levels = _levels(n_rows, "5", np.arange(n_rows) // size)
        yield [f"queries of {size:,}", *_cells(_timed(levels, normal, repeat), n_rows)]
    graph = _graph()
    cases = (("10 classes, a graph", "10", graph), ("chain of 10", "10", "chain"),
             ("chain of as many levels as rows", "m", "chain"))  # fmt: skip
    for label, count, joined in cases:
        levels = _levels(n_rows, count, graph=joined)
        yield [label, *_cells(_timed(levels, normal, repeat), n_rows)]
    levels = _levels(n_rows, str(n_rows // 100))
    yield ["levels of 100 rows", *_cells(_timed(levels, normal, repeat), n_rows)]
    levels = _levels(n_rows, str(n_rows // 5))
    yield ["levels of 5 rows", *_cells(_timed(levels, normal, repeat), n_rows)]


def _graph() -> OrderGraph:
    """Return about half of the edges of a random order of the classes."""
    generator = np.random.default_rng(0)
    order = generator.permutation(CLASSES)
    edges = [
        (float(low), float(high))
        for at, low in enumerate(order)
        for high in order[at + 1 :]
        if generator.random() < 0.5
    ]
    return OrderGraph(edges)
