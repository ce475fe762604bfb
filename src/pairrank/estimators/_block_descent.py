"""Choose how an objective over the pairs of all blocks is minimised."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pairrank._protocols import Callback, FloatArray, PairLoss, Solution
from pairrank.blocks._contracts import Passes
from pairrank.blocks.layouts import Prepared
from pairrank.blocks.objective import BlockObjective, BlockProblem
from pairrank.blocks.sampled import origin_of, rounding_of, sampled_problem
from pairrank.design import Design
from pairrank.estimators._descent import (
    EXACT,
    FEW_ROWS,
    LOOSE_CG,
    MAX_DENSE_FEATURES,
    Method,
    descend,
    minimize,
    values_agree,
)
from pairrank.exceptions import PairrankError
from pairrank.objective import LineSample, PairObjective, Problem, SampledModel
from pairrank.solvers.bundle import Bundle
from pairrank.solvers.nonlinear_cg import NonlinearCG
from pairrank.solvers.tron import Tron

_START_TOL, _START_STEPS = 1e-3, 300
"""The sample is solved at most this precisely, and in this many steps."""


def block_problem(
    passes: Passes,
    prepared: Prepared,
    loss: PairLoss,
    *,
    penalty: float,
    factor: float,
    algorithm: str,
    eps: float,
) -> BlockProblem:
    """Return the problem of a loss over prepared blocks; `factor` is without the reduction's."""
    catalog = prepared.catalog
    if algorithm == "auto" and catalog.n_rows <= FEW_ROWS:
        eps = min(eps, EXACT)
    crossing = prepared.crossing
    gathered = summed = None
    if crossing is not None and prepared.gathers:
        gathered, crossing = crossing.exchanged, None
    if crossing is not None and algorithm != "auto":
        raise PairrankError(
            f'pair_sum="{algorithm}" sums queries that lie in one block each, but '
            f'{crossing.n_queries} queries cross blocks: use pair_sum="auto", or keep the rows of '
            "a query together"
        )
    if crossing is not None:
        from pairrank.blocks.crossing_sum import crossing_sum

        summed = crossing_sum(loss, crossing, eps)
    origin = origin_of(catalog.sample.rows.X)
    return BlockProblem(
        passes,
        loss,
        penalty=penalty,
        factor=factor * prepared.scale,
        rounding=rounding_of(catalog, origin),
        dtype=catalog.dtype,
        crossing=summed,
        gathered=gathered,
        origin=origin,
        algorithm=algorithm,
        eps=eps,
    )


def minimize_blocks(
    problem: BlockProblem,
    prepared: Prepared,
    method: Method,
    start: FloatArray | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise penalty/2 |w|^2 + factor * pair sum over blocks; solvers are those of `minimize`.

    Value and gradient use every pair. The solution for the sampled rows is the start. They also
    give Hessians and step lengths, until the gradient falls too slowly; then Hessian products are
    over every pair, by passes. A cluster evaluates weights of zero while this process solves the
    sample, and the start while it makes the models.
    """
    is_whole = prepared.catalog.sample.is_whole
    objective = BlockObjective(problem, is_exact=method.solver == "tron", is_whole=is_whole)
    objective.begin(np.zeros(objective.n_features), *([] if start is None else [start]))
    sample = sampled_problem(
        prepared, problem.loss, penalty=problem.penalty, factor=problem.factor, eps=problem.eps
    )
    related = None
    if start is None and sample is not None:
        tol = method.tol if is_whole else max(method.tol, _START_TOL)
        steps = max(1, min(method.max_iter, _START_STEPS))
        related = minimize(sample, replace(method, tol=tol, max_iter=steps))
        objective.begin(related.coef)
    by_newton = problem.loss.smooth and method.solver != "bundle"
    generator = np.random.default_rng(method.seed)
    line = LineSample(sample, generator) if by_newton and sample is not None else None
    if sample is not None:
        objective.sample = _sampled_objective(sample, by_newton, generator)
    return descend(objective, _solver(problem.loss, method, line), method, start, related, callback)


def _sampled_objective(
    sample: Problem, by_newton: bool, generator: np.random.Generator
) -> PairObjective:
    """Return the objective of the sampled rows, with a factorised Hessian where X allows it."""
    design, model = sample.design, None
    is_dense = isinstance(design, Design) and not design.is_sparse
    if by_newton and is_dense and design.n_features <= MAX_DENSE_FEATURES:
        model = SampledModel(sample, design.n_rows, generator)
    return PairObjective(sample, model)


def _solver(loss: PairLoss, method: Method, line: LineSample | None) -> Any:
    """Return the solver; with exact Hessians from the start, steps are not multiplied."""
    if method.solver == "bundle" or not loss.smooth:
        return Bundle()
    if method.solver == "ncg" or not values_agree(loss):
        return NonlinearCG(step_length=line)
    if method.solver == "tron":
        return Tron()
    return Tron(cg_tol=LOOSE_CG, step_length=line)
