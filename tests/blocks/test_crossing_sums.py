"""Sums over queries that cross blocks against the sum in memory, for any split of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks_definition import Crossed, crossing_of, cut_levels
from pairrank.blocks.crossing_sum import crossing_sum
from pairrank.losses import (
    Hinge,
    HuberisedHinge,
    Logistic,
    ModifiedHuber,
    Probit,
    Raykar,
    SquaredHinge,
)
from pairrank.pair_sums import bind
from pairrank.preferences import Levels
from strategies import problems, problems_with_roles

pytestmark = pytest.mark.numeric

HINGES = {
    "squared hinge": SquaredHinge(),
    "hinge": Hinge(),
    "margin 0.7": SquaredHinge(0.7),
    "no margin": Hinge(0.0),
    "Huberised hinge": HuberisedHinge(0.5),
    "modified Huber": ModifiedHuber(),
}
SIGMOIDS = {"logistic": Logistic(), "probit": Probit(), "raykar": Raykar()}
EPS = 1e-9


def levels_of(problem):
    """Return the kept rows of a problem as (levels, labels, scores, v), None without a pair."""
    levels = Levels.build(
        problem.y,
        problem.qid,
        graph=problem.graph,
        sample_weight=problem.weight,
        winner_weight=problem.winner,
        loser_weight=problem.loser,
    )
    kept = np.sort(levels.row_of)
    sides = (problem.weight, problem.winner, problem.loser)
    weights = [None if side is None else side[kept] for side in sides]
    qid = None if problem.qid is None else problem.qid[kept]
    again = Levels.build(
        problem.y[kept], qid, graph=problem.graph,
        sample_weight=weights[0], winner_weight=weights[1], loser_weight=weights[2],
    )  # fmt: skip
    return again, problem.y[kept], problem.scores[kept], problem.v[kept]


def crossed(loss, levels, labels, graph, seed, moments, eps=EPS):
    rng = np.random.default_rng(seed)
    n_blocks = int(rng.integers(1, 7))
    cut, records, scale = cut_levels(levels, n_blocks, rng, moments=moments)
    crossing = crossing_of(levels, labels, cut, records, scale, graph)
    return Crossed(crossing_sum(loss, crossing, eps), cut)


every = {"all": lambda k: True, "some": lambda k: k % 2 == 0}


@pytest.mark.filterwarnings("ignore:the order graph names labels")
@pytest.mark.parametrize("name", [*HINGES, *SIGMOIDS])
@settings(max_examples=25)
@given(problem=st.one_of(problems(), problems_with_roles()), seed=st.integers(0, 99))
def test_exchanged_rows_give_the_bits_of_the_sum_in_memory(name, problem, seed):
    loss = {**HINGES, **SIGMOIDS}[name]
    levels, labels, scores, _ = levels_of(problem)
    if not levels.n_pairs:
        return
    levels = levels.reduced("query")
    found, gradient = crossed(loss, levels, labels, problem.graph, seed, lambda k: False).at(scores)
    wanted = bind(loss, levels, eps=EPS).at(scores)
    np.testing.assert_array_equal(found.value, wanted.value)
    np.testing.assert_array_equal(gradient, wanted.gradient)
