"""StochasticRanker: a ranker of preferences that can take stochastic steps on drawn pairs."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Literal

from pairrank import _validation as validation
from pairrank.estimators._descent import Method
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._pair_loss import PairLossRanker
from pairrank.objective import StepRule


@ranker
class StochasticRanker(PairLossRanker):
    """A ranker of preferences that can also learn by stochastic steps on drawn pairs."""

    _: KW_ONLY
    learning_rate: Literal["sgd", "pegasos"] = "sgd"
    eta0: float | None = None
    average: bool = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.eta0 is not None:
            validation.check_number(self.eta0, "eta0")

    def _method(self) -> Method:
        eta0 = None if self.eta0 is None else float(self.eta0)
        rule = StepRule(self.learning_rate, eta0, bool(self.average))
        return replace(super()._method(), rule=rule)
