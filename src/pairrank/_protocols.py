"""The contracts between layers: PairLoss, PairSum, Objective, Solver; the Solution record."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pairrank.preferences import Preferences

FloatArray = NDArray[np.float64]


class LinearMap(Protocol):
    """A symmetric linear map of the coefficients or of the scores."""

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the map times `v`, as a new array."""
        ...


class Curvature(LinearMap, Protocol):
    """The (generalised) Hessian of a pair sum by the scores, at fixed scores."""

    def diagonal(self) -> FloatArray:
        """Return the diagonal, one number a row."""
        ...


class MultipleCurvature(Curvature, Protocol):
    """A curvature that takes many vectors at once."""

    def matmat(self, vectors: FloatArray) -> FloatArray:
        """Return the Hessian times each row of `vectors`, (n_vectors, n_rows)."""
        ...


class PairSum(Protocol):
    """A loss bound to preferences: it owns its buffers and knows scores only.

    Scores, gradients and vectors are in the user's row order, float64, of shape (n_rows,). What is
    returned is the caller's to keep: no later call writes into it.
    """

    error: float
    """What a value may be off by at the most, beyond rounding; 0.0 where the sum is exact."""

    def sharpen(self) -> bool:
        """Allow a hundredth of the error from now on; False where it is exact or at its least."""
        ...

    def value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum over all pairs and its gradient (or a subgradient) by the scores."""
        ...

    def curvature(self, scores: FloatArray) -> MultipleCurvature:
        """Return the (generalised) Hessian at these scores, valid while others are asked too."""
        ...


class LikelihoodSum(PairSum, Protocol):
    """A pair sum that also tells what each row's own pairs pull at."""

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return, for each row, the sum over the pairs that it is in of phi'(d) (v_i - v_j).

        For each row v of `vectors`, both (n_vectors, n_rows) in C order; i is the pair's preferred
        row. With the columns of X as vectors it is the row's share of the gradient by the weights,
        each pair shared by both its rows.
        """
        ...


class PairLoss(Protocol):
    """What a pair costs, as a function of its margin d = s_i - s_j, i preferred to j."""

    def phi(self, d: FloatArray, magnitude: float | FloatArray = 0.0, order: int = 0) -> FloatArray:
        """Return the cost of each margin (order 0) or its derivative (order 1, 2)."""
        ...

    def sum_over(
        self, preferences: Preferences, *, route: str = "auto", eps: float = 1e-6
    ) -> PairSum:
        """Bind the loss to preferences; `route` picks the algorithm, `eps` the error allowed."""
        ...


class Objective(Protocol):
    """What a solver sees: a loss of w, and a penalty/2 |w|^2 kept apart."""

    n_features: int
    penalty: float
    reference_norm: float
    """|gradient| at w = 0, which `tol` is relative to wherever the solver starts."""
    precision: float
    """Relative changes of the value below this are rounding."""
    pull: float
    """The norm of the last gradient by the scores."""

    @property
    def rounding(self) -> FloatArray:
        """What rounding may add to each entry of a gradient of pull 1, (n_features,)."""
        ...

    @property
    def value_error(self) -> float:
        """What the value may be off by beyond rounding, 0.0 where it is exact."""
        ...

    @property
    def gradient_error(self) -> float:
        """About what the gradient's norm may be off by, 0.0 where it is exact."""
        ...

    def sharpen(self) -> bool:
        """Make both errors smaller from now on; False where that cannot be."""
        ...

    def loss_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss without the penalty, and its gradient or a subgradient."""
        ...

    def hessian(self, w: FloatArray) -> LinearMap:
        """Return the Hessian at `w`, penalty included."""
        ...

    def preconditioner(self, w: FloatArray) -> LinearMap | None:
        """Return an approximate inverse of the Hessian at `w`, or None."""
        ...

    def reach(self, w: FloatArray, step: FloatArray, slope: float) -> float:
        """Return the multiple of a step that is likely to lower the value most; 1.0 as it is.

        `slope` is the gradient at `w`, penalty included, times the step.
        """
        ...

    def refine(self) -> bool:
        """Bring the cheap models nearer to the truth; False where nothing is sampled any more."""
        ...


class Status(Enum):
    """How a solver ended; the value is a sentence for people."""

    CONVERGED = "The gradient is below tol times its norm at zero."
    GAP_CLOSED = "The duality gap is below tol times the objective, or what it can fall by."
    MAX_ITER = "The iterations reached max_iter before tol was reached."
    NO_PROGRESS = "No step lowers the objective any further at this precision."
    PRECISION = "float32 features end the descent before tol; pass float64 for more digits."
    INTERRUPTED = "The fit was interrupted; these are the best weights so far."
    STOPPED = "The callback asked to stop."
    VALIDATED = "The validation error fell no further; the weights that had the least are kept."
    OVERFLOW = (
        "The objective overflowed: scale the features down, or lower what multiplies the loss."
    )

    @property
    def ok(self) -> bool:
        """Whether the result needs no warning."""
        return self in (Status.CONVERGED, Status.GAP_CLOSED, Status.STOPPED, Status.VALIDATED)


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
"""Called after every iteration; what is true stops the descent."""


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
        """Return the solution; never raise for numerical trouble, say it in the status."""
        ...
