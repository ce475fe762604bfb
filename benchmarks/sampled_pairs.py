"""All pairs against sampled pairs at equal time: objective and held-out accuracy.

Sculley 2009 found that stochastic steps on sampled pairs rank as well as sums over all pairs, in
less time. Here both minimise the same objective on the same rows. All pairs: what `fit` does by
itself, seen at every iteration. Sampled pairs: the steps of ``solver="sgd"``, timed without the
evaluations of the objective that end such a fit, and with the index of pairs.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import _harness as harness
from pairrank import RankNCG, RankSVM
from pairrank.datasets import make_queries
from pairrank.losses import as_loss
from pairrank.metrics import pairwise_accuracy
from pairrank.objective import PairObjective, PairSteps, Problem, StepRule
from pairrank.preferences import Levels, PairIndex
from reproduction.data.made import make_utility

TIMES = (0.3, 1.0, 3.0, 10.0)
"""The results are shown at these multiples of the seconds that `fit` takes at its default tol."""
FINEST = 1e-6
FIRST_STEPS, GROWTH = 1000, 1.3
MODELS: dict[str, Callable[..., Any]] = {
    "squared hinge": RankSVM,
    "hinge": lambda **options: RankSVM(loss="hinge", **options),
    "logistic": RankNCG,
}
SCHEDULES = ("invscaling", "pegasos")


class Data(NamedTuple):
    """Training rows, held-out rows, and the objective of the training rows."""

    name: str
    X: Any
    y: Any
    qid: Any
    test: tuple[Any, Any, Any]

    @classmethod
    def split(cls, name: str, X: Any, y: Any, qid: Any) -> Data:
        """Hold out the last fifth of the rows, or of the queries."""
        border = int(0.8 * y.size)
        if qid is not None:
            border = int(np.searchsorted(qid, qid[border]))
        parts = [
            (X[rows], y[rows], None if qid is None else qid[rows])
            for rows in (slice(0, border), slice(border, y.size))
        ]
        return cls(name, *parts[0], parts[1])

    def accuracy(self, coef: Any) -> float:
        """Return the pairwise accuracy of weights on the held-out rows."""
        X, y, qid = self.test
        return float(pairwise_accuracy(y, X @ coef.astype(X.dtype), qid=qid))


class Curve(NamedTuple):
    """The weights of a run, their objective, and the seconds until each was known."""

    seconds: list[float]
    coefs: list[Any]
    values: list[float]

    def at(self, seconds: float) -> int | None:
        """Return the last place known by then; None: there was none yet."""
        known = int(np.searchsorted(self.seconds, seconds, side="right"))
        return known - 1 if known else None


def sparse(scale: float) -> Data:
    """Return 60,000 x 5,000 with 40 entries per row, one query, five levels."""
    made = make_utility(
        int(60_000 * scale), 5000, nnz_per_row=40, noise=0.5, n_levels=5, random_state=0
    )
    return Data.split("sparse", made.X, made.y, None)


def dense(scale: float) -> Data:
    """Return 120,000 x 136 in queries of 120, correlated as real features are, five levels."""
    made = make_queries(
        int(1000 * scale), 120, 136, n_levels=5, latent=25, condition=1e4, random_state=0
    )
    return Data.split("dense", made.X, made.y, made.qid)


def even(scale: float) -> Data:
    """Return 200,000 x 20 independent normal features, one query, five levels, much noise."""
    made = make_utility(int(200_000 * scale), 20, noise=1.0, n_levels=5, random_state=0)
    return Data.split("even", made.X, made.y, None)


def separable(scale: float) -> Data:
    """Return 2,500 x 400 rows with hardly any noise: weights satisfy nearly every pair."""
    made = make_utility(int(2_500 * scale), 400, noise=0.01, n_levels=5, random_state=0)
    return Data.split("separable", made.X, made.y, None)


PROBLEMS: dict[str, Callable[[float], Data]] = {
    "sparse": sparse,
    "dense": dense,
    "even": even,
    "separable": separable,
}


def fitted(model: Callable[..., Any], data: Data, **options: Any) -> Any:
    """Fit quietly."""
    callback = options.pop("callback", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model(**options).fit(data.X, data.y, qid=data.qid, callback=callback)


def all_pairs(model: Callable[..., Any], data: Data, tol: float) -> Curve:
    """Return the iterations of a fit with the default solver."""
    curve = Curve([], [], [])
    start = time.perf_counter()

    def keep(step: Any) -> None:
        curve.seconds.append(time.perf_counter() - start)
        curve.coefs.append(step.coef)
        curve.values.append(step.value)

    fitted(model, data, tol=tol, max_iter=3000, callback=keep)
    return curve


def sampled_pairs(
    ranker: Any, data: Data, objective: PairObjective, schedule: str, seconds: float
) -> Curve:
    """Return the weights after 1,000 steps, 1,300 and so on, until the seconds are over."""
    start = time.perf_counter()
    levels = Levels.build(data.y, data.qid).reduced("rows")
    pairs = PairIndex(levels)
    rule = StepRule(schedule)
    generator = np.random.default_rng(0)
    steps = PairSteps(as_loss(ranker.loss), np.zeros(data.X.shape[1]), rule, generator)
    ratio = float(getattr(ranker, "alpha", 1.0)) / (
        float(getattr(ranker, "C", 1.0)) * levels.total_weight
    )
    curve, taken, n_steps = Curve([], [], []), time.perf_counter() - start, FIRST_STEPS
    while True:
        start = time.perf_counter()
        steps.take(data.X, pairs, n_steps - steps.n_steps, ratio)
        taken += time.perf_counter() - start
        coef = steps.coef
        curve.seconds.append(taken)
        curve.coefs.append(coef)
        curve.values.append(value_of(objective, coef))
        if taken > seconds:
            return curve
        n_steps = int(GROWTH * n_steps)


def value_of(objective: PairObjective, coef: Any) -> float:
    """Return the objective of weights, penalty included."""
    return float(objective.at(coef).value + 0.5 * objective.penalty * coef @ coef)


def objective_of(ranker: Any, data: Data) -> PairObjective:
    """Return the objective that the ranker minimises on all rows."""
    levels = Levels.build(data.y, data.qid).reduced("rows")
    penalty, factor = getattr(ranker, "alpha", 1.0), getattr(ranker, "C", 1.0)
    return PairObjective(Problem(data.X, levels, as_loss(ranker.loss), penalty, factor, eps=1e-9))


def beside(data: Data, name: str, repeat: int) -> Iterator[list[Any]]:
    """Yield a line for each method: the objective's error and the accuracy at each time."""
    model = MODELS[name]
    objective = objective_of(model(), data)
    finest = FINEST if name != "hinge" else 1e-4
    best = [all_pairs(model, data, finest) for _ in ("to compile", "to keep")][-1]
    optimum = min(best.values)
    whole = np.median([all_pairs(model, data, 1e-3).seconds[-1] for _ in range(repeat)])
    curves = {"all pairs": best}
    for schedule in SCHEDULES:
        given = model(), data, objective, schedule
        sampled_pairs(*given, 0.0)
        curves[f"sampled, {schedule}"] = sampled_pairs(*given, TIMES[-1] * whole)
    for method, curve in curves.items():
        cells = []
        for multiple in TIMES:
            at = curve.at(multiple * whole)
            if at is None:
                cells.append("nothing yet")
                continue
            error = curve.values[at] / optimum - 1.0
            cells.append(f"{max(error, 0.0):.1e}, {data.accuracy(curve.coefs[at]):.4f}")
        yield [data.name, name, f"{whole:.2f}", method, *cells]


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=[*PROBLEMS], help="one set of rows")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, timed once")
    parser.add_argument("--repeat", type=int, default=3, help="fits whose median is the unit")
    options = parser.parse_args()
    limits = harness.one_thread()
    names = [name for name in PROBLEMS if options.only in (None, name)]
    repeat = 1 if options.quick else options.repeat
    made = [PROBLEMS[name](0.1 if options.quick else 1.0) for name in names]
    print("## Sampled pairs against all pairs\n")
    print(harness.header())
    for data in made:
        print(f"\n{data.name}: {data.X.shape[0]:,} x {data.X.shape[1]:,} training rows", flush=True)
    print("\n### Objective above its optimum and held-out pairwise accuracy, by time\n")
    columns = ["data", "loss", "T: fit s", "method", *(f"{each:g} T" for each in TIMES)]
    for data in made:
        rows = [row for name in MODELS for row in beside(data, name, repeat)]
        print(harness.table(columns, rows) + "\n", flush=True)
    limits.restore_original_limits()


if __name__ == "__main__":
    main()
