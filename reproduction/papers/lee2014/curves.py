"""Figures 4 to 7: sums and solvers on their way to the optimum."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pairrank import RankSVM
from reproduction.papers.lee2014 import trees
from reproduction.papers.lee2014.problems import DENSE, LISTS, Name, problem, quality
from reproduction.protocols import Rows, fit_quietly
from reproduction.study import Cell, Curve, Quantity, Table

SOLVERS: dict[str, dict[str, Any]] = {
    "Tree-TRON": {"solver": "tron", "pair_sum": "selection_tree"},
    "PRSVM+, by counting": {"solver": "tron", "pair_sum": "level_counting"},
    "PRSVM+, every pair": {"solver": "tron", "pair_sum": "direct"},
    "TreeRankSVM, cutting planes": {
        "loss": "hinge", "solver": "bundle", "pair_sum": "selection_tree",
    },
    "pairrank, squared hinge": {},
    "pairrank, hinge": {"loss": "hinge"},
}  # fmt: skip
TREE, COUNTING, EVERY_PAIR, BUNDLE, OURS, OURS_HINGE = SOLVERS
SUMS: dict[str, dict[str, Any]] = {
    "selection tree": SOLVERS[TREE],
    "direct count": SOLVERS[COUNTING],
    "sorted (ours)": {"solver": "tron", "pair_sum": "sorted"},
    "cells (ours)": {"solver": "tron", "pair_sum": "cells"},
    "pairrank's default": {},
    "AA tree, SciPy's descent": {"tree": trees.AA},
    "selection tree, SciPy's descent": {"tree": trees.SELECTION},
}
SELECTION, DIRECT, SORTED, CELLS, DEFAULT, AA_TREE, SAME_DESCENT = SUMS

FINEST = {"squared_hinge": 1e-8, "hinge": 1e-4}
NEAR = 1e-3
"""The distance to the optimum that the times of the tables are for."""

STOP = 1e-3
"""The default stop: this share of the gradient's norm at 0 (Eq. 38)."""

LONGEST = 30.0
"""The seconds after which a descent is stopped."""

MOST_POINTS = 24


def descend(
    *,
    name: str,
    settings: Mapping[str, Any],
    log2_C: float,
    part: float = 1.0,
    longest: float = LONGEST,
    seed: int = 0,
) -> dict[str, Any]:
    """Minimise to a tight tolerance; return the distance to the optimum and test metrics by time.

    The optimum is that of pairrank's default solver, less half its gap, or the least value of this
    descent if that is lower. `near` are the seconds to the distance NEAR. `flat` is what the
    accuracy still changes by after the default stop.
    """
    rows, C = problem(name, part, seed), 2.0**log2_C
    loss = settings.get("loss", "squared_hinge")
    _run(rows.train.part(slice(500)), C, settings, 1.0)  # what is timed has to be compiled
    _run(rows.train, C, settings, 0.0)
    finest = _run(rows.train, C, {"loss": loss}, longest)[-1]
    gap = 0.0 if np.isnan(finest.gap) else 0.5 * finest.gap
    steps = _run(rows.train, C, settings, longest)
    values = np.array([step.value for step in steps])
    optimum = min(finest.value - gap, values.min())
    distance = np.maximum(values / optimum - 1.0, 1e-16)
    dense_at_the_start = np.geomspace(1, len(steps), min(len(steps), MOST_POINTS)).round() - 1
    shown = np.unique(dense_at_the_start.astype(int))
    test = [quality(name, rows.test, rows.test.X @ steps[at].coef) for at in shown]
    norms = np.array([step.gradient_norm for step in steps])
    stop = int(np.argmax(norms <= STOP * norms[0])) if loss == "squared_hinge" else -1
    at_stop = quality(name, rows.test, rows.test.X @ steps[stop].coef)["accuracy"]
    reached = np.flatnonzero(distance <= NEAR)
    found: dict[str, Any] = {
        "seconds": [steps[at].seconds for at in shown],
        "distance": distance[shown],
        "near": steps[reached[0]].seconds if reached.size else float("nan"),
        "final": test[-1]["accuracy"],
        "flat": abs(at_stop - test[-1]["accuracy"]),
    }
    return found | {metric: [each[metric] for each in test] for metric in test[0]}


def _run(rows: Rows, C: float, settings: Mapping[str, Any], longest: float) -> list[Any]:
    """Fit, quietly if it does not converge; return its steps, with seconds since the call."""
    if "tree" in settings:
        return trees.minimise(rows, C, settings["tree"], FINEST["squared_hinge"], longest)
    steps: list[Any] = []
    start = time.perf_counter()

    def keep(step: Any) -> bool:
        steps.append(step._replace(seconds=time.perf_counter() - start))
        return bool(steps[-1].seconds > longest)

    tol = FINEST[settings.get("loss", "squared_hinge")]
    ranker = RankSVM(C, reduction="sum", tol=tol, **settings)
    fit_quietly(ranker, rows.X, rows.y, qid=rows.qid, callback=keep)
    return steps


BEST_LOG2_C = {
    "MQ2008": (0, 8),
    "MQ2007 shape": (-10, -10),
    "YAHOO set 2 shape": (-8, -8),
    "MSLR 30k shape, 1/20": (-10, -10),
    "MQ2007-list shape, 1/20": (-8, -4),
    "MQ2008-list shape, 1/20": (-14, -12),
}
"""The best log2 C by accuracy of the squared hinge and of the hinge, as Table 3's cells find it."""

FIXED_LOG2_C = {"1e-4": float(np.log2(1e-4)), "1": 0.0, "100": float(np.log2(100.0))}


def _cells(
    sets: Mapping[str, Name],
    methods: Mapping[str, Mapping[str, Any]],
    costs: Mapping[str, float | None],
) -> Iterator[Cell]:
    """Yield cells; a cost of None is the best C of the set, or of its part, for the loss."""
    for row, each in sets.items():
        best = BEST_LOG2_C.get(row) or BEST_LOG2_C.get(f"{row}, 1/20")
        for label, fixed in costs.items():
            for method, settings in methods.items():
                log2_C = fixed
                if best is not None and fixed is None:
                    log2_C = float(best[settings.get("loss") == "hinge"])
                config = {**each.settings, "settings": settings, "log2_C": log2_C}
                if each.full:
                    config["longest"] = 600.0
                place = f"{row}, C = {label}" if label else row
                yield Cell(place, method, descend, config, timed=True, full=each.full)


FEW = {row: DENSE[row] for row in ("MQ2008", "MQ2007 shape")}
SMALL_LISTS = {row: each for row, each in LISTS.items() if not each.full}


def _figure(name: str, title: str, cells: Iterator[Cell], note: str, *curves: str) -> Table:
    return Table(
        name=name,
        title=title,
        cells=tuple(cells),
        quantities=(
            Quantity("near", f"seconds to f/f* - 1 <= {NEAR:g}", form=".3g"),
            Quantity("final", "test pairwise accuracy at the end", form=".4f"),
            Quantity("flat", "its change after the default stop", form=".4f"),
        ),
        note=f"{note} A descent is stopped after {LONGEST:g} s, in sets that are taken whole with "
        "`--full` after 600 s. Seconds include the start of the fit. The optimum is that of a "
        "tight fit.",
        curves=(
            Curve("distance", "f/f* - 1", "seconds", is_log=True),
            *(Curve(metric, f"test {metric}", "seconds") for metric in curves),
        ),
        row_title="set",
    )


TABLES = (
    _figure(
        "fig4",
        "order-statistic trees and the direct count, C = 1",
        _cells(FEW | LISTS, SUMS, {"": 0.0}),
        "The paper's trees share one TRON. pairrank has the selection tree and the count by "
        "levels; an AA tree with levels as keys is beside a selection tree in another trust region "
        "Newton method (SciPy's trust-ncg), without a preconditioner. MQ2008 is the paper's; other "
        "sets are generated in the shape of its sets.",
    ),
    _figure(
        "fig5",
        "solvers at the best C, few levels",
        _cells({row: DENSE[row] for row in BEST_LOG2_C if row in DENSE}, SOLVERS, {"": None}),
        "PRSVM+ splits k levels into k - 1 problems of two levels; the count by levels, of the "
        "same cost, stands for it. Beside it is the direct count, a loop over every pair.",
        "accuracy",
        "ndcg",
    ),
    _figure(
        "fig6",
        "solvers at the best C, as many levels as rows of a query",
        _cells(LISTS, SOLVERS, {"": None}),
        "Generated in the shape of the paper's sets.",
        "accuracy",
    ),
    _figure(
        "fig7",
        "solvers at C = 1e-4, 1 and 100",
        _cells(FEW | SMALL_LISTS, SOLVERS, FIXED_LOG2_C),
        "L1 and L2 loss are not the same problem: each has its own optimum.",
    ),
)
