"""A second solver behind the contract, for cross-checks only: scipy's L-BFGS."""

from __future__ import annotations

import time

import numpy as np
from scipy import optimize

from pairrank._protocols import Solution, Status, Step


def lbfgs(objective, w0, *, tol, max_iter, callback=None):
    """Minimise as any Solver does, with scipy.optimize's L-BFGS-B to its own finest tolerance."""
    start, history = time.perf_counter(), []

    def value_and_gradient(w):
        point = objective.at(w)
        return (
            point.value + 0.5 * objective.penalty * float(w @ w),
            point.gradient + objective.penalty * w,
        )

    found = optimize.minimize(
        value_and_gradient,
        w0,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "maxfun": 10 * max_iter, "ftol": 0, "gtol": 0, "maxcor": 50},
    )
    value, gradient = value_and_gradient(found.x)
    norm = float(np.linalg.norm(gradient))
    converged = norm <= tol * np.linalg.norm(objective.at(np.zeros_like(found.x)).gradient)
    step = Step(found.nit, value, norm, None, time.perf_counter() - start, found.nfev, 0)
    history.append(step)
    if callback is not None:
        callback(step._replace(coef=found.x))
    status = Status.CONVERGED if converged else Status.NO_PROGRESS
    return Solution(found.x, status, found.nit, history)
