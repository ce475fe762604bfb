"""BlockObjective: a loss over the pairs of all blocks, evaluated by passes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import FloatArray, LinearMap, PairLoss, Point, Sigmoidal
from pairrank.blocks._contracts import CrossingSum, Passes, SecondPass
from pairrank.blocks.gathered import GatheredRows
from pairrank.blocks.hessian import BlockHessian
from pairrank.blocks.sums import (
    Asked,
    Summed,
    add_arrays,
    add_crossing,
    crossing_gradient,
    evaluate_block,
    finish_tables,
    merge_sums,
)
from pairrank.objective import PairObjective
from pairrank.objective.pair_objective import ROUNDING
from pairrank.pair_sums.profiles import LEAST_EPS
from pairrank.preferences import Differences, Levels

PRECISION = 1e-12
"""The relative rounding error to expect of a value."""
_SHARPER_CELLS = 2
"""Sums by cells have narrower cells once, then none."""


@dataclass(frozen=True, eq=False)
class BlockProblem:
    r"""penalty/2 \|w\|^2 + factor * the sum of a loss over the preferences of prepared blocks.

    `factor` includes the scale of the reduction. `crossing` sums the queries that cross blocks,
    with the scales of the layouts; instead, `gathered` are the preferences over their rows, if
    these are few enough to be gathered in memory. `origin` is subtracted from every row of X, see
    `origin_of`. `rounding` bounds the rounding of X' v for v of norm 1, `dtype` is that of X.
    """

    passes: Passes
    loss: PairLoss
    penalty: float
    factor: float
    rounding: FloatArray
    dtype: Any
    crossing: CrossingSum | None = None
    gathered: Levels | Differences | None = None
    origin: FloatArray | None = None
    algorithm: str = "auto"
    eps: float = 1e-6

    @property
    def rounding_at_zero(self) -> FloatArray:
        """The same of X' v at zero, where terms cancel: smaller gradients are 0."""
        unit = max(ROUNDING * PRECISION, 2.0 * float(np.finfo(self.dtype).eps))
        return self.rounding * (unit / (2.0 * float(np.finfo(np.float64).eps)))


class _Total(NamedTuple):
    """The factor times the pair sum at some weights."""

    value: float
    gradient: FloatArray
    score_norm: float
    value_error: float
    gradient_error: float


class BlockObjective:
    r"""A `BlockProblem` as an objective: penalty/2 \|w\|^2 is left to the solver.

    An evaluation is one pass over the blocks, and a second one where queries cross blocks whose
    rows are too many to be gathered in the first evaluation. Points that `begin` is told of are
    evaluated together, on a cluster while this process does something else. The `scores` of a point
    are those of the sampled rows, for the Hessian and for step lengths.

    Parameters
    ----------
    problem : BlockProblem
    is_exact : bool
        Whether Hessian products are exact, which takes as many passes each, from the beginning.
    is_whole : bool
        Whether all rows are sampled.
    """

    sample: PairObjective | None = None
    """The objective of sampled rows: it gives the Hessian until `refine` asks for exact products.
    None: they are exact."""

    def __init__(
        self, problem: BlockProblem, *, is_exact: bool = False, is_whole: bool = False
    ) -> None:
        self.problem = problem
        self.n_features, self.precision = problem.rounding.size, PRECISION
        self.penalty = problem.penalty
        self.n_passes = 0
        self._is_exact, self._is_whole = is_exact, is_whole
        self._n_sharper, self._has_error = 0, False
        self._later: list[FloatArray] = []
        self._running: list[tuple[FloatArray, Callable[[], Summed]]] = []
        self._sampled: tuple[bytes, Point] | None = None
        self._known: dict[bytes, _Total] = {}
        self._gathered: GatheredRows | None = None

    def begin(self, *points: FloatArray) -> None:
        """Start to evaluate weights that will be asked for; `at` waits for the results.

        Where other machines cannot do it alone, or would read X again, the weights are evaluated
        together with the next ones.
        """
        coefs = [w + 0.0 for w in points]
        crossing = self.problem.crossing
        is_alone = crossing is None or crossing.finishes_anywhere
        if self.problem.passes.works_meanwhile and is_alone:
            self._running.append(self._started(coefs))
        else:
            self._later += coefs

    def at(self, w: FloatArray, scores: FloatArray | None = None) -> Point:
        """Return factor times the pair sum and its gradient, without the penalty."""
        w = w + 0.0  # -0.0 has other bytes than 0.0
        total = self._known.get(w.tobytes())
        was_begun = any(_has_row(coefs, w) for coefs, _ in self._running)
        running = None if total is not None else self._running_at(w)
        if scores is None:
            scores = np.empty(0) if self.sample is None else self.sample.design.scores(w)
        if was_begun and w.any() and self.sample is not None and self.sample.model is not None:
            self._preconditioner(w, scores)  # a step from here will need it; others work meanwhile
        if running is not None:
            total = self._totals(*running)[w.tobytes()]
        assert total is not None
        return Point(
            value=total.value,
            gradient=total.gradient,
            scores=scores,
            hessian=functools.partial(self._hessian, w, scores),
            preconditioner=functools.partial(self._preconditioner, w, scores),
            rounding=lambda: self.problem.rounding,
            score_norm=total.score_norm,
            value_error=total.value_error,
            gradient_error=total.gradient_error,
        )

    def sharpen(self) -> bool:
        """Let the sums of all blocks take a smaller error; False where they are least."""
        crossing = self.problem.crossing
        parts = [part for part in (crossing, self._gathered) if part is not None]
        is_sharper = any([part.sharpen() for part in parts])
        if self._has_error and self._n_sharper < self._most_sharper:
            self._n_sharper += 1
            is_sharper = True
        if is_sharper:
            self._known, self._running, self._has_error = {}, [], False
        return is_sharper

    def refine(self) -> bool:
        """Use exact Hessian products from now on; False if the Hessian is exact."""
        if self._is_exact or self._is_whole or self.sample is None:
            return False
        self._is_exact = True
        return True

    def asked(self, coefs: FloatArray) -> Asked:
        """Return what a pass is sent to evaluate weights, (n_points, n_features)."""
        problem = self.problem
        return Asked(
            problem.loss,
            problem.algorithm,
            problem.eps,
            self._n_sharper,
            problem.origin,
            problem.crossing,
            coefs,
            keeps=problem.passes.is_remote,
        )

    def _running_at(self, w: FloatArray) -> tuple[FloatArray, Callable[[], Summed]]:
        """Return the evaluation of some weights that was begun, or begin one."""
        for at, (coefs, _) in enumerate(self._running):
            if _has_row(coefs, w):
                return self._running.pop(at)
        together, self._later = [*self._later, w], []
        return self._started(together)

    def _started(self, points: list[FloatArray]) -> tuple[FloatArray, Callable[[], Summed]]:
        """Start to evaluate weights; return them and what waits for their sums."""
        problem, coefs = self.problem, np.unique(points, axis=0)
        gathers = problem.gathered is not None and self._gathered is None
        asked = self.asked(coefs)._replace(gathers=gathers)
        crossing, second = problem.crossing, None
        if crossing is not None:
            anywhere = crossing.finishes_anywhere
            second = SecondPass(
                finish_tables, crossing_gradient, add_arrays, add_crossing, anywhere
            )
        self.n_passes += 1 if crossing is None else 2
        merge = functools.partial(merge_sums, crossing)
        return coefs, problem.passes.begin(evaluate_block, asked, merge, second)

    def _totals(self, coefs: FloatArray, wait: Callable[[], Summed]) -> dict[bytes, _Total]:
        """Return the sums at each of some weights, and remember those of several."""
        sums = wait()
        if self.problem.gathered is not None:
            self._add_gathered(sums, coefs)
        self._has_error |= bool(sums.error.any() or sums.gradient_error.any())
        totals = {w.tobytes(): self._total(sums, at, not w.any()) for at, w in enumerate(coefs)}
        if len(totals) > 1:
            self._known = totals
        return totals

    def _add_gathered(self, sums: Summed, coefs: FloatArray) -> None:
        """Add the pairs of crossing queries whose rows are in memory."""
        problem = self.problem
        assert problem.gathered is not None
        if self._gathered is None:
            self._gathered = GatheredRows(
                sums.rows,
                problem.gathered,
                problem.loss,
                algorithm=problem.algorithm,
                eps=problem.eps,
            )
        for at, w in enumerate(coefs):
            found, gradient = self._gathered.at(w)
            sums.value[at] += found.value
            sums.error[at] += found.error
            sums.gradient_error[at] += found.gradient_error
            with np.errstate(over="ignore", invalid="ignore"):
                sums.gradient[at] += gradient
                sums.square[at] += found.gradient @ found.gradient

    @functools.cached_property
    def _most_sharper(self) -> int:
        """The number of times that the sums of whole queries can be made sharper."""
        if not isinstance(self.problem.loss.family, Sigmoidal):
            return _SHARPER_CELLS
        return max(0, int(np.ceil(np.log(self.problem.eps / LEAST_EPS) / np.log(100.0))))

    def _total(self, sums: Summed, at: int, is_zero: bool) -> _Total:
        """Return the sums at a point; a gradient at zero that is rounding alone is 0."""
        factor = self.problem.factor
        off = float(sums.gradient_error[at])
        if off:
            off *= 0.5 * factor * self._absolute_share
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = factor * float(sums.value[at]), factor * sums.gradient[at]
            norm = factor * float(np.sqrt(sums.square[at]))
            if is_zero and (np.abs(gradient) <= norm * self.problem.rounding_at_zero).all():
                gradient, norm = np.zeros_like(gradient), 0.0
            value = np.inf if np.isnan(value) else value
            return _Total(value, gradient, norm, factor * float(sums.error[at]), off)

    @functools.cached_property
    def _absolute_share(self) -> float:
        """The norm of the mean over pairs of both rows' absolute values.

        Without a sample it is a bound: no value is greater than the root of its feature's squares.
        """
        if self.sample is not None:
            return self.sample.absolute_share
        return float(np.linalg.norm(self.problem.rounding)) / float(np.finfo(np.float64).eps)

    def _preconditioner(self, w: FloatArray, scores: FloatArray) -> LinearMap | None:
        return None if self.sample is None else self._sample_at(w, scores).preconditioner()

    def _sample_at(self, w: FloatArray, scores: FloatArray) -> Point:
        """Return the point of the sampled rows at some weights, which the last call keeps."""
        assert self.sample is not None
        if self._sampled is None or self._sampled[0] != w.tobytes():
            self._sampled = w.tobytes(), self.sample.at(w, scores)
        return self._sampled[1]

    def _hessian(self, w: FloatArray, scores: FloatArray) -> LinearMap:
        if not self._is_exact and self.sample is not None:
            return self._sample_at(w, scores).hessian()
        problem = self.problem
        asked = self.asked(w[None])
        rest = (problem.factor, problem.penalty, self._gathered)
        return BlockHessian(problem.passes, asked, *rest)


def _has_row(points: FloatArray, w: FloatArray) -> bool:
    return bool((points == w).all(axis=1).any())
