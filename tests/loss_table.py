"""The table of losses with their slow definitions: a new loss is one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import definitions
from definitions import preferences_of
from pairrank.losses import (
    Exponential,
    Hinge,
    HuberisedHinge,
    Logistic,
    ModifiedHuber,
    Probit,
    Raykar,
    SquaredHinge,
    as_loss,
)
from strategies import Problem, scores_of

NAMED = {
    "squared_hinge": SquaredHinge,
    "hinge": Hinge,
    "logistic": Logistic,
    "probit": Probit,
    "raykar": Raykar,
    "exponential": Exponential,
    "modified_huber": ModifiedHuber,
    "huberised_hinge": HuberisedHinge,
}
"""The losses of preferences by name."""

ROUNDING = 1e-13
"""Of the sizes of `Sums`: ten times better than what is promised for the hinge."""


class Summed(NamedTuple):
    """A loss with its slow definition: cost, slope and curvature of one margin."""

    loss: Any
    definition: tuple[Callable, Callable, Callable]
    floor: float = 0.0
    """What rounding may be relative to, for each pair, beside its own contribution."""
    far: float = 0.0
    """How much the spread of the scores adds to that: exponents round with it."""


@dataclass(frozen=True)
class OnlyPhi:
    """The squared hinge by its formula alone."""

    phi = SquaredHinge().phi


_MIXTURE = (definitions.logistic()[0], *definitions.probit()[1:])

LOSSES: dict[str, Summed] = {
    "squared_hinge": Summed(SquaredHinge(), definitions.hinge(1.0, True)),
    "squared_hinge of margin 0": Summed(SquaredHinge(0.0), definitions.hinge(0.0, True)),
    "hinge": Summed(Hinge(), definitions.hinge(1.0, False)),
    "hinge of margin 0.3": Summed(Hinge(0.3), definitions.hinge(0.3, False)),
    "logistic": Summed(Logistic(), definitions.logistic(), floor=1.0),
    "probit": Summed(Probit(), definitions.probit(), floor=1.0),
    "raykar": Summed(Raykar(), _MIXTURE, floor=1.0),
    "exponential": Summed(Exponential(), definitions.exponential(), far=1.0),
    "modified_huber": Summed(ModifiedHuber(), definitions.modified_huber()),
    "huberised_hinge": Summed(HuberisedHinge(0.5), definitions.huberised_hinge(0.5)),
    "no family": Summed(as_loss(OnlyPhi()), definitions.hinge(1.0, True)),
}


def weights_of(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Return what each row weighs where it wins, and where it loses."""
    weight = np.ones(problem.y.size) if problem.weight is None else problem.weight
    roles = (problem.winner, problem.loser)
    winner, loser = (weight if role is None else weight * role for role in roles)
    return winner, loser


def pairs_of(problem: Problem) -> list[tuple]:
    """Return the preferences of positive weight; rows without weight in both roles are absent."""
    winner, loser = weights_of(problem)
    kept = np.flatnonzero((winner > 0) | (loser > 0))
    qid = None if problem.qid is None else problem.qid[kept]
    found = preferences_of(problem.y[kept], qid, problem.graph)
    pairs = [(kept[i], kept[j]) for i, j in found]
    return [(i, j) for i, j in pairs if winner[i] > 0 and loser[j] > 0]


def assert_within(found: Any, wanted: Any, allowed: Any) -> None:
    with np.errstate(invalid="ignore", divide="ignore"):
        equal = np.asarray(found) == wanted  # both may be infinite
        error = np.where(equal, 0.0, np.abs(np.asarray(found) - wanted))
        assert (error <= allowed).all(), (found, wanted, error / allowed)


def random_problem(
    n_rows: int, n_levels: int, *, queries: int = 1, weighted: bool = False, kind: str = "normal"
) -> Problem:
    """Return scores of a kind, labels of a few levels, and perhaps queries and weights."""
    generator = np.random.default_rng(n_rows + n_levels)
    y = generator.integers(0, n_levels, n_rows) * 1.0
    qid = generator.integers(0, queries, n_rows) if queries > 1 else None
    weight = generator.exponential(size=n_rows) if weighted else None
    v = generator.normal(size=n_rows)
    return Problem(y, qid, "full", weight, scores_of(kind, n_rows, generator), v)


def with_events(problem: Problem) -> Problem:
    """Return the problem with weights by role; most rows never win."""
    generator = np.random.default_rng(problem.y.size)
    winner, loser = generator.exponential(size=(2, problem.y.size))
    winner = np.where(generator.random(winner.size) < 0.4, winner, 0.0)
    return problem._replace(winner=winner, loser=loser)
