"""PairLossRanker: a loss over preferences; PairProbabilities: its likelihood of a pair."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from sklearn.utils.metaestimators import available_if

from pairrank import _validation as validation
from pairrank._protocols import Features, FloatArray
from pairrank.blocks._contracts import Passes
from pairrank.estimators._base import Graph
from pairrank.estimators._descent import Method, minimize, values_agree
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._fit import Solve, SolvedRanker
from pairrank.estimators._rows import Rows, preferences_of
from pairrank.estimators.sgd import SGD
from pairrank.exceptions import PairrankError
from pairrank.losses import Logistic, Probit, as_loss
from pairrank.objective import Problem
from pairrank.pair_sums import check_eps
from pairrank.preferences import Pairs, Preferences, as_graph


@ranker
class PairLossRanker(SolvedRanker):
    """A ranker that minimises alpha/2 |w|^2 + C times a loss over every preference.

    A ranker declares `loss`, and one of C and alpha; `eps` is the error of its sums.

    Attributes
    ----------
    gap_, kernel_
    """

    _: KW_ONLY
    graph: Graph = "full"
    reduction: Literal["auto", "rows", "query", "sum"] = "auto"
    solver: str | SGD = "auto"
    pair_sum: str = "auto"
    warm_start: bool = False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("C", "alpha"):
            validation.check_number(getattr(self, name, 1.0), name)
        check_eps(getattr(self, "eps", 1e-6))
        loss, name = as_loss(self.loss), self._solver_name
        if isinstance(self.solver, SGD):
            self.solver.check()
        if name in ("tron", "ncg") and not loss.smooth:
            raise PairrankError(
                f'solver="{name}" needs a smooth loss, which {self.loss!r} is not: use '
                'solver="bundle" (or "auto")'
            )
        if name in ("tron", "bundle", "sgd") and not values_agree(loss):
            raise PairrankError(
                f'solver="{name}" needs values that match gradients, which {self.loss!r} '
                'does not give: use solver="ncg" (or "auto")'
            )

    def _preferences(self, rows: Rows) -> Preferences:
        """Return the scaled preferences; raise an error if there are none."""
        preferences = preferences_of(rows, self.graph, self.reduction)
        if isinstance(preferences, Pairs) or self.pair_sum != "auto":
            return preferences
        return preferences.compact()

    def _solver_of(self, rows: Rows, features: Any, preferences: Preferences) -> Solve:
        return self._minimizer(Problem(features, preferences, **self._terms()))

    def _terms(self) -> dict[str, Any]:
        """Return the loss, the penalty and how sums are computed."""
        return {
            "loss": as_loss(self.loss),
            "penalty": float(getattr(self, "alpha", 1.0)),
            "factor": float(getattr(self, "C", 1.0)),
            "algorithm": self.pair_sum,
            "eps": float(getattr(self, "eps", 1e-6)),
        }

    def _minimizer(self, problem: Any) -> Solve:
        stops = float(self.tol), int(self.max_iter), self._seed()
        steps = self.solver.get_params() if isinstance(self.solver, SGD) else {}
        method = Method(self._solver_name, *stops, steps)
        return lambda target, start, callback: minimize(problem, method, start, callback)

    def _check_blocks(self) -> None:
        super()._check_blocks()
        if self._solver_name == "sgd":
            raise PairrankError(
                'solver="sgd" draws pairs from all rows, so it needs them in memory: use '
                'solver="auto"'
            )

    def _prepare_blocks(self, passes: Passes, catalog: Any) -> Any:
        from pairrank.blocks.layouts import prepare

        graph = as_graph(self.graph)
        return prepare(passes, catalog, as_loss(self.loss), graph=graph, reduction=self.reduction)

    def _block_solver(self, passes: Passes, prepared: Any) -> Solve:
        from pairrank.blocks.problem import BlockProblem

        return self._minimizer(BlockProblem(passes, prepared, **self._terms()))

    @property
    def _solver_name(self) -> str:
        return "sgd" if isinstance(self.solver, SGD) else self.solver


def _is_likelihood(ranker: Any) -> bool:
    """Whether the loss is the likelihood of a pair."""
    return isinstance(ranker.loss, str) and ranker.loss in ("logistic", "probit", "raykar")


class PairProbabilities:
    """A ranker that gives probabilities where its `loss` is the likelihood of a pair."""

    loss: Any
    predict: Any

    @available_if(_is_likelihood)
    def predict_pair_proba(self, Xi: Features, Xj: Features) -> FloatArray:
        """Return the probability that each row of Xi is preferred to the same row of Xj.

        Parameters
        ----------
        Xi, Xj : array-like, CSR matrix or frame of shape (n_pairs, n_features)

        Returns
        -------
        ndarray of shape (n_pairs,), float64
            S of the difference of scores; the logistic sigmoid for "raykar" (Eq. 2).

        Raises
        ------
        ValueError
            If Xi and Xj differ in shape, or `predict` raises for one of them.

        Notes
        -----
        Costs two predictions.
        """
        first, second = self.predict(Xi), self.predict(Xj)
        if first.size != second.size:
            raise PairrankError(shapes_differ(first, second))
        return self.preference_proba(first - second)

    @available_if(_is_likelihood)
    def preference_proba(self, margins: FloatArray) -> FloatArray:
        """Return the probabilities of preferences by how much higher the scores are."""
        loss = Probit() if self.loss == "probit" else Logistic()
        with np.errstate(over="ignore"):
            return -loss.phi(-margins, order=1)


def shapes_differ(first: Any, second: Any) -> str:
    """Return why two sets of rows make no pairs."""
    rows = f"Xi has {first.shape[0]} rows and Xj {second.shape[0]}"
    return f"{rows}: row k of each makes pair k"
