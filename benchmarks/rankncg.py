"""RankNCG: Raykar's Table 3 and Fig. 3, fits of a million rows and of five million.

Table 3: five folds; in each, lambda by five-fold cross-validation on its training rows (Section 6),
then nonlinear CG to 1e-3 from zero, summing pair by pair ("direct"), by boxes and by the paper's
Beaulieu series, timed in turn. The loss is the paper's plain sum (reduction="sum"): "direct" is its
exact logistic likelihood, "boxes" the same by fast sums, "Beaulieu" the paper's own variant
(loss="raykar": the gradient of erfc sums). Features are standardised on the training rows. Targets
are cut into bins of equal count, California's into bins of equal width, which the paper's number of
pairs says. WMW is over the test rows, ties counting as right (its Eq. 1), of scores
rounded to nine digits, so that equal rows tie whatever the order of summation. Its accuracies are
not comparable: some can only be had with the target among the features.

Real data sets are read where PAIRRANK_DATA names a folder that holds them.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from sklearn.preprocessing import StandardScaler

import _harness as harness
from pairrank import RankNCG, RankNCGCV
from pairrank.design import Design
from pairrank.estimators._base import BaseRanker
from pairrank.metrics import wmw_score
from pairrank.objective import SampledModel
from pairrank.pair_sums.sigmoid import SigmoidSum
from pairrank.preferences import Levels
from reproduction.data import DatasetNotFoundError, load
from reproduction.data.made import discretize, make_randnet, make_randpoly, make_utility

ALPHAS = tuple(10.0**power for power in range(-3, 4))
EPS = 1e-6
METHODS = {
    "direct": {"loss": "logistic", "pair_sum": "direct"},
    "boxes": {"loss": "logistic", "pair_sum": "boxes"},
    "Beaulieu": {"loss": "raykar", "pair_sum": "beaulieu"},
}


class Problem(NamedTuple):
    """A row of Table 1: what to load or make, its classes, and the paper's seconds and pairs."""

    name: str
    source: str
    n_rows: int
    n_bins: int
    direct_seconds: float | None
    fast_seconds: float
    n_pairs: int
    by: str = "count"


TABLE = (
    Problem("Diabetes", "diabetes", 43, 2, 0.11, 0.06, 272),
    Problem("Pyrimidines", "pyrim", 74, 3, 0.63, 0.12, 1113),
    Problem("Triazines", "triazines", 186, 4, 17.63, 0.70, 7674),
    Problem("Wisconsin", "wisconsin", 194, 4, 13.41, 0.33, 8162),
    Problem("Machine CPU", "machine_cpu", 209, 4, 20.38, 0.97, 9820),
    Problem("Auto MPG", "autompg", 392, 3, 28.05, 0.40, 30057),
    Problem("Boston", "housing", 506, 2, 18.92, 0.16, 33693),
    Problem("Airplane stocks", "stock", 950, 5, 332.88, 3.29, 217301),
    Problem("RandNet", "randnet", 1000, 6, 250.37, 5.08, 195907),
    Problem("RandPoly", "randpoly", 1000, 6, 102.48, 0.78, 225131),
    Problem("Abalone", "abalone", 4177, 3, 1736.47, 1.47, 3713729),
    Problem("RandNet", "randnet", 5000, 6, 6731.09, 19.10, 6269910),
    Problem("RandPoly", "randpoly", 5000, 6, 2556.93, 3.59, 5367241),
    Problem("California", "cal_housing", 20640, 3, None, 46.86, 82420255, "width"),
)
MAKERS = {"randnet": make_randnet, "randpoly": make_randpoly}


class Fold(NamedTuple):
    """Standardised training and test rows."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def rows_of(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return the features and the classes of a problem."""
    if problem.source in MAKERS:
        made = MAKERS[problem.source](problem.n_rows, n_bins=problem.n_bins, random_state=0)
        return made.X, made.y
    data = load(problem.source)
    return data.X, discretize(data.y, problem.n_bins, by=problem.by)


def folds_of(X: np.ndarray, y: np.ndarray) -> Iterator[Fold]:
    """Yield five folds of random rows, standardised on the training rows."""
    order = np.random.default_rng(0).permutation(y.size)
    for test in np.array_split(order, 5):
        train = np.setdiff1d(order, test)
        scaled = StandardScaler().fit(X[train]).transform(X)
        yield Fold(scaled[train], y[train], scaled[test], y[test])


def ranker_of(alpha: float, eps: float = EPS, **method: Any) -> RankNCG:
    """Return the paper's estimator: its plain sum, nonlinear CG to 1e-3."""
    return RankNCG(alpha, eps=eps, reduction="sum", solver="ncg", **method)


def choose_alpha(fold: Fold) -> float:
    """Return lambda by five folds of the training rows."""
    search = RankNCGCV(ALPHAS, reduction="sum", random_state=0)
    return float(search.fit(fold.X, fold.y).alpha_)


def wmw(ranker: RankNCG, fold: Fold) -> float:
    """Return the statistic over the test rows; equal rows tie, rounding aside."""
    scores = ranker.predict(fold.X_test)
    scores = np.round(scores / np.abs(scores).max(), 9)
    return float(wmw_score(fold.y_test, scores, ties="correct"))


def table_3(problems: tuple[Problem, ...], repeat: int) -> Iterator[list[Any]]:
    """Yield a row for each data set: seconds, WMW and pairs of each method."""
    for problem in problems:
        try:
            X, y = rows_of(problem)
        except DatasetNotFoundError:
            yield [problem.name, "not in the data folder", *["-"] * 9]
            continue
        seconds: dict[str, list[float]] = {name: [] for name in METHODS}
        scores: dict[str, list[float]] = {name: [] for name in METHODS}
        n_pairs, steps = [], []
        for fold in folds_of(X, y):
            alpha = choose_alpha(fold)
            rankers = {name: ranker_of(alpha, **method) for name, method in METHODS.items()}
            calls = {name: _fit_call(ranker, fold) for name, ranker in rankers.items()}
            for call in calls.values():
                call()
            for name, timing in harness.in_turn(calls, repeat).items():
                seconds[name].append(timing.median)
                scores[name].append(wmw(rankers[name], fold))
            n_pairs.append(rankers["direct"].n_pairs_)
            steps.append(rankers["boxes"].n_iter_)
        mean = {name: statistics.mean(values) for name, values in seconds.items()}
        paper = "-" if problem.direct_seconds is None else f"{problem.direct_seconds:g}"
        yield [
            problem.name,
            f"{y.size:,} x {X.shape[1]}",
            f"{statistics.mean(n_pairs):,.0f} ({problem.n_pairs:,})",
            statistics.mean(steps),
            *(_milliseconds(mean[name], statistics.stdev(seconds[name])) for name in METHODS),
            mean["direct"] / mean["boxes"],
            f"{paper} / {problem.fast_seconds:g}",
            *(f"{statistics.mean(scores[name]):.4f}" for name in METHODS),
        ]


def _fit_call(ranker: RankNCG, fold: Fold) -> Any:
    def call() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranker.fit(fold.X, fold.y)

    return call


def _milliseconds(mean: float, spread: float) -> str:
    return f"{1e3 * mean:.3g} ({1e3 * spread:.2g})"


def figure_3(repeat: int) -> Iterator[list[Any]]:
    """Yield a row for each eps on RandPoly: seconds, iterations, objective and WMW."""
    made = make_randpoly(1000, random_state=0)
    fold = next(folds_of(made.X, made.y))
    alpha = choose_alpha(fold)
    for name, loss in (("boxes", "logistic"), ("Beaulieu", "probit")):
        exact = ranker_of(alpha, eps=1e-13, loss=loss, pair_sum="boxes")
        exact.set_params(tol=1e-9, solver="tron").fit(fold.X, fold.y)
        for power in (-12, -10, -8, -6, -4, -3, -2, -1):
            ranker = ranker_of(alpha, eps=10.0**power, **METHODS[name])
            call = _fit_call(ranker, fold)
            call()
            timing = harness.in_turn({name: call}, repeat)[name]
            apart = float(np.linalg.norm(ranker.coef_ - exact.coef_) / np.linalg.norm(exact.coef_))
            yield [
                name,
                f"1e{power}",
                _milliseconds(timing.median, 0.0).partition(" ")[0],
                ranker.n_iter_,
                ranker.status_,
                f"{apart:.1e}",
                f"{wmw(ranker, fold):.5f}",
            ]


def against_rows(scale: float, repeat: int) -> Iterator[list[Any]]:
    """Yield default fits of a million rows beside LogisticRegression on the same rows."""
    from sklearn.linear_model import LogisticRegression

    for dtype, noise in ((np.float64, 1.0), (np.float32, 1.0), (np.float64, 0.1)):
        made = make_utility(
            int(1_000_000 * scale), 20, noise=noise, n_levels=2, dtype=dtype, random_state=0
        )
        rankers = {name: RankNCG(loss=name) for name in ("logistic", "probit")}
        rival = LogisticRegression(tol=1e-3)
        calls = {name: _million(ranker, made) for name, ranker in rankers.items()}
        calls["rival"] = _million(rival, made)
        for call in calls.values():
            call()
        timed = harness.in_turn(calls, repeat)
        for name, ranker in rankers.items():
            beside = harness.ratio(timed[name], timed["rival"])
            yield [
                np.dtype(dtype).name, f"{noise:g}", name, timed[name].median,
                ranker.history_[-1].n_evaluations, timed["rival"].median, int(rival.n_iter_[0]),
                f"{beside.median:.2f} ({beside.spread})",
            ]  # fmt: skip


def _million(model: Any, made: Any) -> Callable[[], None]:
    def call() -> None:
        model.fit(made.X, made.y)

    return call


PARTS = (
    ("X finite, labels", BaseRanker, "_check_rows"),
    ("layout of preferences", Levels, "build"),
    ("products with X", Design, "scores"),
    ("products with X", Design, "transposed"),
    ("pair sums", SigmoidSum, "_value_and_gradient"),
    ("Hessian of the sample", SampledModel, "matrix"),
)


@contextmanager
def clocked(clock: dict[str, float]) -> Iterator[None]:
    """Add to `clock` the seconds spent in each part of a fit; what a part calls is its own."""
    inside: list[str] = []

    def timed(name: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if inside:
                return function(*args, **kwargs)
            inside.append(name)
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                clock[name] = clock.get(name, 0.0) + time.perf_counter() - start
                inside.pop()

        return call

    with ExitStack() as stack:
        for name, owner, method in PARTS:
            function = getattr(owner, method)
            replacement = timed(name, function)
            if isinstance(owner.__dict__[method], classmethod):
                replacement = staticmethod(replacement)
            stack.enter_context(mock.patch.object(owner, method, replacement))
        yield


def large(scale: float) -> Iterator[list[Any]]:
    """Yield the parts of a fit of five million rows."""
    for dtype, loss in ((np.float64, "logistic"), (np.float64, "probit"), (np.float32, "logistic")):
        made = make_utility(
            int(5_000_000 * scale), 20, n_levels=5, noise=1.0, dtype=dtype, random_state=0
        )
        ranker = RankNCG(loss=loss)
        ranker.fit(made.X[:200_000], made.y[:200_000])
        clock: dict[str, float] = {}
        with clocked(clock):
            start = time.perf_counter()
            ranker.fit(made.X, made.y)
            total = time.perf_counter() - start
        clock["all else"] = total - sum(clock.values())
        name = np.dtype(dtype).name
        yield [name, loss, f"whole, {ranker.history_[-1].n_evaluations} evaluations", total]
        for part, seconds in clock.items():
            yield [name, loss, part, seconds]


def main() -> None:
    """Print every table as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", choices=["table3", "figure3", "rows", "large"])
    parser.add_argument("--quick", action="store_true", help="small sets, a tenth of the rows")
    parser.add_argument("--repeat", type=int, default=3, help="rounds of timing in turn")
    options = parser.parse_args()
    scale = 0.1 if options.quick else 1.0
    limits = harness.one_thread()
    print("## RankNCG\n")
    print(harness.header())
    if options.only in (None, "table3"):
        problems = tuple(p for p in TABLE if not options.quick or p.n_rows <= 1000)
        print("\n### Table 3: training, five folds, milliseconds (standard deviation)\n")
        columns = ["data", "rows", "pairs per fold (paper's)", "CG steps"]
        columns += [f"{name} ms" for name in METHODS]
        columns += ["direct/boxes", "paper's s, direct / fast"]
        columns += [f"WMW {name}" for name in METHODS]
        print(harness.table(columns, table_3(problems, options.repeat)))
    if options.only in (None, "figure3"):
        print("\n### Fig. 3: RandPoly 1,000 x 50 against eps, CG tolerance 1e-3\n")
        columns = ["sum", "eps", "ms", "CG steps", "status", "|w - w*|/|w*|", "WMW"]
        print(harness.table(columns, figure_3(options.repeat)))
    if options.only in (None, "rows"):
        print("\n### 1,000,000 x 20, binary, one query, beside LogisticRegression(tol=1e-3)\n")
        columns = ["X", "label noise", "loss", "RankNCG s", "evaluations", "LogisticRegression s"]
        columns += ["its iterations", "ratio (bar 0.45)"]
        print(harness.table(columns, against_rows(scale, 2 * options.repeat + 1)))
    if options.only in (None, "large"):
        print("\n### 5,000,000 x 20, 5 levels, one query: where the time goes (bar 10 s)\n")
        print(harness.table(["X", "loss", "part", "seconds"], large(scale)))
    limits.restore_original_limits()


if __name__ == "__main__":
    main()
