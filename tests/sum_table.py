"""The table of losses and of the algorithms that sum them: a new one is one line here."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import definitions
from definitions import Sums, preferences_of, sums_over
from pairrank.exceptions import PairrankWarning
from pairrank.losses import (
    Exponential,
    Hinge,
    HuberisedHinge,
    Logistic,
    ModifiedHuber,
    Probit,
    Raykar,
    SquaredHinge,
)
from pairrank.losses._phi import OfPhi
from pairrank.pair_sums import bind, costs
from pairrank.preferences import Levels
from strategies import Problem, scores_of

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


def _mixture() -> tuple[Callable, Callable, Callable]:
    return definitions.logistic()[0], *definitions.probit()[1:]


LOSSES: dict[str, Summed] = {
    "squared_hinge": Summed(SquaredHinge(), definitions.hinge(1.0, True)),
    "squared_hinge of margin 0": Summed(SquaredHinge(0.0), definitions.hinge(0.0, True)),
    "hinge": Summed(Hinge(), definitions.hinge(1.0, False)),
    "hinge of margin 0.3": Summed(Hinge(0.3), definitions.hinge(0.3, False)),
    "logistic": Summed(Logistic(), definitions.logistic(), floor=1.0),
    "probit": Summed(Probit(), definitions.probit(), floor=1.0),
    "raykar": Summed(Raykar(), _mixture(), floor=1.0),
    "exponential": Summed(Exponential(), definitions.exponential(), far=1.0),
    "modified_huber": Summed(ModifiedHuber(), definitions.modified_huber()),
    "huberised_hinge": Summed(HuberisedHinge(0.5), definitions.huberised_hinge(0.5)),
    "no family": Summed(OfPhi(SquaredHinge()), definitions.hinge(1.0, True)),
}

HINGES = ("sorted", "selection_tree", "level_counting", "direct")
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "squared_hinge": HINGES,
    "squared_hinge of margin 0": HINGES,
    "hinge": HINGES,
    "hinge of margin 0.3": HINGES,
    "logistic": ("auto", "spans", "boxes", "direct"),
    "probit": ("auto", "spans", "boxes", "beaulieu", "direct"),
    "raykar": ("auto", "spans", "boxes", "beaulieu", "direct"),
    "exponential": ("separable", "direct"),
    "modified_huber": ("auto",),
    "huberised_hinge": ("auto",),
    "no family": ("auto",),
}
"""Those of a user, and "spans": "auto" where a series over one interval costs nothing."""

EVERY = [(name, algorithm) for name, served in ALGORITHMS.items() for algorithm in served]


def sum_of(name: str, algorithm: str, levels: Levels, eps: float = 1e-6) -> Any:
    """Return the pair sum of a loss of the table over levels."""
    loss = LOSSES[name].loss
    if algorithm != "spans":
        return bind(loss, levels, pair_sum=algorithm, eps=eps)
    with pytest.MonkeyPatch.context() as patch:
        for constant in ("SPANNED_ROW", "SPANNED_LEVEL"):
            patch.setattr(costs, constant, (1e-9, 1e-9))
        return bind(loss, levels, eps=eps)


def levels_of(problem: Problem, reduction: str = "sum") -> Levels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        levels = Levels.build(
            problem.y, problem.qid, graph=problem.graph, sample_weight=problem.weight,
            winner_weight=problem.winner, loser_weight=problem.loser,
        )  # fmt: skip
    return levels.reduced(reduction) if levels.n_pairs else levels


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


def scale_of_rows(levels: Levels) -> np.ndarray:
    scale = np.broadcast_to(levels.pair_scale, levels.n_queries)
    return levels.from_layout(np.repeat(scale, np.diff(levels.query_start)))


def double_loop(problem: Problem, definition: Any, levels: Levels) -> Sums:
    scale = scale_of_rows(levels)
    winner, loser = weights_of(problem)
    return sums_over(
        pairs_of(problem), problem.scores, definition, problem.v, winner,
        lambda i: scale[i], loser,
    )  # fmt: skip


def assert_within(found: Any, wanted: Any, allowed: Any) -> None:
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(np.asarray(found) - wanted)
        assert (error <= allowed).all(), (found, wanted, error / allowed)


def assert_sums(name: str, bound: Any, scores: np.ndarray, v: np.ndarray, wanted: Sums) -> None:
    """Compare everything that a sum tells with the double loop."""
    summed = LOSSES[name]
    spread = min(float(np.ptp(scores)), 1500.0) if scores.size else 0.0
    few = ROUNDING * (1.0 + summed.far * spread)
    floor = summed.floor * few
    eps = bound.error / wanted.pair_weight if wanted.pair_weight else 0.0
    found = bound.at(scores)
    assert found.error == bound.error
    if wanted.value > 1e290:
        assert found.value > 1e289
        return
    allowed = few * wanted.value_size + (eps + floor) * wanted.pair_weight
    assert_within(found.value, wanted.value, allowed)
    allowed = few * wanted.gradient_size + (eps + floor) * wanted.row_weight
    assert_within(found.gradient, wanted.gradient, allowed)
    eps = max(eps, 1e-6 if eps else 0.0) + floor
    if hasattr(bound, "influence"):
        influence = bound.influence(scores, np.stack((v, 2.0 * v)))
        allowed = few * wanted.influence_size + eps * wanted.span
        assert_within(influence[0], wanted.influence, allowed)
        assert_within(influence[1], 2.0 * wanted.influence, 2.0 * allowed)
    if not summed.loss.smooth:
        return
    curvature = found.curvature()
    allowed = few * wanted.product_size + eps * wanted.span
    assert_within(curvature.matvec(v), wanted.product, allowed)
    assert_within(curvature.matmat(v[np.newaxis])[0], wanted.product, allowed)
    allowed = few * wanted.diagonal + eps * wanted.row_weight
    assert_within(curvature.diagonal(), wanted.diagonal, allowed)


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
