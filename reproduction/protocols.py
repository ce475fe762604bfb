"""What the papers' protocols share: folds, scaling, timing, listed pairs, rounded scores."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler

from pairrank import Pairs


class Fold(NamedTuple):
    """Training and test rows, standardised on the training rows."""

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


@contextmanager
def without_warnings() -> Iterator[None]:
    """Ignore warnings: fits that reach their largest number of steps are part of a protocol."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


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


def preferences_of(y: Any) -> Pairs:
    """Return every pair of rows with different labels, the higher one preferred."""
    winner, loser = np.nonzero(np.subtract.outer(y, y) > 0)
    return Pairs(winner, loser, n_rows=len(y))


def count_preferences(y: Any) -> int:
    """Return the number of pairs of rows with different labels."""
    counts = np.unique(y, return_counts=True)[1]
    return int((counts.sum() ** 2 - (counts**2).sum()) // 2)
