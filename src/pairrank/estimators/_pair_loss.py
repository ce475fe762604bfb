"""PairLossRanker: rankers that minimise a loss summed over preferences."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

from pairrank import _validation as validation
from pairrank._protocols import PairLoss
from pairrank.estimators._descent import minimize
from pairrank.estimators._fit import Solve, SolvedRanker
from pairrank.estimators._rows import Rows
from pairrank.exceptions import PairrankError
from pairrank.preferences import Levels, Pairs, Preferences, as_graph

REDUCTIONS = ("auto", "rows", "query", "sum")


class Problem(NamedTuple):
    """What a ranker minimises, penalty/2 |w|^2 + factor * pair sum, and how."""

    loss: PairLoss
    factor: float
    penalty: float
    solver: str
    eps: float = 1e-6
    search: str = "wolfe"


class PairLossRanker(SolvedRanker):
    """A ranker that minimises a loss over every preference, and the squared norm."""

    reduction: str
    pair_sum: str

    @abstractmethod
    def _problem(self) -> Problem:
        """Return what the parameters ask for."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validation.check_choice(self.reduction, "reduction", REDUCTIONS)

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
        return levels.reduced(self.reduction)

    def _solver_of(self, rows: Rows, features: Any, preferences: Preferences) -> Solve:
        problem, seed = self._problem(), self._seed()
        return lambda target, start, callback: minimize(
            features,
            preferences,
            problem.loss,
            factor=problem.factor,
            penalty=problem.penalty,
            route=self.pair_sum,
            solver=problem.solver,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            w0=start,
            seed=seed,
            callback=callback,
            eps=problem.eps,
            search=problem.search,
        )
