"""Weights by role: what a row weighs in the pairs that it wins, and in those that it loses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pairrank import _validation as validation
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError

ROLES = ("winner_weight", "loser_weight")
_RANKERS = (
    "use sample_weight, or a ranker that sums a loss over preferences, such as RankSVM or RankNCG"
)
_METRICS = "use pairwise_accuracy or wmw_score"
OF_DIFFERENCES = (
    "square and tube losses are summed over every pair of a query in both directions, so no row "
    f"wins or loses; {_RANKERS}"
)
OF_CLASSES = f"ConvexHullRanker separates classes as wholes, so it sums no pairs; {_RANKERS}"
OF_COSTS = (
    "costs of differences are means over every pair of a query in both directions, so no row wins "
    f"or loses; {_METRICS}"
)
OF_GAINS = f"metrics of ranked lists sum over positions, not pairs; {_METRICS}"
OF_TIES = f"Kendall's tau counts pairs of equal labels too, which no row wins; {_METRICS}"


class Roles(NamedTuple):
    """The weights of rows as winners and as losers, sample_weight multiplied in, (n,) each."""

    winner: FloatArray
    loser: FloatArray

    def at(self, places: Any, factor: FloatArray | None = None) -> Roles:
        """Return the weights at some places, times a factor."""
        chosen = (self.winner[places], self.loser[places])
        return Roles(*(chosen if factor is None else (each * factor for each in chosen)))


def weights_of_rows(
    sample_weight: FloatArray | None,
    winner_weight: FloatArray | None,
    loser_weight: FloatArray | None,
) -> tuple[FloatArray | None, Roles | None]:
    """Return the sample weights, 0 where a row weighs nothing in either role, and the roles.

    Without weights by role the sample weights are returned as they are. A PairrankError is raised
    where products of weights are out of range.
    """
    given = winner_weight if winner_weight is not None else loser_weight
    if given is None:
        return sample_weight, None
    sample = np.ones(given.size) if sample_weight is None else sample_weight.astype(np.float64)
    given_roles = (winner_weight, loser_weight)
    roles = Roles(*(sample if weight is None else sample * weight for weight in given_roles))
    for name, weight in zip(ROLES, roles, strict=True):
        validation.check_weight_range(weight, f"{name} (times sample_weight)")
    return np.where((roles.winner > 0) | (roles.loser > 0), sample, 0.0), roles


def refuse_roles(
    winner_weight: object | None, loser_weight: object | None, reason: str = OF_DIFFERENCES
) -> None:
    """Raise a PairrankError that says why, if a weight by role is given."""
    for name, weight in zip(ROLES, (winner_weight, loser_weight), strict=True):
        if weight is not None:
            raise PairrankError(f"{name} is not supported here: {reason}")
