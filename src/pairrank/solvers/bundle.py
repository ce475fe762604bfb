"""Bundle: cutting planes for a convex loss that need not be smooth, to a proven duality gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pairrank._protocols import FloatArray, Status
from pairrank.solvers.cutting_planes import CuttingPlanes
from pairrank.solvers.descent import Descent, DescentSolver, Place

_ROUNDING = 4.0
"""A plane is lowered by this many times the precision of its value: it must be below the loss."""
_EXACT = 0.1
"""The part of the gap that the model's minimum may be off by."""
_LEAST = 100.0
"""A gap of this many times the precision is the least that can be asked for."""
_FIRST_LENGTH = 0.3
_LEAST_LENGTH = 0.02
_LONGER, _SHORTER = 1.2, 0.8
_RETREAT, _RETURN = 0.1, 1.5
_HIGH = 1e6
"""Where f is this many times its value at zero, nothing can be learnt."""
_STEEPEST = 1e6
"""A plane this many times steeper than that at zero would drown the others in rounding."""
_PATIENCE = 50
"""Stop where this many cuts in a row have closed less of the gap than rounding could."""


@dataclass(frozen=True)
class Bundle(DescentSolver):
    r"""Cutting planes with an exact regulariser (BMRM: Teo et al. 2010; Joachims 2006).

    Minimises f(w) = penalty/2 \|w\|^2 + loss(w) for a convex loss of which values and subgradients
    are known. Each evaluation gives a plane below the loss; the least of penalty/2 \|w\|^2 + the
    highest plane, a small quadratic program, bounds f from below. BMRM evaluates there next, and
    on weakly regularised losses swings from side to side. As in the line search variants (Franc &
    Sonnenburg 2009, OCAS; Teo et al. 2010, Algorithm 2), the next evaluation is between the best
    weights so far and the model's minimum, near the least of f on that line. The search is spread
    over the iterations, so that each costs one evaluation: the part of the way to go grows where f
    still fell at the last trial, and shrinks where it rose (Pessoa et al. 2018).

    The stop is a proof. The gap is the value of the best weights less the greatest lower bound: f
    there is at most so much above its minimum. It ends with Status.GAP_CLOSED where the gap is at
    most `tol` times that value, or `tol` times the most that f can fall by from w = 0,
    \|g(0)\|^2/(2 penalty), if that is less: zero would be an answer to a weak loss otherwise. (A
    gap of a hundred times the objective's precision always passes, if `tol` is no less.) Planes are
    lowered by what rounding may have added to their values and slopes, which grows with the
    features' distance from zero, so that the bound holds in floating point too; where that, or
    float32 features, leaves a larger gap, the end is NO_PROGRESS or PRECISION.

    Parameters
    ----------
    max_planes : int, default 128
        The number of planes kept, see `CuttingPlanes`: memory is max_planes * n_features numbers.

    Notes
    -----
    An iteration costs one evaluation of loss and subgradient, O(n_planes n_features), and a few
    factorisations of matrices as large as the planes that touch the minimum are many. Every step of
    the history has the best value, the norm of a subgradient there, and the gap.

    Every cut either raises the bound or lowers the best value: where the new plane leaves the
    model's minimum as it was, f at the trial is no more than the bound and the best value are on
    average, weighted by the part of the way.

    References
    ----------
    C. H. Teo, S. V. N. Vishwanathan, A. Smola and Q. V. Le, "Bundle methods for regularized risk
    minimization", JMLR 11, 2010; T. Joachims, "Training linear SVMs in linear time", KDD 2006;
    V. Franc and S. Sonnenburg, "Optimized cutting plane algorithm for large-scale risk
    minimization", JMLR 10, 2009; A. Airola, T. Pahikkala and T. Salakoski, "Training linear ranking
    SVMs in linearithmic time using red-black trees", Pattern Recognition Letters 32, 2011;
    A. Pessoa, R. Sadykov, E. Uchoa and F. Vanderbeck, "Automation and combination of linear
    programming based stabilization techniques in column generation", INFORMS Journal on Computing
    30, 2018.
    """

    max_planes: int = 128

    def _descent(self, *start: Any) -> Descent:
        return _Run(self, *start)


class _Run(Descent):
    """One descent: the best weights, the planes, their minimum, and how far towards it to go."""

    closed = Status.GAP_CLOSED

    rule: Bundle
    planes: CuttingPlanes
    length = _FIRST_LENGTH
    lower_bound = -np.inf
    gap = marked_gap = float("inf")
    waited = 0

    def advance(self) -> Status | None:
        """Cut once between the best weights and the model's minimum, then update the bound."""
        best, way = self.w, self.furthest - self.w
        while True:
            trial = self._cut(best + self.length * way)
            if trial is not None:
                break
            self.length *= _RETREAT
            if not self.length * np.abs(way).max(initial=0.0) > 0.0:
                return Status.OVERFLOW
        self._adapt(trial.value, rises=float(trial.gradient @ way) >= 0.0)
        self._bound()
        return self.stuck if self._waits_in_vain() else None

    def _adapt(self, value: float, rises: bool) -> None:
        """Go further where f still fell, and less far where it rose; much less where it is high."""
        short = self.length <= _LEAST_LENGTH
        if value > _HIGH * self.value_at_zero:
            self.length *= _RETREAT
        elif not rises:
            self.length = min(1.0, self.length * (_RETURN if short else _LONGER))
        elif not short or value > self.value_at_zero:
            self.length *= _SHORTER

    def _begin(self) -> None:
        """Cut at zero, and at the start if it is another; the better one is the best so far."""
        start, self.w = self.w, np.zeros_like(self.w)
        self.planes = CuttingPlanes(start.size, self.objective.penalty, self.rule.max_planes)
        self.value = self.reference_norm = np.inf
        zero = self._cut(self.w)
        if zero is None:
            return
        self.value_at_zero, self.reference_norm = zero.value, zero.norm
        if start.any():
            self._cut(start)
        self._bound()

    def _ended(self, target: float) -> Status | None:
        """Return the status if the gap is closed; the gradient's target plays no part."""
        objective, value = self.objective, abs(self.value)
        fall = 0.5 * self.reference_norm**2 / objective.penalty
        least = min(self.tol, _LEAST * objective.precision) * value
        is_closed = self.gap <= max(least, self.tol * min(value, fall))
        return self.closed if is_closed else None

    def _cut(self, w: FloatArray) -> Place | None:
        """Add the plane that touches the loss at w; return f there, None where it is too steep.

        The weights are kept if they are the best so far.
        """
        place = self.evaluate(w)
        loss, slope = place.point.value, place.point.gradient
        tangent = float(slope @ w)
        if not (np.isfinite(place.value) and np.isfinite(tangent) and np.isfinite(slope @ slope)):
            return None
        if w.any() and np.linalg.norm(slope) > _STEEPEST * self.reference_norm:
            return None
        rounding = _ROUNDING * self.objective.precision * abs(loss) if w.any() else 0.0
        rounding += place.point.score_norm * float(place.point.rounding() @ np.abs(w))
        offset = loss - tangent - rounding - place.point.value_error
        self.planes.add(slope, offset, place.point.score_norm)
        if place.value < self.value:
            self.move(place)
        return place

    def _bound(self) -> None:
        """Find the model's minimum, and with it a lower bound.

        Slopes that may be off by e in their entries tilt the model by e'|w| at the most, which
        lowers its minimum by e'|w| there and |e|^2/(2 penalty). A bound above the best value only
        proves that rounding is more than that.
        """
        gap = self.gap if np.isfinite(self.gap) else 0.0
        self.furthest, bound, score_norm = self.planes.minimum(_EXACT * gap)
        off = score_norm * self.point.rounding()
        bound -= float(off @ np.abs(self.furthest))
        bound -= 0.5 * float(off @ off) / self.objective.penalty
        self.lower_bound = max(self.lower_bound, bound)
        if self.lower_bound > self.value + self.noise:
            self.lower_bound = -np.inf
        self.gap = self.value - self.lower_bound

    def _waits_in_vain(self) -> bool:
        """Whether the gap has long stayed what it was but for rounding."""
        if self.gap < self.marked_gap - self.noise:
            self.marked_gap, self.waited = self.gap, 0
        else:
            self.waited += 1
        return self.waited > _PATIENCE
