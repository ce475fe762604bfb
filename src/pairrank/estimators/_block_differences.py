"""Choose how squares and tubes over the differences of all blocks are minimised."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse

from pairrank._protocols import Callback, FloatArray, PairLoss, Solution, Solver, Squares, Status
from pairrank.blocks._contracts import Passes
from pairrank.blocks.differences import PreparedDifferences
from pairrank.blocks.objective import BlockObjective, BlockProblem
from pairrank.blocks.sampled import origin_of, rounding_of
from pairrank.blocks.sampled_differences import sampled_differences
from pairrank.blocks.square_sums import SquareSums, merge_square_sums, square_sums
from pairrank.estimators._descent import Method, descend
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.objective import GivenInverse, PairObjective, Problem, Quadratic
from pairrank.solvers.bundle import Bundle
from pairrank.solvers.direct import Direct, Inverse, primal_inverse
from pairrank.solvers.linear_cg import LinearCG
from pairrank.solvers.tron import Tron

_MUCH = 1e9
"""More bytes of means than this deserve a warning."""
LARGEST_EQUATIONS = 5000
"""More features than this have no normal equations: 200 MB travel for each block."""
_SMALL = 1000
_FLOP, _ENTRY, _ITERATIONS = 1e-10, 1.1e-8, 30
"""Seconds of a multiplication in a matrix product, and of an entry of X that a pass reads and
multiplies; the least number of iterations of a fit."""


class DifferenceFit:
    r"""penalty/2 \|w\|^2 + factor * a sum of squares or tubes over prepared blocks.

    Squares of at most 1,000 features take one pass, for the normal equations of all targets, and
    "cg" runs on these. With more features, or sparse X of few entries, conjugate gradients take a
    pass per iteration. Tubes take a pass per iteration, from the solution for squares where one
    pass gives it. Each takes one more where queries cross blocks.
    """

    def __init__(
        self,
        passes: Passes,
        prepared: PreparedDifferences,
        loss: PairLoss,
        method: Method,
        *,
        penalty: float,
        factor: float,
    ) -> None:
        self.passes, self.prepared, self.loss, self.method = passes, prepared, loss, method
        self.penalty, self.factor = penalty, factor
        self.n_features = prepared.catalog.n_features
        self._sums: SquareSums | None = None
        if self._has_equations():
            if not passes.is_remote:
                _warn_of_means(prepared)
            origin = origin_of(prepared.catalog.sample.rows.X)
            self._sums = passes.reduce(square_sums, origin, merge_square_sums)

    def solve(
        self, target: int, start: FloatArray | None, callback: Callback | None = None
    ) -> Solution:
        """Return the solution for a target."""
        if not isinstance(self.loss.family, Squares):
            return self._tubes(target, start, callback)
        if self._sums is None:
            return self._by_passes(target, start, callback)
        return self._of_equations(self._sums, target, start, callback)

    def _has_equations(self) -> bool:
        """Whether the normal equations are worth a pass; an error where they are too many."""
        name, d = self.method.solver, self.n_features
        if name == "direct":
            if d > LARGEST_EQUATIONS:
                raise PairrankError(
                    f'solver="direct" would send a matrix of {d} x {d} for each block, at most '
                    f'{LARGEST_EQUATIONS} is sensible: use solver="cg"'
                )
            return True
        X = self.prepared.catalog.sample.rows.X
        per_row = X.nnz / max(1, X.shape[0]) if sparse.issparse(X) else d
        return d <= _SMALL and _FLOP * d**2 <= _ITERATIONS * _ENTRY * per_row

    def _quadratic(self, sums: SquareSums, target: int) -> Quadratic:
        d = self.n_features
        moment, square = sums.products[:d, d + target], sums.products[d + target, d + target]
        products = sums.products[:d, :d]
        return Quadratic(products, moment, float(square), self.penalty, self.factor)

    def _inverse(self, sums: SquareSums) -> Inverse | None:
        d = self.n_features
        matrix = 2.0 * self.factor * sums.products[:d, :d]
        return primal_inverse(matrix, self.penalty, self.prepared.catalog.n_kept)

    def _of_equations(
        self, sums: SquareSums, target: int, start: FloatArray | None, callback: Callback | None
    ) -> Solution:
        """Solve the normal equations, by a factorisation or by conjugate gradients."""
        objective, name = self._quadratic(sums, target), self.method.solver
        solver: Any = LinearCG()
        if name != "cg":
            otherwise: Any = _refuse if name == "direct" else solver
            solver = Direct(self._inverse(sums), otherwise=otherwise)
        begin = np.zeros(self.n_features) if start is None else start
        method = self.method
        return solver(objective, begin, tol=method.tol, max_iter=method.max_iter, callback=callback)

    def _by_passes(
        self, target: int, start: FloatArray | None, callback: Callback | None
    ) -> Solution:
        """Run conjugate gradients, or Newton's method where features differ in size, by passes."""
        sample = self._sample(target)
        uneven = None if sample is None else sample.uneven_diagonal
        solver: Solver = LinearCG()
        if uneven is not None and self.method.solver == "auto":
            solver = Tron()
        return self._run(target, solver, sample, start, None, callback, is_exact=True)

    def _tubes(self, target: int, start: FloatArray | None, callback: Callback | None) -> Solution:
        """Run cutting planes or Newton's method, from the solution for squares if there is one."""
        found, inverse = None, None
        if self._sums is not None:
            solved = self._inverse(self._sums)
            nothing = np.zeros(self.n_features)
            found = Direct(solved)(
                self._quadratic(self._sums, target), nothing, tol=0.0, max_iter=1
            )
            if found.status not in (Status.CONVERGED, Status.INTERRUPTED):
                found = None
            elif solved is not None:
                inverse = GivenInverse(solved)
        solver: Solver = Tron() if self.loss.smooth else Bundle()
        sample = self._sample(target)
        return self._run(target, solver, sample, start, found, callback, inverse=inverse)

    def _run(
        self,
        target: int,
        solver: Solver,
        sample: Problem | None,
        start: FloatArray | None,
        related: Solution | None,
        callback: Callback | None,
        *,
        inverse: Any = None,
        is_exact: bool = False,
    ) -> Solution:
        if target != self.prepared.plan.target:
            self.prepared = self.prepared.of_target(self.passes, self.loss, target)
        begin = start if related is None else related.coef
        objective = BlockObjective(
            self._problem(),
            is_exact=is_exact,
            is_whole=self.prepared.catalog.sample.is_whole,
        )
        objective.begin(np.zeros(self.n_features), *([] if begin is None else [begin]))
        if sample is not None:
            objective.sample = PairObjective(sample, inverse=inverse)
        return descend(objective, solver, self.method, start, related, callback)

    def _problem(self) -> BlockProblem:
        from pairrank.blocks.crossing_sum import crossing_sum

        prepared = self.prepared
        catalog, crossing = prepared.catalog, prepared.crossing
        origin = origin_of(catalog.sample.rows.X)
        return BlockProblem(
            self.passes,
            self.loss,
            penalty=self.penalty,
            factor=self.factor,
            rounding=rounding_of(catalog, origin),
            dtype=catalog.dtype,
            crossing=None if crossing is None else crossing_sum(self.loss, crossing),
            origin=origin,
        )

    def _sample(self, target: int) -> Problem | None:
        """Return the problem over the sampled rows; None where their labels do not differ."""
        differences = sampled_differences(self.prepared, target)
        if differences is None:
            return None
        X = self.prepared.catalog.sample.rows.X
        return Problem(X, differences, self.loss, penalty=self.penalty, factor=self.factor)


def _warn_of_means(prepared: PreparedDifferences) -> None:
    """Warn where the means of crossing queries are many bytes."""
    width = prepared.catalog.n_features + prepared.n_targets
    size = 8.0 * width * prepared.n_partial_queries
    if size > _MUCH:
        warnings.warn(
            f"{prepared.catalog.n_crossing:,} queries cross blocks, and each sends {width} means "
            f"from each of its blocks: {size / 1e9:.1f} GB in all. Keep the rows of a query "
            "together",
            PairrankWarning,
            stacklevel=2,
        )


def _refuse(objective: Any, w0: FloatArray, **options: Any) -> Solution:
    raise PairrankError(
        "the normal equations are singular at this precision, or overflow: regularise more (raise "
        'alpha, or lower C), scale the features to one size, or use solver="cg"'
    )
