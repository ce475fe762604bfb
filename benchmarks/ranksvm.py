"""Whole RankSVM fits beside LIBLINEAR-ranksvm at an equal objective.

``--liblinear PATH`` names LIBLINEAR-ranksvm 2.11's ``train`` program. Its training alone is timed:
a build that prints ``training_seconds S`` around its call of train() says it; else the wall time
counts less that of a run with ``-e 1e10``. The data is written as svmlight text to a temporary
folder first. Both stop at the gradient's norm relative to that at 0; objectives are computed here,
in float64, from the weights of both.

"At an equal objective" counts pairrank's fastest fit among the tolerances tried whose objective is
no more than 1e-6 above the rival's, relative; where 1e-3 and 1e-5 end above it, a fit goes on until
it is there, or half a minute is over ("until equal"). A LIBLINEAR fit that takes over a minute,
reading included, is left out.

Asserts nothing.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import _harness as harness
from _liblinear import Liblinear, Problem, Rival
from pairrank import RankSVM
from pairrank._protocols import Step
from pairrank.datasets import make_queries
from reproduction.data.made import make_utility

CS = (1e-4, 1.0, 100.0)
TOLERANCES = (1e-3, 1e-5)
OWN_TOLERANCES = (1e-4,)
"""Further tolerances of pairrank alone, since equal tolerances do not give equal objectives."""
UNTIL_EQUAL = 0.0
LONGEST = 30.0
ENOUGH = 12.0
EQUAL = 1e-6
BARS = {"dense": 20.0, "sparse": 5.0, "binary": 2.5}
Timing = harness.Timing


class Fit(NamedTuple):
    """One C and tolerance: RankSVM, its objective, and LIBLINEAR where it ran."""

    C: float
    tol: float
    seconds: Timing
    model: RankSVM
    objective: float
    rival: Rival | None
    rival_seconds: Timing | None
    rival_objective: float


def dense(scale: float) -> Problem:
    """Return 200,040 x 136 float32 in queries of 120, correlated as real features are."""
    made = make_queries(
        int(1667 * scale),
        120,
        136,
        n_levels=5,
        latent=25,
        condition=1e4,
        dtype=np.float32,
        random_state=0,
    )
    return Problem("dense", made.X, made.y, made.qid)


def sparse(scale: float) -> Problem:
    """Return 60,000 x 5,000 with 40 entries per row, one query, real labels."""
    made = make_utility(int(60_000 * scale), 5000, nnz_per_row=40, random_state=0)
    return Problem("sparse", made.X, made.y, None)


def binary(scale: float) -> Problem:
    """Return 100,000 x 50,000 with 40 entries per row, one query, two levels."""
    made = make_utility(int(100_000 * scale), 50_000, nnz_per_row=40, n_levels=2, random_state=0)
    return Problem("binary", made.X, made.y, None)


PROBLEMS: dict[str, Callable[[float], Problem]] = {
    "dense": dense,
    "sparse": sparse,
    "binary": binary,
}


def fit(problem: Problem, C: float, tol: float) -> RankSVM:
    """Fit, quietly where float32 ends the descent: the objectives tell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RankSVM(C, tol=tol, reduction="sum").fit(problem.X, problem.y, qid=problem.qid)


def time_fits(problem: Problem, train: Path | None, repeat: int) -> Iterator[Fit]:
    """Yield every C and tolerance, RankSVM and LIBLINEAR timed in turn."""
    fit(problem, 1.0, 0.5)
    with tempfile.TemporaryDirectory() as folder:
        liblinear = None if train is None else Liblinear(train, problem, Path(folder))
        for C in CS:
            fits = [_time_fit(problem, liblinear, C, tol, repeat) for tol in TOLERANCES]
            fits += [_time_fit(problem, None, C, tol, repeat) for tol in OWN_TOLERANCES]
            yield from fits
            reached = [fit.rival_objective for fit in fits if fit.rival is not None]
            goal = min(reached, default=np.inf) * (1 + EQUAL)
            if min(fit.objective for fit in fits) > goal:
                yield time_until(problem, C, goal)


def time_until(problem: Problem, C: float, goal: float) -> Fit:
    """Fit until the objective is at the goal, or for LONGEST seconds."""
    model = RankSVM(C, tol=1e-9, reduction="sum")

    def there(step: Step) -> bool:
        return step.value <= goal or step.seconds > LONGEST

    def call() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(problem.X, problem.y, qid=problem.qid, callback=there)

    taken = harness.in_turn({"ours": call}, 1)["ours"]
    objective = problem.objective(C, model.coef_)
    return Fit(C, UNTIL_EQUAL, taken, model, objective, None, None, float("nan"))


def _time_fit(
    problem: Problem, liblinear: Liblinear | None, C: float, tol: float, repeat: int
) -> Fit:
    last: dict[str, Any] = {}

    def ours() -> None:
        last["ours"] = fit(problem, C, tol)

    def theirs() -> float:
        assert liblinear is not None
        last["theirs"] = liblinear.fit(C, tol)
        return float("nan") if last["theirs"] is None else last["theirs"].seconds

    calls: dict[str, Callable[[], Any]] = {"ours": ours}
    if liblinear is not None:
        calls["theirs"] = theirs
    taken = harness.in_turn(calls, repeat, budget=ENOUGH)
    rival = last.get("theirs")
    return Fit(
        C,
        tol,
        taken["ours"],
        last["ours"],
        problem.objective(C, last["ours"].coef_),
        rival,
        None if rival is None else taken["theirs"],
        float("nan") if rival is None else problem.objective(C, rival.coef),
    )


def tolerance_text(one: Fit) -> str:
    """Return the tolerance as the tables show it."""
    return "until equal" if one.tol == UNTIL_EQUAL else f"{one.tol:g}"


def fit_row(name: str, one: Fit) -> list[Any]:
    """Return one line of the table of fits."""
    step = one.model.history_[-1]
    row = [name, f"{one.C:g}", tolerance_text(one), one.seconds.median, step.n_evaluations]
    row += [step.n_products, one.model.n_iter_, f"{one.objective:.8g}"]
    if one.rival is None or one.rival_seconds is None:
        return [*row, "-", "-", "-", "-", "-"]
    speed = harness.ratio(one.rival_seconds, one.seconds)
    return [
        *row,
        one.rival_seconds.median,
        one.rival.n_cg,
        one.rival.n_newton,
        f"{one.objective / one.rival_objective - 1:+.1e}",
        f"{speed.median:.1f} ({speed.spread})",
    ]


def summary(name: str, fits: list[Fit]) -> list[list[Any]]:
    """Return geometric means over C: at equal tolerances, and at an equal objective."""
    rows = []
    for tol in TOLERANCES:
        same = [one for one in fits if one.tol == tol and one.rival_seconds is not None]
        if not same:
            continue
        plain = harness.geometric_mean(
            harness.ratio(one.rival_seconds, one.seconds).median for one in same
        )
        equal = [_equal_speed(one, fits) for one in same]
        mean = f"{harness.geometric_mean(equal):.1f}" if all(equal) else "not reached"
        per_C = ", ".join(f"{speed:.1f}" for speed in equal)
        rows.append([name, f"{tol:g}", f"{plain:.1f}", per_C, mean, BARS[name]])
    return rows


def _equal_speed(one: Fit, fits: list[Fit]) -> float:
    """Return LIBLINEAR's time over that of our fastest fit with as good an objective, or 0."""
    assert one.rival_seconds is not None
    good = [
        other.seconds.median
        for other in fits
        if other.C == one.C and other.objective <= one.rival_objective * (1 + EQUAL)
    ]
    return one.rival_seconds.median / min(good) if good else 0.0


def report_problem(name: str, options: argparse.Namespace) -> None:
    """Print the tables of one problem."""
    problem = PROBLEMS[name](options.scale)
    fits = list(time_fits(problem, options.liblinear, options.repeat))
    print(
        f"\n### {name}: {problem.X.shape[0]:,} x {problem.X.shape[1]:,}, {problem.X.dtype},", end=""
    )
    print(f" {fits[0].model.n_pairs_:,} pairs\n")
    columns = ["data", "C", "tol", "pairrank s", "evaluations", "CG", "Newton", "objective"]
    columns += ["LIBLINEAR s", "its CG", "its Newton", "ours/its objective - 1", "times faster"]
    print(harness.table(columns, (fit_row(name, one) for one in fits)))
    lines = summary(name, fits)
    if lines:
        columns = ["data", "LIBLINEAR's eps", "times faster, same tol"]
        columns += ["times faster, equal objective, each C", "geometric mean", "bar"]
        print("\n" + harness.table(columns, lines))


def main() -> None:
    """Print every table as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--liblinear", type=Path, help="LIBLINEAR-ranksvm's train program")
    parser.add_argument("--only", choices=PROBLEMS, help="one set of tables")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, timed once")
    parser.add_argument("--repeat", type=int, default=3, help="rounds of timing in turn")
    options = parser.parse_args()
    options.scale = 0.1 if options.quick else 1.0
    options.repeat = 1 if options.quick else options.repeat
    limits = harness.one_thread()
    print("## RankSVM: whole fits\n")
    print(harness.header())
    for name in PROBLEMS:
        if options.only in (None, name):
            report_problem(name, options)
    limits.restore_original_limits()


if __name__ == "__main__":
    main()
