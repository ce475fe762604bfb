"""Choose how a smooth pair objective is minimised, and show its progress."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy import sparse

from pairrank._protocols import Callback, FloatArray, PairLoss, Solution, Step
from pairrank.objective import PairObjective
from pairrank.preferences import Preferences
from pairrank.sampled_model import SampledModel
from pairrank.solvers.tron import Tron

_MAX_DENSE_FEATURES = 2000
_ROWS_A_FEATURE = 100
_LEAST_SAMPLE = 10_000


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
) -> Solution:
    """Minimise penalty/2 |w|^2 + factor * pair sum by TRON.

    ``solver="tron"`` is the paper's: every Hessian product over every pair. ``"auto"`` takes the
    Hessian from a sample of rows where X is dense with at most 2,000 features, as a factorised
    matrix, and starts from the sample's own solution: value and gradient are over every pair all
    the same, so the optimum is that of every pair.
    """
    problem = {"factor": factor, "penalty": penalty}
    model = None
    if solver == "auto":
        model = _model(X, preferences, loss, problem, np.random.default_rng(seed))
    objective = PairObjective(X, preferences, loss, route=route, eps=eps, model=model, **problem)
    tron = Tron()
    if w0 is None and model is not None and not model.is_whole:
        w0 = model.start(tron, tol=max(tol, 0.02), max_iter=50)
    if w0 is None:
        w0 = np.zeros(objective.n_features)
    return tron(objective, w0, tol=tol, max_iter=max_iter, callback=callback)


def _model(
    X: Any,
    preferences: Preferences,
    loss: PairLoss,
    problem: dict[str, float],
    generator: np.random.Generator,
) -> SampledModel | None:
    n_features = X.shape[1]
    if sparse.issparse(X) or n_features > _MAX_DENSE_FEATURES:
        return None
    wanted = max(_LEAST_SAMPLE, _ROWS_A_FEATURE * n_features)
    return SampledModel(X, preferences, loss, n_rows=wanted, generator=generator, **problem)


def progress_printer(verbose: int, n_pairs: int) -> Callback | None:
    """Return a callback that prints a line an iteration to standard error, or None."""
    if not verbose:
        return None

    def show(step: Step) -> None:
        print(
            f"iteration {step.n_iter:4d}  objective {step.value:.8e}  "
            f"|gradient| {step.gradient_norm:.2e}  pairs {n_pairs:,}  {step.seconds:.2f} s",
            file=sys.stderr,
        )

    return show


def combined(*callbacks: Callback | None) -> Callback | None:
    """Return one callback that calls all in turn and stops where any asks to."""
    given = [callback for callback in callbacks if callback is not None]
    if not given:
        return None

    def call(step: Step) -> bool:
        return any([callback(step) is True for callback in given])

    return call
