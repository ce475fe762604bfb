"""Choose how an objective over pairs is minimised, and show its progress."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pairrank._protocols import (
    Callback,
    FloatArray,
    Objective,
    PairLoss,
    Sigmoidal,
    Solution,
    Solver,
    Status,
    Step,
    StepLength,
)
from pairrank.design import Design
from pairrank.objective import (
    LineSample,
    PairObjective,
    PairSteps,
    Problem,
    Sample,
    SampledModel,
    in_bands,
    sampled,
    sampled_hessian_cost,
    samples,
)
from pairrank.preferences import Differences, Levels, PairIndex
from pairrank.solvers.bundle import Bundle
from pairrank.solvers.newton import ContinuedNewton, Newton
from pairrank.solvers.nonlinear_cg import NonlinearCG
from pairrank.solvers.sgd import Stochastic, Walk
from pairrank.solvers.tron import Tron

if TYPE_CHECKING:
    from pairrank.blocks.problem import BlockProblem

MAX_DENSE_FEATURES = 2000
_ROWS_PER_FEATURE = 50
_WORTH_SAMPLING = 5.0
"""A fit takes about six sampled Hessians where conjugate gradients take thirty exact products."""
_LEAST_SAMPLE, _ENTRIES_OF_LEAST = 5000, 400_000
_ROWS_PER_SAMPLED_ROW = 100
_LARGEST_SHARE = 50_000
_LINE_ROWS = 20_000
_LEAST_LINE_SAMPLE = 4096
_ROWS_OF_SEPARABLE = 8
FEW_ROWS = 2000
EXACT = 1e-12
_LEAST_START = 5000
_ROWS_PER_STARTING_ROW = 20
_STARTING_ROWS_PER_FEATURE = 10
_START_TOL, _START_STEPS = 1e-3, 300
"""A sample is solved at most this precisely, and in this many steps."""
_LEAST_DRAWS = 1000


@dataclass(frozen=True)
class Method:
    """How a problem is minimised: a solver's name or "auto", its stops, and the seed of samples.

    `steps` are the keywords of `PairSteps` for "sgd".
    """

    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int = 1000
    seed: Any = 0
    steps: dict[str, Any] = field(default_factory=dict)


def minimize(
    problem: Problem | BlockProblem,
    method: Method,
    start: FloatArray | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise penalty/2 |w|^2 + factor * pair sum by Newton, conjugate gradients or a bundle.

    Value and gradient use every pair with every solver, so the optimum is the same.

    - ``"tron"`` is Lee & Lin's trust region Newton: every Hessian product is over every pair.
    - ``"ncg"`` is Raykar's conjugate gradients, the only choice for losses whose value is not that
      of their gradient.
    - ``"bundle"`` is the cutting planes of Joachims and of Airola.
    - ``"sgd"`` takes stochastic steps on drawn pairs; the objective of every pair judges them.
    - ``"auto"`` for smooth losses is Newton with an approximate Hessian: that of a sample of rows
      where X is dense with at most 2,000 features; else, where levels are many, that of bands of
      levels.
      Where there are fewer than eight rows per feature, and features are of one size, weights may
      satisfy nearly every pair; Newton then starts on a path of falling penalties.
    - ``"auto"`` for other losses is cutting planes. With many more rows than features they start
      from the solution for a twentieth of the rows, which saves up to two planes in three.

    With many rows, "auto" and "ncg" take each step length from a sample's scores. Rows in blocks
    bring a sample with them: its solution is the start, and it gives Hessians and step lengths,
    until the gradient falls too slowly; then Hessian products are over every pair, by passes.
    """
    if problem.algorithm == "auto" and problem.n_rows <= FEW_ROWS:
        problem = problem.changed(eps=min(problem.eps, EXACT))
    generator = np.random.default_rng(method.seed)
    objective, solver, related = _choose(problem, method, start, generator)
    return descend(objective, solver, method, start, related, callback)


_Choice = tuple[Objective, Solver, Solution | None]
"""What is minimised by which solver, from the solution of which related problem."""


def _choose(
    problem: Problem | BlockProblem,
    method: Method,
    start: FloatArray | None,
    generator: np.random.Generator,
) -> _Choice:
    if not isinstance(problem, Problem):
        return _from_sampled_rows(problem, method, start, generator)
    if method.solver == "sgd":
        return PairObjective(problem), _by_drawn_pairs(problem, method), None
    is_auto, model, line = method.solver == "auto", None, None
    if method.solver == "bundle" or not problem.loss.smooth:
        related = None
        if is_auto and start is None:
            related = _start_of_planes(problem, method, generator)
        return PairObjective(problem), Bundle(), related
    if is_auto and values_agree(problem.loss):
        model = _model(problem, generator)
        is_direct = model is not None and model.by_matrix
        if start is None and not is_direct and _may_separate(problem):
            n_rows = max(_LEAST_LINE_SAMPLE, problem.n_rows // 4)
            path = ContinuedNewton(LineSample(problem, generator, n_rows))
            return PairObjective(problem, model), path, None
    if method.solver != "tron" and problem.n_rows >= _LINE_ROWS:
        line = LineSample(problem, generator)
    return PairObjective(problem, model), _solver(problem.loss, method, line), None


def _from_sampled_rows(
    problem: BlockProblem, method: Method, start: FloatArray | None, generator: np.random.Generator
) -> _Choice:
    """Start at the solution for the sampled rows, which also give Hessians and step lengths."""
    sample, related, model, line = problem.sample, None, None, None
    if sample is not None and start is None:
        tol = method.tol if problem.is_whole else max(method.tol, _START_TOL)
        steps = max(1, min(method.max_iter, _START_STEPS))
        related = minimize(sample, replace(method, tol=tol, max_iter=steps))
    if sample is not None and problem.loss.smooth and method.solver != "bundle":
        line = LineSample(sample, generator)
        model = SampledModel(
            [Sample(sample, is_whole=problem.is_whole)],
            by_matrix=_is_dense(sample),
            is_exact=method.solver == "tron",
        )
    return PairObjective(problem, model), _solver(problem.loss, method, line), related


def descend(
    objective: Objective,
    solver: Solver,
    method: Method,
    start: FloatArray | None,
    related: Solution | None,
    callback: Callback | None,
) -> Solution:
    """Run a solver from `start`, from the solution of a `related` problem, or from zero.

    If the related problem was interrupted, its weights are evaluated and the fit ends.
    """
    if start is None:
        start = np.zeros(objective.n_features) if related is None else related.coef
    if related is not None and related.status is Status.INTERRUPTED:
        judged = solver(objective, start, tol=method.tol, max_iter=0)
        return judged._replace(status=Status.INTERRUPTED)
    return solver(objective, start, tol=method.tol, max_iter=method.max_iter, callback=callback)


def values_agree(loss: PairLoss) -> bool:
    """Whether value and gradient are those of one loss."""
    family = loss.family
    return not isinstance(family, Sigmoidal) or family.value == family.slope


def _solver(loss: PairLoss, method: Method, line: StepLength | None) -> Solver:
    """Return the solver of a loss; it tries steps of the length that `line` says first."""
    if method.solver == "bundle" or not loss.smooth:
        return Bundle()
    if method.solver == "ncg" or not values_agree(loss):
        return NonlinearCG(step_length=line)
    return Tron() if method.solver == "tron" else Newton(step_length=line)


def _may_separate(problem: Problem) -> bool:
    """Whether there are enough features, of one size, to satisfy nearly every pair."""
    design = problem.design
    has_many_features = design.n_rows < _ROWS_OF_SEPARABLE * design.n_features
    return has_many_features and problem.uneven_diagonal is None


def _is_dense(problem: Problem) -> bool:
    """Whether X is dense, with few enough features for a factorised Hessian."""
    design = problem.design
    is_dense = isinstance(design, Design) and not design.is_sparse
    return is_dense and design.n_features <= MAX_DENSE_FEATURES


def _model(problem: Problem, generator: np.random.Generator) -> SampledModel | None:
    """Return an approximate Hessian; None: use that of every pair."""
    design = problem.design
    if not _is_dense(problem):
        bands = in_bands(problem)
        few = next(bands, None)
        if few is None:
            return None
        return SampledModel(itertools.chain([few], bands), by_matrix=False)
    share = min(design.n_rows // _ROWS_PER_SAMPLED_ROW, _LARGEST_SHARE)
    least = min(_LEAST_SAMPLE, _ENTRIES_OF_LEAST // max(1, design.n_features))
    wanted = max(least, _ROWS_PER_FEATURE * design.n_features, share)
    size = min(wanted, design.n_rows), design.n_rows, design.n_features
    if sampled_hessian_cost(*size) > _WORTH_SAMPLING:
        return None
    return SampledModel(samples(problem, wanted, generator))


def _by_drawn_pairs(problem: Problem, method: Method) -> Stochastic:
    """Return the solver that takes steps on pairs drawn in proportion to their weights.

    An iteration draws as many pairs as there are rows, or comparisons.
    """
    preferences = problem.preferences
    assert not isinstance(preferences, Differences)
    size, pairs = preferences.n_pairs, PairIndex(preferences)
    if isinstance(preferences, Levels):
        size = preferences.row_of.size
    ratio = problem.penalty / (problem.factor * pairs.total_weight)

    def walk_from(start: FloatArray) -> Walk:
        generator = np.random.default_rng(method.seed)
        steps = PairSteps(problem.loss, start, generator, **method.steps)

        def walk() -> FloatArray:
            steps.take(problem.X, pairs, max(_LEAST_DRAWS, size), ratio)
            return steps.coef

        return walk

    return Stochastic(walk_from)


def _start_of_planes(
    problem: Problem, method: Method, generator: np.random.Generator
) -> Solution | None:
    """Return the solution for a sample of rows; None where that is not cheaper.

    A sample needs at least ten rows per feature, or its solution is far from the one for all rows.
    """
    design = problem.design
    wanted = max(_LEAST_START, design.n_rows // _ROWS_PER_STARTING_ROW)
    if design.n_rows < _LINE_ROWS or wanted < _STARTING_ROWS_PER_FEATURE * design.n_features:
        return None
    sample = sampled(problem, wanted, generator).problem
    few = replace(method, max_iter=_START_STEPS)
    return descend(PairObjective(sample), Bundle(), few, None, None, None)


def progress_printer(verbose: int, n_pairs: int) -> Callable[[Any], object] | None:
    """Return a callback that prints a line per iteration to standard error, or None."""
    if not verbose:
        return None

    def show(step: Any) -> None:
        left = ""
        if not np.isnan(step.gap):
            left = f"gap {step.gap:.2e}  "
        elif not np.isnan(step.gradient_norm):
            left = f"|gradient| {step.gradient_norm:.2e}  "
        print(
            f"iteration {step.n_iter:4d}  objective {step.value:.8e}  {left}pairs {n_pairs:,}  "
            f"{step.seconds:.2f} s",
            file=sys.stderr,
        )

    return show


def combined(*callbacks: Callback | None) -> Callback | None:
    """Return one callback that calls all in turn and stops if any of them does."""
    given = [callback for callback in callbacks if callback is not None]
    if not given:
        return None

    def call(step: Step) -> bool:
        return any([bool(callback(step)) for callback in given])

    return call
