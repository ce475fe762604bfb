"""Figs. 5 and 6 of Lee & Lin 2014: how fast squared hinge and hinge come to their optimum.

Each solver is run to a tight tolerance and seen at every iteration: the seconds since the fit was
called, how far the objective is above its own optimum, and how well the weights rank test rows. The
optimum of the squared hinge is the last value, that of the hinge is known to within its gap.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import _harness as harness
from _rivals import Problem
from pairrank import RankSVM
from pairrank._protocols import Step
from pairrank.metrics import mean_ndcg, pairwise_accuracy
from reproduction.data import load

METHODS: dict[str, dict[str, Any]] = {
    "squared hinge, tron": {"loss": "squared_hinge", "solver": "tron"},
    "squared hinge, auto": {"loss": "squared_hinge", "solver": "auto"},
    "hinge, bundle": {"loss": "hinge", "solver": "bundle"},
    "hinge, auto": {"loss": "hinge", "solver": "auto"},
}
FINEST = {"squared_hinge": 1e-9, "hinge": 1e-5}
DISTANCES = (1e-1, 1e-2, 1e-3, 1e-4)
MOST_LEVELS = 10
COLUMNS = ["data", "C", "method", "f/f* - 1 <=", "s", "evaluations", "Hessian products"]
COLUMNS += ["test pairwise accuracy", "test mean NDCG"]


class Curve(NamedTuple):
    """What one solver went through: its steps, weights and seconds, and its optimum."""

    steps: list[Step]
    coefs: list[np.ndarray[Any, Any]]
    seconds: np.ndarray[Any, Any]
    optimum: float

    def first_within(self, distance: float) -> int | None:
        """Return the first step whose value is so near to the optimum, relative."""
        near = [
            at for at, step in enumerate(self.steps) if step.value / self.optimum - 1 <= distance
        ]
        return near[0] if near else None


def split(problem: Problem) -> tuple[Problem, Problem]:
    """Return training and test rows: MQ2008's own, or the last fifth of the rows or queries."""
    if problem.name == "mq2008" and os.environ.get("PAIRRANK_DATA"):
        data = load("letor4_mq2008", fold=1, subset="test")
        return problem, Problem("test", data.X, data.y, data.qid)
    n_rows = problem.y.size
    last = np.arange(n_rows) >= 0.8 * n_rows
    if problem.qid is not None:
        queries = np.unique(problem.qid)
        last = problem.qid >= queries[int(0.8 * queries.size)]
    parts = []
    for inside in (~last, last):
        qid = None if problem.qid is None else problem.qid[inside]
        parts.append(Problem(problem.name, problem.X[inside], problem.y[inside], qid))
    return parts[0], parts[1]


def trace(problem: Problem, C: float, method: dict[str, Any], tol: float) -> Curve:
    """Fit once, quietly, and keep the weights of every step."""
    steps: list[Step] = []
    start = time.perf_counter()

    def keep(step: Step) -> None:
        steps.append(step._replace(seconds=time.perf_counter() - start))

    model = RankSVM(C, tol=tol, max_iter=3000, **method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(problem.X, problem.y, qid=problem.qid, callback=keep)
    # A bundle's optimum is below its value by the gap at the most: half of it is the best guess.
    gap = 0.0 if np.isnan(steps[-1].gap) else steps[-1].gap
    coefs = [step.coef for step in steps if step.coef is not None]
    seconds = np.array([step.seconds for step in steps])
    return Curve(steps, coefs, seconds, steps[-1].value - 0.5 * gap)


def curves(problem: Problem, C: float, repeat: int) -> dict[str, Curve]:
    """Trace every method in turn, `repeat` rounds; the seconds of a step are their median."""
    rounds: dict[str, list[Curve]] = {name: [] for name in METHODS}
    for method in METHODS.values():
        trace(problem.cut(2000), C, method, 0.1)
    for _ in range(repeat):
        for name, method in METHODS.items():
            rounds[name].append(trace(problem, C, method, FINEST[method["loss"]]))
    return {
        name: each[0]._replace(seconds=np.median([curve.seconds for curve in each], axis=0))
        for name, each in rounds.items()
    }


def curve_rows(problem: Problem, C: float, repeat: int) -> Iterator[list[Any]]:
    """Yield a line for every method and distance: when it was reached, and how rows rank then."""
    train, test = split(problem)
    for name, curve in curves(train, C, repeat).items():
        for distance in DISTANCES:
            at = curve.first_within(distance)
            if at is None:
                yield [problem.name, f"{C:g}", name, f"{distance:g}", *["not reached"] * 5]
                continue
            step = curve.steps[at]
            counts = [step.n_evaluations, step.n_products]
            shown = [f"{value:.4f}" for value in quality(test, curve.coefs[at])]
            yield [
                problem.name,
                f"{C:g}",
                name,
                f"{distance:g}",
                curve.seconds[at],
                *counts,
                *shown,
            ]


def quality(test: Problem, coef: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return pairwise accuracy and mean NDCG, NaN where labels are too many to be gains."""
    scores = test.X @ coef.astype(test.X.dtype)
    accuracy = pairwise_accuracy(test.y, scores, qid=test.qid)
    if np.unique(test.y).size > MOST_LEVELS:
        return accuracy, float("nan")
    return accuracy, float(mean_ndcg(test.y, scores, qid=test.qid))


def report(problem: Problem, Cs: tuple[float, ...], repeat: int) -> None:
    """Print the table of one problem."""
    rows = (row for C in Cs for row in curve_rows(problem, C, repeat))
    print("\n" + harness.table(COLUMNS, rows), flush=True)
