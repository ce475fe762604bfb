"""The contracts between layers: PairLoss, PairSum, Objective, Solver; Point and Solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
Array = NDArray[Any]


class Matrix(Protocol):
    """A sparse matrix, a frame or a linear operator."""

    @property
    def shape(self) -> Any:
        """The numbers of rows and columns."""


Features = ArrayLike | Matrix
"""What users may pass as X."""


class LinearMap(Protocol):
    """A symmetric linear map of the coefficients or of the scores."""

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the map times `v`, as a new array."""


class Curvature(LinearMap, Protocol):
    """The (generalised) Hessian of a pair sum by the scores, at fixed scores."""

    def diagonal(self) -> FloatArray:
        """Return the diagonal, one number a row."""

    def matmat(self, vectors: FloatArray) -> FloatArray:
        """Return the Hessian times each row of `vectors`, (n_vectors, n_rows)."""


@dataclass(frozen=True)
class PiecewisePolynomial:
    """phi(d) = sum of c max(0, m - d)^p over the terms (m, p, c)."""

    terms: tuple[tuple[float, int, float], ...]


@dataclass(frozen=True)
class Sigmoidal:
    """phi'(d) = S(d) - 1 for a sigmoid S, "logistic" or "probit", with S(-d) = 1 - S(d).

    `value` names the loss whose value is reported, `slope` the one whose gradient is followed; they
    differ in Raykar's mixture only.
    """

    value: str
    slope: str


@dataclass(frozen=True)
class Squares:
    """phi(d) = (magnitude - d)^2, summed over differences or pairs."""


@dataclass(frozen=True)
class Tubes:
    """phi(d) = max(0, |magnitude - d| - epsilon)^power, summed over differences or pairs."""

    epsilon: float
    power: int


@dataclass(frozen=True)
class Exponential:
    """phi(d) = exp(-d), which separates into a product of sums."""


@dataclass(frozen=True)
class Generic:
    """No structure but phi itself: every pair is computed."""


LossFamily = PiecewisePolynomial | Sigmoidal | Squares | Tubes | Exponential | Generic


class MarginCost(Protocol):
    """A loss as users may define it."""

    def phi(self, d: Any, magnitude: Any = 0.0, order: int = 0) -> Any:
        """Return the costs of margins d, or their first or second derivatives."""


class PairLoss(Protocol):
    """The cost of a pair, a function of its margin d = s_i - s_j with i preferred to j."""

    @property
    def family(self) -> LossFamily:
        """The structure that a fast sum can use."""

    @property
    def smooth(self) -> bool:
        """Whether the loss has a (generalised) second derivative that Newton's method can use."""

    def phi(self, d: FloatArray, magnitude: float | FloatArray = 0.0, order: int = 0) -> FloatArray:
        """Return the cost of each margin (order 0) or its derivative (order 1, 2)."""


class Evaluated(NamedTuple):
    """A pair sum at some scores; arrays are in the user's row order, float64, (n_rows,)."""

    value: float
    gradient: FloatArray
    """The gradient, or a subgradient, with respect to the scores."""
    error: float
    """Bound on the error of `value` beyond rounding; 0.0 where the sum is exact."""
    curvature: Callable[[], Curvature]
    """Returns the (generalised) Hessian at these scores.

    What the evaluation has found, such as a sort, is used again unless the sum was evaluated at
    other scores since. The scores must not have been changed in place.
    """
    gradient_error: float = 0.0
    """Bound on the sum over rows of the errors of `gradient`, beyond rounding."""


class PairSum(Protocol):
    """A loss bound to preferences: it owns its buffers and knows scores only.

    The caller keeps what is returned: no later call writes into it.
    """

    @property
    def error(self) -> float:
        """Bound on the errors of all values, where it is known before they are computed.

        0.0 where the sum is exact, or where each `Evaluated` has an error of its own.
        """

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores, (n_rows,) float64.

        A curvature is asked for only of a smooth loss.
        """

    def sharpen(self) -> bool:
        """Make the errors of later values much smaller, or 0; False where that is impossible."""


class Point(NamedTuple):
    """An objective at some coefficients; only `hessian` includes the penalty."""

    value: float
    """The loss without the penalty."""
    gradient: FloatArray
    """The gradient of the loss, or a subgradient, (n_features,); not to be written to."""
    scores: FloatArray
    """What `Objective.at` takes as `scores` to evaluate these coefficients again."""
    hessian: Callable[[], LinearMap]
    """Returns the Hessian here, penalty included; a solver lets go of it before the next trial."""
    preconditioner: Callable[[], LinearMap | None]
    """Returns an approximate inverse of the Hessian here, or None."""
    rounding: Callable[[], FloatArray]
    """Returns a bound on the gradient's rounding per unit of `score_norm`, (n_features,)."""
    score_norm: float
    """The norm of the gradient by the scores."""
    value_error: float = 0.0
    """Bound on the error of the value beyond rounding; 0.0 where it is exact."""
    gradient_error: float = 0.0
    """Estimate of the error of the gradient's norm beyond rounding; 0.0 where it is exact."""


class Objective(Protocol):
    """What a solver sees: a loss of w, and penalty/2 |w|^2, which the solver adds."""

    n_features: int
    penalty: float
    precision: float
    """Relative changes of the value below this are rounding."""

    def at(self, w: FloatArray, scores: FloatArray | None = None) -> Point:
        """Return value, gradient, errors and Hessian at `w`.

        `scores` are those of `w` where the caller knows them: they save a product with X.
        """

    def sharpen(self) -> bool:
        """Make the errors of later points smaller; False where that cannot be."""
        return False

    def refine(self) -> bool:
        """Bring an approximate Hessian nearer to the exact one; False where it is exact."""
        return False


class StepLength(Protocol):
    """Choose the multiple of a step to try first, without an evaluation of the objective."""

    def __call__(
        self, point: Point, step: FloatArray, slope: float, penalty: float
    ) -> tuple[float, FloatArray | None]:
        """Return the multiple, and the scores there where they are known.

        `slope` is the derivative of the objective along the step, penalty included.
        """


class Status(Enum):
    """How a solver ended; the value is a sentence for people."""

    CONVERGED = "The gradient is below tol times its norm at zero."
    SETTLED = "The objective fell by less than tol times itself in the last half of the iterations."
    GAP_CLOSED = "The duality gap is below tol times the objective, or what it can fall by."
    MAX_ITER = "The iterations reached max_iter before tol was reached."
    NO_PROGRESS = "No step lowers the objective any further at this precision."
    PRECISION = "float32 features end the descent before tol; pass float64 for more digits."
    INTERRUPTED = "The fit was interrupted; these are the best weights so far."
    STOPPED = "The callback asked to stop."
    FINISHED = "All max_iter epochs are done."
    VALIDATED = "The validation score rose no further; the weights of the best one are kept."
    ROUNDS = "All rounds were done."
    NO_EDGE = "No weak ranking orders the weighted pairs better than chance: the loss is least."
    SEPARATED = "Nearly every pair is in the right order by far, so that the loss is 0 to rounding."
    OVERFLOW = (
        "The objective overflowed: scale the features down, or lower what multiplies the loss."
    )

    @property
    def ok(self) -> bool:
        """Whether the result needs no warning."""
        return self not in _UNFINISHED


_UNFINISHED = {Status.MAX_ITER, Status.NO_PROGRESS, Status.PRECISION}
_UNFINISHED |= {Status.INTERRUPTED, Status.OVERFLOW}


class Step(NamedTuple):
    """One outer iteration, as callbacks and histories see it; a history leaves `coef` out."""

    n_iter: int
    value: float
    gradient_norm: float
    coef: FloatArray | None
    seconds: float
    n_evaluations: int
    """Evaluations of loss and gradient so far."""
    n_products: int
    """Products with the Hessian so far."""
    gap: float = float("nan")
    """How far the value may be above the minimum, where the solver has a bound; else NaN."""


Callback = Callable[[Step], object]
"""Called after every iteration; a true result stops the descent."""


class Solution(NamedTuple):
    """What a solver returns."""

    coef: FloatArray
    status: Status
    n_iter: int
    history: list[Step]


class Solver(Protocol):
    """Minimise an objective; blind to ranking."""

    def __call__(
        self,
        objective: Objective,
        w0: FloatArray,
        *,
        tol: float,
        max_iter: int,
        callback: Callback | None = None,
    ) -> Solution:
        """Return the solution; numerical trouble is a status, never an exception."""
