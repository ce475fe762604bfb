"""Bundle: cutting planes for a convex loss, with a proven duality gap, and their minimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from pairrank._protocols import FloatArray, Status
from pairrank.solvers.descent import Descent, DescentSolver, Place

_ROUNDING = 4.0
"""A plane is lowered by this many times the precision of its value, to stay below the loss."""
_EXACT = 0.1
"""The errors of the model's minimum and of values are at most this part of the gap."""
_LEAST = 100.0
"""The smallest gap that can be asked for, in units of the precision."""
_FIRST_LENGTH = 0.3
_LEAST_LENGTH = 0.02
_LONGER, _SHORTER = 1.2, 0.8
_MUCH_SHORTER, _MUCH_LONGER = 0.1, 1.5
_TOO_HIGH = 1e6
"""A trial with f above this many times f(0) shortens the next step much."""
_STEEPEST = 1e6
"""A plane this many times steeper than that at zero would drown the others in rounding."""
_MAX_STALLED = 50
"""Stop after so many cuts, or active sets, in a row without progress beyond rounding."""


@dataclass(frozen=True)
class Bundle(DescentSolver):
    r"""Cutting planes with an exact regulariser (BMRM: Teo et al. 2010; Joachims 2006).

    Minimises f(w) = penalty/2 \|w\|^2 + loss(w) for a convex loss of which values and subgradients
    are known. Each evaluation gives a plane below the loss. The minimum of penalty/2 \|w\|^2 + the
    highest plane is a small quadratic program and a lower bound of f. BMRM evaluates there next,
    and oscillates on weakly regularised losses. As in the line search variants (Franc & Sonnenburg
    2009, OCAS; Teo et al. 2010, Algorithm 2), the next evaluation is between the best weights so
    far and the model's minimum. Each iteration costs one evaluation: the step length grows where f
    still fell at the last trial, and shrinks where it rose (Pessoa et al. 2018).

    The stop is a proof. The gap is the value of the best weights less the greatest lower bound, so
    f exceeds its minimum by at most the gap. The run ends with Status.GAP_CLOSED where the gap is
    at most `tol` times that value, or `tol` times the most that f can fall by from w = 0,
    \|g(0)\|^2/(2 penalty), if that is less: zero would solve a weak loss otherwise. (A gap of a
    hundred times the objective's precision always passes, if `tol` is at least that.) Planes are
    lowered by the possible rounding of their values and slopes, which grows with the size of the
    features, so the bound also holds in floating point. Where rounding or float32 features leave a
    larger gap, the status is NO_PROGRESS or PRECISION.

    A sum with errors must have planes below the loss, as cell sums of hinges have: its values are
    raised by their errors, its planes are taken as they are. Sums are sharpened where the error of
    the best or of the last value is more than a tenth of the gap, and before the run ends.

    `max_planes` is the number of planes kept, see `CuttingPlanes`; they take max_planes *
    n_features numbers. An iteration costs one evaluation of loss and subgradient, O(n_planes
    n_features), and a few factorisations of matrices of the order of the number of planes that
    touch the minimum. Each step of the history has the best value, the norm of a subgradient there,
    and the gap.

    Every cut raises the bound or lowers the best value: where the new plane leaves the model's
    minimum unchanged, f at the trial is at most the weighted mean of the bound and the best value.

    `pairrank.RankSVM` has the references; A. Pessoa, R. Sadykov, E. Uchoa and F. Vanderbeck,
    "Automation and combination of linear programming based stabilization techniques in column
    generation", INFORMS Journal on Computing 30, 2018.
    """

    max_planes: int = 128


class _Run(Descent):
    """One run: the best weights, the planes, their minimum, and the step length towards it."""

    closed = Status.GAP_CLOSED

    rule: Bundle
    planes: CuttingPlanes
    length = _FIRST_LENGTH
    lower_bound = -np.inf
    gap = marked_gap = float("inf")
    trial_error = 0.0
    """The error of the last value."""
    n_stalled = 0
    has_bound = False

    def advance(self) -> Status | None:
        """Add a plane between the best weights and the model's minimum, then update the bound."""
        best, way = self.w, self.model_minimum - self.w
        while True:
            trial = self._cut(best + self.length * way)
            if trial is not None:
                break
            self.length *= _MUCH_SHORTER
            if not self.length * np.abs(way).max(initial=0.0) > 0.0:
                return Status.OVERFLOW
        self._adapt(trial.value, rises=float(trial.gradient @ way) >= 0.0)
        self._bound()
        if not self._is_stalled():
            return None
        return self.stuck if self.has_bound else Status.OVERFLOW

    def _adapt(self, value: float, rises: bool) -> None:
        """Lengthen the next step where f still fell, and shorten it where f rose."""
        short = self.length <= _LEAST_LENGTH
        if value > _TOO_HIGH * self.value_at_zero:
            self.length *= _MUCH_SHORTER
        elif not rises:
            self.length = min(1.0, self.length * (_MUCH_LONGER if short else _LONGER))
        elif not short or value > self.value_at_zero:
            self.length *= _SHORTER

    def _begin(self) -> None:
        """Add the planes at zero and at the start; the better point is the best so far."""
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
        """Return the status if the gap is closed; the gradient's target is ignored."""
        objective, value = self.objective, abs(self.value)
        fall = 0.5 * self.reference_norm**2 / objective.penalty
        least = min(self.tol, _LEAST * objective.precision) * value
        is_closed = self.gap <= max(least, self.tol * min(value, fall))
        error = max(self.point.value_error, self.trial_error)
        if error > (0.0 if is_closed else _EXACT * self.gap) and self.sharpen():
            return self._ended(target)
        return self.closed if is_closed else None

    def sharpen(self) -> bool:
        """Reduce the errors of the sums; evaluate the best weights and report them again."""
        if not self.objective.sharpen():
            return False
        self.value = np.inf
        self._cut(self.w, self.point.scores)
        self._bound()
        self.history[-1] = self.history[-1]._replace(
            value=self.value, gradient_norm=self.norm, gap=self.gap,
            n_evaluations=self.n_evaluations,
        )  # fmt: skip
        return True

    def _cut(self, w: FloatArray, scores: FloatArray | None = None) -> Place | None:
        """Add the plane that touches the loss at w, keep w if it is the best.

        Return f there, None where it overflows or the plane is too steep. The value is raised by
        its error.
        """
        place = self.evaluate(w, scores)
        self.trial_error = place.point.value_error
        place = place._replace(value=place.value + self.trial_error)
        loss, slope = place.point.value, place.point.gradient
        tangent = float(slope @ w)
        if not (np.isfinite(place.value) and np.isfinite(tangent) and np.isfinite(slope @ slope)):
            return None
        if w.any() and np.linalg.norm(slope) > _STEEPEST * self.reference_norm:
            return None
        rounding = _ROUNDING * self.objective.precision * abs(loss) if w.any() else 0.0
        rounding += place.point.score_norm * float(place.point.rounding() @ np.abs(w))
        self.planes.add(slope, loss - tangent - rounding, place.point.score_norm)
        if place.value < self.value:
            self.move(place)
        return place

    def _bound(self) -> None:
        """Find the model's minimum and a lower bound.

        An error of at most e in the entries of the slopes changes the model by at most e'|w|. This
        lowers its minimum by at most e'|w| there plus |e|^2/(2 penalty). A bound above the best
        value is an error of rounding, and is dropped.
        """
        gap = self.gap if np.isfinite(self.gap) else 0.0
        self.model_minimum, bound, score_norm = self.planes.minimum(_EXACT * gap)
        off = score_norm * self.point.rounding()
        bound -= float(off @ np.abs(self.model_minimum))
        bound -= 0.5 * float(off @ off) / self.objective.penalty
        self.has_bound = bool(np.isfinite(bound))
        self.lower_bound = max(self.lower_bound, bound)
        if self.lower_bound > self.value + self.noise:
            self.lower_bound = -np.inf
        self.gap = self.value - self.lower_bound

    def _is_stalled(self) -> bool:
        """Whether the last cuts have not reduced the gap by more than rounding."""
        if self.gap < self.marked_gap - self.objective.precision * abs(self.value):
            self.marked_gap, self.n_stalled = self.gap, 0
        else:
            self.n_stalled += 1
        return self.n_stalled > _MAX_STALLED


Bundle.run_class = _Run


_RIDGE = 1e-12
"""A proximal term, relative to the matrix, for planes that are linearly dependent."""
_SETS_PER_PLANE = 10
"""Sets tried per plane: Lawson & Hanson need about 3; rounding alone could make the sets cycle."""


def minimum_on_simplex(
    matrix: FloatArray, vector: FloatArray, start: FloatArray, accuracy: float
) -> FloatArray:
    r"""Return weights x >= 0 of sum 1 with x'Gx/2 - v'x at most `accuracy` above its minimum.

    With the gradient g = Gx - v, the value at x exceeds the minimum by at most x'g - min g (Frank &
    Wolfe 1956), which must fall below `accuracy`. The weights of the active set are moved to their
    minimum, those that would become negative leave the set, and then the weight with the least
    gradient enters (Lawson & Hanson 1974, Chapter 23).

    G is positive semidefinite. Weights outside the active set are exactly 0.0. Where rounding
    prevents the accuracy, the last weights are returned. A set of k weights costs a Cholesky
    factorisation, O(k^3), and O(n k) for the gradient. The value never rises from one set to the
    next but for rounding; at most 10 n sets are tried.

    Examples
    --------
    >>> import numpy as np
    >>> start = np.array([0.0, 0.0, 1.0])
    >>> G, v = np.diag([1.0, 3.0, 9.0]), np.array([0.0, 0.0, -9.0])
    >>> minimum_on_simplex(G, v, start, 1e-9).round(6)
    array([0.75, 0.25, 0.  ])
    """
    vector = vector - vector.max()
    weights, ridge = start, _RIDGE * float(np.diagonal(matrix).max())
    if not 0.0 < ridge < np.inf:
        return np.eye(1, vector.size, int(np.argmax(vector)))[0]  # the matrix is zero
    inside = np.flatnonzero(weights)
    nearest, n_stalled = np.inf, 0
    for _ in range(_SETS_PER_PLANE * vector.size):
        if n_stalled > _MAX_STALLED:
            break
        weights, inside = _minimised(matrix, vector, weights, inside, ridge)
        gradient = weights[inside] @ matrix[inside] - vector
        entering = int(np.argmin(gradient))
        excess = float(weights @ gradient - gradient[entering])
        if not excess > accuracy:
            break
        n_stalled = 0 if excess < nearest else n_stalled + 1
        nearest = min(nearest, excess)
        inside = np.union1d(inside, [entering])
    return weights


def _minimised(
    matrix: FloatArray,
    vector: FloatArray,
    weights: FloatArray,
    inside: NDArray[np.intp],
    ridge: float,
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Move the weights of a set to their minimum; drop those that would be negative."""
    own = weights[inside]
    while inside.size > 1:
        wanted = _unsigned_minimum(matrix[np.ix_(inside, inside)], vector[inside], own, ridge)
        if wanted is None:
            break
        fall = np.maximum(own - wanted, np.finfo(np.float64).tiny)
        room = np.where(wanted > 0.0, np.inf, own / fall)
        length = float(room.min())
        if length == np.inf:
            own = wanted
            break
        stays = room > length
        own = np.maximum(own + length * (wanted - own), 0.0)[stays]
        inside = inside[stays]
    moved = np.zeros(weights.size)
    moved[inside] = own / own.sum()
    return moved, inside


def _unsigned_minimum(
    matrix: FloatArray, vector: FloatArray, near: FloatArray, ridge: float
) -> FloatArray | None:
    """Return the minimum over weights of sum 1 and any sign; None where rounding prevents it.

    A constant added to the matrix does not change that minimum. The matrix is then singular only
    where planes are linearly dependent.
    """
    shifted = matrix + np.diagonal(matrix).max()
    shifted[np.diag_indices_from(shifted)] += ridge
    try:
        factor = linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    sides = np.column_stack((vector - matrix @ near, np.ones(near.size)))
    free, even = linalg.cho_solve(factor, sides, overwrite_b=True, check_finite=False).T
    wanted: FloatArray = near + free - free.sum() / even.sum() * even
    return wanted if np.isfinite(wanted).all() else None


_MOST_BYTES = 1 << 28
_FEWEST = 16
_PATIENCE = 30
"""A plane without weight in this many successive minima is dropped."""


class ModelMinimum(NamedTuple):
    """The minimiser of penalty/2 |w|^2 + the highest plane, and a lower bound of its value."""

    w: FloatArray
    lower_bound: float
    score_norm: float
    """The weighted mean of the planes' score norms."""


class CuttingPlanes:
    r"""The model max over t of (a_t'w + b_t) of a convex function (Teo et al. 2010, Eq. 7).

    Its minimum with penalty/2 \|w\|^2 is w = -A'x/penalty, where the weights x on the simplex
    maximise b'x - \|A'x\|^2/(2 penalty): a lower bound of the function itself for every x (Eq. 9).

    At most `max_planes` are kept; fewer where they would take more than 256 MB, but at least 16.
    When one more comes, the lighter half of the planes is replaced by the weighted sum of all,
    which leaves the bound unchanged (Kiwiel, Mathematical Programming 27, 1983). Planes that have
    long had no weight are dropped first. A new plane costs O(n_planes n_features), a minimum the
    same and one `minimum_on_simplex`.
    """

    def __init__(self, n_features: int, penalty: float, max_planes: int) -> None:
        within = max(_FEWEST, _MOST_BYTES // (8 * max(1, n_features)))
        self.penalty, self.max_planes = penalty, min(max_planes, within)
        self.n_planes = 0
        self._slopes = np.empty((self.max_planes, n_features))
        self._offsets, self._score_norms = np.empty((2, self.max_planes))
        self._products = np.empty((self.max_planes, self.max_planes))
        self._weights = np.zeros(self.max_planes)
        self._idle = np.zeros(self.max_planes, dtype=np.int64)

    def add(self, slope: FloatArray, offset: float, score_norm: float = 0.0) -> None:
        """Add the plane slope'w + offset; the error of its slope grows with `score_norm`."""
        if self.n_planes == self.max_planes:
            self._merge()
        n = self.n_planes
        self._slopes[n], self._offsets[n], self._score_norms[n] = slope, offset, score_norm
        self._weights[n], self._idle[n] = float(n == 0), 0
        self._products[n, : n + 1] = self._slopes[: n + 1] @ slope
        self._products[: n + 1, n] = self._products[n, : n + 1]
        self.n_planes = n + 1

    def minimum(self, accuracy: float) -> ModelMinimum:
        """Return the model's minimum to an accuracy of its value; then drop idle planes."""
        n = self.n_planes
        quadratic = self._products[:n, :n] / self.penalty
        start = self._weights[:n]
        weights = minimum_on_simplex(quadratic, self._offsets[:n], start, accuracy)
        w = weights @ self._slopes[:n] / -self.penalty
        bound = float(weights @ self._offsets[:n]) - 0.5 * self.penalty * float(w @ w)
        self._weights[:n] = weights
        self._idle[:n] += 1
        self._idle[:n][weights > 0.0] = 0
        score_norm = float(weights @ self._score_norms[:n])
        self._keep(np.flatnonzero(self._idle[:n] <= _PATIENCE))
        return ModelMinimum(w, bound, score_norm)

    def _merge(self) -> None:
        """Replace the lighter half of the planes by the weighted sum of all."""
        n = self.n_planes
        slope = self._weights[:n] @ self._slopes[:n]
        offset, score_norm = (
            float(self._weights[:n] @ v[:n]) for v in (self._offsets, self._score_norms)
        )
        heaviest = np.argsort(-self._weights[:n], kind="stable")[: n // 2]
        self._keep(np.sort(heaviest))
        self._weights[: self.n_planes] = 0.0
        self.add(slope, offset, score_norm)
        self._weights[self.n_planes - 1] = 1.0

    def _keep(self, kept: NDArray[np.intp]) -> None:
        if kept.size == self.n_planes:
            return
        n = kept.size
        for place, plane in enumerate(kept):
            if place != plane:
                self._slopes[place] = self._slopes[plane]
        self._products[:n, :n] = self._products[np.ix_(kept, kept)]
        for values in (self._offsets, self._score_norms, self._weights, self._idle):
            values[:n] = values[kept]
        self.n_planes = n
