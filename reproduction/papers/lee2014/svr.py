"""L1-loss support vector regression by dual descent, in the row order of LIBLINEAR 1.92."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

_WORDS, _LAG, _WARM_UP = 31, 3, 310
"""The words of the random generator, the distance of the two that it adds, what it discards."""
_LEAST_STEP = 1e-12


class RowOrderSVR(RegressorMixin, BaseEstimator):
    """min_w |w|^2 / 2 + C sum_i |y_i - w' x_i| by Ho and Lin's coordinate descent, on dense rows.

    Its dual variables a_i in [-C, C], with w = sum_i a_i x_i, are passed in random order, and those
    at a bound are left out for a while. If C is large the passes end at `max_iter`, and the weights
    then depend on the order. LIBLINEAR takes it from the C library's `rand`, which it does not
    seed; this class has the generator of the GNU C library, so that it repeats the paper's fits.

    Parameters
    ----------
    C : float
    tol : float
        Stop if a pass has violations of at most tol times those of the first pass.
    max_iter : int
        Passes over the rows.
    random_state : int
        The seed of the generator. 1 is that of programs that do not seed it.
    """

    def __init__(
        self, C: float = 1.0, *, tol: float = 0.1, max_iter: int = 1000, random_state: int = 1
    ) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to contiguous rows."""
        state = seeded(self.random_state)
        self.coef_, self.n_iter_ = _descend(X, y, self.C, self.tol, self.max_iter, state)
        if self.n_iter_ == self.max_iter:
            warnings.warn("the passes ended early", ConvergenceWarning, stacklevel=2)
        return self

    def predict(self, X: Any) -> Any:
        """Return w' x of each row."""
        return X @ self.coef_


@njit(cache=True)
def seeded(seed: int) -> Any:
    """Return the words of the GNU C library's generator after `srand`, and the place in them."""
    state = np.empty(_WORDS + 1, np.int64)
    state[0] = max(seed, 1)
    for at in range(1, _WORDS):
        state[at] = 16807 * state[at - 1] % 2147483647
    state[_WORDS] = _LAG
    for _ in range(_WARM_UP):
        draw(state)
    return state


@njit(cache=True)
def draw(state: Any) -> Any:
    """Return the next number of `rand`, from 0 to 2^31 - 1."""
    front = state[_WORDS]
    state[front] = (state[front] + state[(front - _LAG) % _WORDS]) & 0xFFFFFFFF
    state[_WORDS] = (front + 1) % _WORDS
    return state[front] >> 1


@njit(cache=True)
def _descend(X: Any, y: Any, C: float, tol: float, max_iter: int, state: Any) -> Any:
    """Return the weights and the number of passes."""
    n_rows, n_features = X.shape
    w, a, norms = np.zeros(n_features), np.zeros(n_rows), np.zeros(n_rows)
    for row in range(n_rows):
        for value in X[row]:
            norms[row] += value * value
    order, n_active = np.arange(n_rows), n_rows
    largest, first = np.inf, np.inf
    for n_iter in range(1, max_iter + 1):
        for at in range(n_active):
            other = at + draw(state) % (n_active - at)
            order[at], order[other] = order[other], order[at]
        n_active, largest, total = _pass(X, y, C, order, n_active, largest, w, a, norms)
        if n_iter == 1:
            first = total
        if total <= tol * first:
            if n_active == n_rows:
                return w, n_iter
            n_active, largest = n_rows, np.inf
    return w, max_iter


@njit(cache=True)
def _pass(
    X: Any, y: Any, C: float, order: Any, n_active: int, largest: float, w: Any, a: Any, norms: Any
) -> Any:
    """Step in every active variable; return how many stay active, and their violations.

    `largest` is the largest violation of the pass before.
    """
    largest_now, total, at = 0.0, 0.0, 0
    while at < n_active:
        row = order[at]
        gradient = -y[row]
        for feature in range(w.size):
            gradient += X[row, feature] * w[feature]
        # At a bound, a gradient that pushes outwards is no violation.
        outwards = -gradient if a[row] >= C else gradient if a[row] <= -C else 0.0
        if outwards > largest:
            n_active -= 1
            order[at], order[n_active] = order[n_active], order[at]
            continue
        at += 1
        violation = 0.0 if outwards > 0.0 else abs(gradient)
        largest_now, total = max(largest_now, violation), total + violation
        full = norms[row] > 0.0
        step = -gradient / norms[row] if full else np.copysign(np.inf, -gradient)
        if abs(step) < _LEAST_STEP:
            continue
        before = a[row]
        a[row] = min(max(before + step, -C), C)
        step = a[row] - before
        if step != 0.0:
            for feature in range(w.size):
                w[feature] += step * X[row, feature]
    return n_active, largest_now, total
