"""Table 1 and Figures 1 and 2: three ways to regularise, and the error by steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairrank import RankRLS
from pairrank.metrics import pairwise_accuracy
from reproduction.papers.airola2010.rows import (
    CONFIGS,
    N_PAIRS,
    NOTES,
    PARSES,
    REUTERS,
    SHAPED,
    WHOLE,
    problem_of,
    with_pairs,
)
from reproduction.pictures import draw_curves, new_figure
from reproduction.protocols import Problem, Rows, seconds_of, without_warnings
from reproduction.study import Cell, Place, Printed, Quantity, Study, Table

GRID = tuple(2.0**power for power in range(-10, 11))
METHODS = {"1 Tikhonov": "tikhonov", "2 iteration": "iteration", "3 hybrid": "hybrid"}
MAX_STEPS = 500
TOL = 1e-5
NO_PENALTY = 1e-300
PAIRS = {REUTERS: f"{REUTERS}, 10^6 pairs", SHAPED: f"{SHAPED}, 10^6 pairs",
         WHOLE: f"{WHOLE}, 10^6 pairs"}  # fmt: skip


def regularise(
    *, data: str, size: int, method: str, n_pairs: int = 0, grid: int = len(GRID), seed: int = 0
) -> dict[str, Any]:
    """Return test error, seconds to train and to choose, the chosen lambda and the steps.

    "Choose" is the whole grid (one fit for "iteration"); "train" fits again with what was chosen
    and as many steps, without validation.
    """
    problem = problem_of(data, size, seed)
    if n_pairs:
        problem = with_pairs(problem, n_pairs, seed)
    chosen: list[RankRLS] = []
    alphas = GRID[:: max(1, len(GRID) // grid)]
    with without_warnings():
        _fit(problem, "tikhonov", 1.0, 2)
        selection = seconds_of(lambda: chosen.append(_choose(problem, method, alphas)), repeats=1)
        best = chosen[-1]
        steps = best.n_iter_ if method == "tikhonov" else best.best_iteration_
        alpha = NO_PENALTY if method == "iteration" else best.alpha
        training = seconds_of(lambda: _fit(problem, "tikhonov", alpha, max(1, steps)), repeats=1)
    return {
        "error": _error(best, problem.test),
        "training": training,
        "selection": selection,
        "lambda": 0.0 if method == "iteration" else float(best.alpha),
        "steps": int(steps),
    }


def curve_of(
    *, data: str, size: int, alpha: float, n_pairs: int = 0, steps: int = MAX_STEPS, seed: int = 0
) -> dict[str, Any]:
    """Return the validation error after each step, and the steps until the stop."""
    problem = problem_of(data, size, seed)
    if n_pairs:
        problem = with_pairs(problem, n_pairs, seed)
    method = "hybrid" if alpha else "iteration"
    with without_warnings():
        ranker = _fit(problem, method, alpha, steps, patience=steps)
    error = 1.0 - np.asarray(ranker.validation_scores_)
    return {
        "error": error,
        "best": float(error.min()),
        "last": float(error[-1]),
        "best step": int(error.argmin()),
        "steps": int(ranker.n_iter_),
    }


def _fit(
    problem: Problem, method: Any, alpha: float, max_iter: int = MAX_STEPS, patience: int = 10
) -> RankRLS:
    """Fit by conjugate gradients, validated where the method needs it."""
    ranker = RankRLS(
        alpha, regularization=method, solver="cg", tol=TOL, max_iter=max_iter, patience=patience
    )
    valid: dict[str, Any] = {}
    if method != "tikhonov":
        valid = dict(zip(("X_val", "y_val", "qid_val"), problem.valid, strict=True))
    return ranker.fit(problem.train.X, problem.train.y, qid=problem.train.qid, **valid)


def _choose(problem: Problem, method: str, alphas: tuple[float, ...]) -> RankRLS:
    """Return the fit of the least validation error."""
    if method == "iteration":
        return _fit(problem, method, 1.0)
    fits = [_fit(problem, method, alpha) for alpha in alphas]
    return min(fits, key=lambda ranker: _error(ranker, problem.valid))


def _error(ranker: RankRLS, rows: Rows) -> float:
    """Return the share of pairs in the wrong order, ties counting half, the mean over queries."""
    scores = ranker.predict(rows.X)
    return 1.0 - float(pairwise_accuracy(rows.y, scores, qid=rows.qid, average="queries"))


_PRINTED = {
    PARSES: ((0.2185, 11, 1743), (0.2180, 6, 9), (0.2185, 7, 137)),
    REUTERS: ((0.01472, 352, 17186), (0.01531, 65, 97), (0.01473, 155, 2120)),
    PAIRS[REUTERS]: ((0.01530, 226, 15295), (0.01621, 52, 78), (0.01530, 94, 1695)),
}
_AS = {SHAPED: REUTERS, WHOLE: REUTERS, PAIRS[SHAPED]: PAIRS[REUTERS], PAIRS[WHOLE]: PAIRS[REUTERS]}
ROWS = (PARSES, REUTERS, PAIRS[REUTERS], SHAPED, PAIRS[SHAPED], WHOLE, PAIRS[WHOLE])


def _printed(part: int) -> dict[Place, Printed]:
    return {
        (row, method): Printed(_PRINTED[_AS.get(row, row)][place][part])
        for row in ROWS
        for place, method in enumerate(METHODS)
    }


def _source(row: str) -> str:
    return row.removesuffix(", 10^6 pairs")


def _cell(row: str, method: str) -> Cell:
    n_pairs = N_PAIRS if row != _source(row) else 0
    full = _source(row) == WHOLE
    return Cell(
        row,
        method,
        regularise,
        {**CONFIGS[_source(row)], "method": METHODS[method], "n_pairs": n_pairs},
        timed=True,
        full=full,
        seconds=240.0,
        memory=6.0,
    )


_NOTES = {(row, "*"): NOTES[_source(row), "*"] for row in ROWS}
TABLE = Table(
    name="1",
    title="test error, training and parameter selection",
    cells=tuple(_cell(row, method) for row in ROWS for method in METHODS),
    quantities=(
        Quantity("error", "test error", _printed(0), ".5f", 0.01, not_compared=_NOTES),
        Quantity("training", "seconds of training", _printed(1), ".3g", not_compared=_NOTES),
        Quantity("selection", "seconds of selection", _printed(2), ".3g", not_compared=_NOTES),
        Quantity("lambda", "chosen lambda", form=".3g"),
        Quantity("steps", "steps of the chosen fit", form=".0f"),
    ),
    note="lambda from 2^-10 .. 2^10 by the validation rows; conjugate gradients to 1e-5 or 500 "
    "steps; methods 2 and 3 stop after ten steps without a lower validation error. The parse "
    "ranking set and RCV1 cannot be had; the generated rows have their widths and densities.",
    row_title="data",
)

ALPHAS = (0.0, 2.0**-10, 2.0**-5, 1.0, 2.0**5, 2.0**10)


def _curves(name: str, title: str, rows: tuple[str, ...]) -> Table:
    notes = {(row, "*"): NOTES[row, "*"] for row in rows}
    return Table(
        name=name,
        title=title,
        cells=tuple(
            Cell(row, f"lambda = {alpha:g}", curve_of, {**CONFIGS[row], "alpha": alpha})
            for row in rows
            for alpha in ALPHAS
        ),
        quantities=(
            Quantity("best", "least validation error", form=".4f", not_compared=notes),
            Quantity("last", "validation error at the stop", form=".4f", not_compared=notes),
            Quantity("best step", "step of the least error", form=".0f"),
            Quantity("steps", "steps until the stop", form=".0f"),
        ),
        note="The paper draws curves and prints no numbers. Conjugate gradients run to 1e-5 or 500 "
        "steps.",
        draw=lambda study: _draw(study, name, rows),
        row_title="data",
    )


def _draw(study: Study, name: str, rows: tuple[str, ...]) -> Any:
    done = study.done(name)
    figure, axes = new_figure(len(rows))
    for place, row in enumerate(rows):
        curves: dict[str, tuple[list[float], list[float]]] = {}
        for cell in done:
            if cell.row == row:
                error = study.values(name, row, cell.column, "error")
                curves[cell.column] = ([step + 1.0 for step in range(len(error))], error)
        draw_curves(
            axes[place],
            curves,
            title=row,
            x="steps + 1",
            y="validation error",
            log="xy",
            dense=True,
        )
    return figure


PARSE_CURVES = _curves("fig1", "validation error by steps, parse ranking", (PARSES,))
REUTERS_CURVES = _curves("fig2", "validation error by steps, Reuters", (REUTERS, SHAPED))
