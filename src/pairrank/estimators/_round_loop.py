"""The loop over rounds of boosting: history, validation rows, callbacks, interrupts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import Status, Step
from pairrank.estimators._descent import combined
from pairrank.estimators._rows import Watch
from pairrank.rank_boost.rankings import Columns, WeakRanking


class HeldScores:
    """The scores of the validation rows after the rounds so far."""

    def __init__(self, X: Any) -> None:
        self._columns = Columns(X)
        self.scores = np.zeros(X.shape[0])

    def add(self, ranking: WeakRanking) -> None:
        column: NDArray[Any] = self._columns[ranking.feature]
        self.scores = self.scores + ranking.alpha * ranking.values(column)


class RoundsRun:
    """Rounds with their history; a callback is told of each."""

    def __init__(
        self,
        printer: Callable[[Step], object] | None,
        watch: Watch | None,
        follow: HeldScores | None,
        callback: Callable[[Step], object] | None,
    ) -> None:
        self._callback = combined(printer, watch, callback)
        self._watch, self._follow = watch, follow
        self._start = time.perf_counter()
        self.found: list[WeakRanking] = []
        self.history: list[Step] = []

    def through(self, booster: Any, n_rounds: int) -> Status:
        """Do up to so many rounds; return how they ended."""
        try:
            if self._watch is not None:
                self._watch(self._step(1.0, np.nan))
            while len(self.found) < n_rounds:
                found = booster.advance()
                if isinstance(found, Status):
                    return found
                self.found.append(found.ranking)
                if self._follow is not None:
                    self._follow.add(found.ranking)
                step = self._step(booster.loss, abs(found.edge))
                self.history.append(step._replace(coef=None))
                if self._callback is not None and self._callback(step):
                    return Status.STOPPED
        except KeyboardInterrupt:
            self._drop_unfinished()
            return Status.INTERRUPTED
        return Status.ROUNDS

    def _drop_unfinished(self) -> None:
        """Drop a round whose record or validation score an interrupt left out."""
        n_done = len(self.history)
        if self._watch is not None:
            n_done = min(n_done, max(0, len(self._watch.curve) - 1))
        del self.found[n_done:], self.history[n_done:]

    def _step(self, loss: float, edge: float) -> Step:
        """Return the record of the last round."""
        n_done, seconds = len(self.found), time.perf_counter() - self._start
        alphas = np.array([ranking.alpha for ranking in self.found])
        return Step(n_done, loss, edge, alphas, seconds, n_done + 1, 0)
