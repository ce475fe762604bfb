"""What the papers' protocols share: folds, scaling, timing, listed pairs, rounded scores."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC


class Rows(NamedTuple):
    """Rows with labels, in queries or in one; of generated ones also the utility of the labels."""

    X: Any
    y: Any
    qid: Any = None
    utility: Any = None

    def part(self, which: Any) -> Rows:
        """Return some of the rows."""
        return Rows(*(None if each is None else each[which] for each in self))


class Problem(NamedTuple):
    """Training, validation and test rows."""

    train: Rows
    valid: Rows
    test: Rows


def cut(rows: Rows, counts: Any) -> Problem:
    """Return as many training, validation and test rows, in this order."""
    ends = np.cumsum([0, *counts])
    return Problem(*(rows.part(slice(start, end)) for start, end in pairwise(ends)))


class Fold(NamedTuple):
    """Training and test rows."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any


def folds_of(X: Any, y: Any, n_folds: int = 5, seed: int = 0) -> Iterator[Fold]:
    """Yield folds of random rows, standardised."""
    order = np.random.default_rng(seed).permutation(len(y))
    for test in np.array_split(order, n_folds):
        train = np.setdiff1d(order, test)
        scaled = StandardScaler().fit(X[train]).transform(X)
        yield Fold(scaled[train], y[train], scaled[test], y[test])


class Method(NamedTuple):
    """A model by its strength, and the strengths to choose from.

    `choose` stands in for `make` while the strength is chosen, if its optimum is the same.
    """

    make: Callable[[Any], Any]
    grid: tuple[float, ...]
    choose: Callable[[Any], Any] | None = None

    def chosen(self, rows: Any, judged: Any, accuracy: Callable[[Any, Any], float]) -> float:
        """Return the strength whose fit to rows is best on judged ones; the first of equals."""
        if len(self.grid) == 1:
            return self.grid[0]
        make = self.choose or self.make
        return max(
            self.grid, key=lambda strength: accuracy(make(strength).fit(rows.X, rows.y), judged)
        )


def quarter(rows: Any) -> tuple[Any, Any]:
    """Return three quarters of some rows, and the held-out one."""
    held = np.arange(rows.y.size) % 4 == 0
    return rows.part(~held), rows.part(held)


def parts_of(groups: Any, n_parts: int, seed: int) -> Any:
    """Return the random part of each row; the groups 0, 1, ... stay whole."""
    return (np.random.default_rng(seed).permutation(groups.max() + 1) % n_parts)[groups]


def without_warnings() -> Any:
    """Ignore warnings: fits that reach their largest number of steps are part of a protocol."""
    return warnings.catch_warnings(action="ignore")


def fit_quietly(model: Any, X: Any, y: Any, **more: Any) -> float:
    """Fit once, without warnings, and return the seconds."""
    with without_warnings():
        start = time.perf_counter()
        model.fit(X, y, **more)
        return time.perf_counter() - start


def seconds_of(call: Callable[[], Any], *, repeats: int = 3, within: float = 1.0) -> float:
    """Return the least time of a call that is repeated, but not beyond some seconds in all.

    Call what is compiled once before.
    """
    taken: list[float] = []
    while len(taken) < repeats and sum(taken) <= within:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def with_ties(scores: Any, digits: int = 9) -> Any:
    """Return scores rounded, so that equal rows tie whatever the order of additions."""
    scores = np.asarray(scores, dtype=np.float64)
    return np.round(scores / (np.abs(scores).max() or 1.0), digits)


class ExplicitPairs(BaseEstimator):
    """RankSVM as a classifier of differences: every pair of rows with unequal labels is listed.

    It minimises |w|^2/2 + C sum over pairs of max(0, 1 - w'(x_i - x_j)), squared or not, by
    LIBLINEAR. The pairs take n_pairs * n_features numbers. Degree 2 adds the products of features,
    as the kernel (x'y + 1)^2 does.
    """

    def __init__(self, C: float = 1.0, *, loss: str = "squared_hinge", degree: int = 1) -> None:
        self.C = C
        self.loss = loss
        self.degree = degree

    def fit(self, X: Any, y: Any) -> Self:
        """List the pairs and train; half of them are turned round, to have two classes."""
        winner, loser = np.nonzero(np.subtract.outer(y, y) > 0)
        features = self._features(X)
        sign = np.where(np.arange(winner.size) % 2 == 0, 1.0, -1.0)
        differences = features[winner]
        differences -= features[loser]
        differences *= sign[:, None]
        stops: dict[str, Any] = {}
        if self.loss == "squared_hinge":
            stops = {"dual": False, "tol": 1e-3, "max_iter": 10_000}
        model = LinearSVC(C=self.C, loss=self.loss, fit_intercept=False, random_state=0, **stops)
        self.coef_ = model.fit(differences, sign).coef_[0]
        return self

    def predict(self, X: Any) -> Any:
        """Return the scores of rows."""
        return self._features(X) @ self.coef_

    def _features(self, X: Any) -> Any:
        if self.degree == 1:
            return X
        products = PolynomialFeatures(2, include_bias=False).fit(X)
        is_square = products.powers_.max(axis=1) == 2
        return products.transform(X) * np.where(is_square, 1.0, np.sqrt(2.0))


def count_preferences(y: Any) -> int:
    """Return the number of pairs of rows with different labels."""
    counts = np.unique(y, return_counts=True)[1]
    return int((counts.sum() ** 2 - (counts**2).sum()) // 2)
