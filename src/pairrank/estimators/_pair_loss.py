"""PairLossRanker: rankers that minimise a loss summed over preferences."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from pairrank.estimators._descent import Method, minimize
from pairrank.estimators._fit import Solve, SolvedRanker
from pairrank.estimators._rows import Rows
from pairrank.exceptions import PairrankError
from pairrank.objective import Problem
from pairrank.preferences import Levels, Pairs, Preferences, as_graph


class PairLossRanker(SolvedRanker):
    """A ranker that minimises a loss over every preference, and the squared norm."""

    reduction: str
    pair_sum: str
    solver: str

    @abstractmethod
    def _problem(self, features: Any, preferences: Preferences) -> Problem:
        """Return what the parameters ask for."""

    def _preferences(self, rows: Rows) -> Preferences:
        """Return the scaled preferences; an error where there are none."""
        if isinstance(rows.y, Pairs):
            if as_graph(self.graph) != "full":
                raise PairrankError("Pairs are preferences already: leave graph at its default")
            pairs = rows.y.bound(rows.X.shape[0], reduction=self.reduction, **rows.layout)
            pairs.require_pairs()
            return pairs
        levels = Levels.build(rows.y, graph=self.graph, **rows.layout)
        levels.require_pairs()
        levels = levels.reduced(self.reduction)
        return levels.compact() if self.pair_sum == "auto" else levels

    def _solver_of(self, rows: Rows, features: Any, preferences: Preferences) -> Solve:
        problem = self._problem(features, preferences)
        method = Method(self.solver, float(self.tol), int(self.max_iter), self._seed())
        return lambda target, start, callback: minimize(problem, method, start, callback)
