"""Choose how an objective over pairs is minimised, and show its progress."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from pairrank._protocols import (
    Callback,
    FloatArray,
    PairLoss,
    PiecewisePolynomial,
    Solution,
    Solver,
    Status,
    Step,
)
from pairrank.design import Design
from pairrank.objective import BandedModel, LineSample, PairObjective, SampledModel
from pairrank.preferences import Levels, Preferences, draw_sample
from pairrank.solvers.bundle import Bundle
from pairrank.solvers.nonlinear_cg import NonlinearCG
from pairrank.solvers.tron import Tron

_MAX_DENSE_FEATURES = 2000
_ROWS_A_FEATURE = 100
_LEAST_SAMPLE = 10_000
_ROWS_A_SAMPLED_ROW = 100
_LARGEST_SHARE = 50_000
_LINE_ROWS = 20_000
_FEW_ROWS = 2000
_EXACT = 1e-12
_LOOSE_CG = 0.3
_BANDS = 64
_LEAST_START = 5000
_ROWS_A_STARTING_ROW = 20
_STARTING_ROWS_A_FEATURE = 10
_START_STEPS = 300


def minimize(
    X: Any,
    preferences: Preferences,
    loss: PairLoss,
    *,
    factor: float,
    penalty: float,
    route: str,
    solver: str,
    tol: float,
    max_iter: int,
    w0: FloatArray | None,
    seed: Any,
    callback: Callback | None,
    eps: float = 1e-6,
    search: str = "wolfe",
) -> Solution:
    """Minimise penalty/2 |w|^2 + factor * pair sum by Newton, conjugate gradients or a bundle.

    ``solver="tron"`` is Lee & Lin's: every Hessian product over every pair. ``"auto"`` is TRON too,
    takes the Hessian from a sample of rows where X is dense with at most 2,000 features, as a
    factorised matrix, and starts from the sample's own solution; else, for the squared hinge, from
    bands of levels where levels are many (sums of likelihoods cost no more for them). ``"ncg"`` is
    Raykar's, with line searches as `search` says; `eps` is the error that the pair sum may start
    with: where rows are few and `route` is "auto", exactness costs nothing, and it is less. With
    many rows, "auto" and "ncg" foretell the length of each step by a sample's scores.
    Value and gradient are over every pair all the same, so the optimum is that of every pair.
    ``"bundle"`` is the cutting planes of Joachims and of Airola. So is ``"auto"`` for the hinge; of
    many more rows than features it starts from the solution for a twentieth of them, which saves up
    to two planes in three.
    """
    problem = {"factor": factor, "penalty": penalty}
    design = Design(X)
    generator = np.random.default_rng(seed)
    model, line = None, None
    if route == "auto" and design.n_rows <= _FEW_ROWS:
        eps = min(eps, _EXACT)
    planes = solver == "bundle" or not loss.smooth
    if solver == "auto" and not planes:
        model = _model(design, preferences, loss, problem, generator)
    if solver in ("auto", "ncg") and not planes and design.n_rows >= _LINE_ROWS:
        line = LineSample(preferences, loss, generator)
    descend = Bundle() if planes else _method(solver, search, loose=line is not None)
    objective = PairObjective(
        design, preferences, loss, route=route, eps=eps, model=model, line=line, **problem
    )
    start = None
    if w0 is None and isinstance(model, SampledModel) and not model.is_whole:
        start = model.start(descend, tol=max(tol, 0.02), max_iter=50)
    elif w0 is None and planes and solver == "auto":
        start = _sample_s_solution(design, preferences, loss, problem, generator, tol)
    if start is not None:
        if start.status is Status.INTERRUPTED:
            judged = descend(objective, start.coef, tol=tol, max_iter=0)
            return judged._replace(status=Status.INTERRUPTED)
        w0 = start.coef
    if w0 is None:
        w0 = np.zeros(objective.n_features)
    return descend(objective, w0, tol=tol, max_iter=max_iter, callback=callback)


def _method(solver: str, search: str, loose: bool) -> Solver:
    """Return the solver; TRON's inner iterations end early where steps are lengthened after."""
    if solver == "ncg":
        return NonlinearCG(search=search)
    return Tron(cg_tol=_LOOSE_CG) if loose else Tron()


def _model(
    design: Design,
    preferences: Preferences,
    loss: PairLoss,
    problem: dict[str, float],
    generator: np.random.Generator,
) -> SampledModel | BandedModel | None:
    """Choose where the Hessian comes from; None: from every pair."""
    if not design.is_sparse and design.n_features <= _MAX_DENSE_FEATURES:
        share = min(design.n_rows // _ROWS_A_SAMPLED_ROW, _LARGEST_SHARE)
        wanted = max(_LEAST_SAMPLE, _ROWS_A_FEATURE * design.n_features, share)
        if not _pays(min(wanted, design.n_rows), design.n_rows, design.n_features):
            return None
        return SampledModel(
            design.X, preferences, loss, n_rows=wanted, generator=generator, **problem
        )
    if not isinstance(preferences, Levels) or preferences.edges is not None:
        return None
    if isinstance(loss.family, PiecewisePolynomial) and preferences.labels.size > 2 * _BANDS:
        return BandedModel(design, preferences, loss, n_bands=_BANDS, **problem)
    return None


def _sample_s_solution(
    design: Design,
    preferences: Preferences,
    loss: PairLoss,
    problem: dict[str, float],
    generator: np.random.Generator,
    tol: float,
) -> Solution | None:
    """Return what cutting planes make of a sample of rows; None where it would not help.

    Where its rows are no more than ten times the features it is too far from the solution for all.
    """
    wanted = max(_LEAST_START, design.n_rows // _ROWS_A_STARTING_ROW)
    if design.n_rows < _LINE_ROWS or wanted < _STARTING_ROWS_A_FEATURE * design.n_features:
        return None
    rows, drawn = draw_sample(preferences, wanted, generator)
    factor, penalty = problem["factor"], problem["penalty"]
    sample = PairObjective(design.X[rows], drawn, loss, factor=factor, penalty=penalty)
    zero = np.zeros(sample.n_features)
    return Bundle()(sample, zero, tol=tol, max_iter=_START_STEPS)


def _pays(sample: int, n_rows: int, n_features: int) -> bool:
    """Say whether a sample's Hessian costs less than the few exact products that it saves.

    Measured nanoseconds: the sums of a column of the sample's Hessian take 10 a row, its matrix
    product n_features/15; a product with the Hessian of every pair takes 1.6 a feature and row, and
    20 a row for the sums. A fit takes about six Hessians where conjugate gradients take thirty
    products.
    """
    hessian = sample * n_features * (10 + n_features / 15)
    product = n_rows * (20 + 1.6 * n_features)
    return 6 * hessian <= 30 * product


def progress_printer(verbose: int, n_pairs: int) -> Callback | None:
    """Return a callback that prints a line an iteration to standard error, or None."""
    if not verbose:
        return None

    def show(step: Step) -> None:
        left = f"|gradient| {step.gradient_norm:.2e}"
        if not np.isnan(step.gap):
            left = f"gap {step.gap:.2e}"
        print(
            f"iteration {step.n_iter:4d}  objective {step.value:.8e}  {left}  pairs {n_pairs:,}  "
            f"{step.seconds:.2f} s",
            file=sys.stderr,
        )

    return show


def combined(*callbacks: Callback | None) -> Callback | None:
    """Return one callback that calls all in turn and stops where any asks to."""
    given = [callback for callback in callbacks if callback is not None]
    if not given:
        return None

    def call(step: Step) -> bool:
        return any([bool(callback(step)) for callback in given])

    return call
