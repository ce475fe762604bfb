"""Probit sums by Beaulieu's series against the double loop, the direct sum and themselves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from definitions import preferences_of, probit, sums_over
from pairrank.compiled.sigmoid import PROBIT
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.losses import Logistic
from pairrank.pair_sums import bind, sigmoid
from pairrank.pair_sums.sigmoid import SigmoidSum
from pairrank.preferences import Levels, OrderGraph
from strategies import KINDS, problems, scores_of

pytestmark = pytest.mark.numeric

ROUNDING = 2e-14
"""What the docstring allows beside eps, of the weight of a row's pairs."""
NAMED = ("full", "chain")
GRAPHS = (*NAMED, OrderGraph([(0.0, 3.0), (1.0, 3.0), (1.0, 2.0), (3.0, 4.0)]))


def levels_of(problem: Any) -> Levels:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        return Levels.build(
            problem.y, problem.qid, graph=problem.graph, sample_weight=problem.weight
        )


def pairs_of(problem: Any) -> list[tuple]:
    y, qid, weight = problem.y, problem.qid, problem.weight
    kept = np.arange(y.size) if weight is None else np.flatnonzero(weight)
    found = preferences_of(y[kept], None if qid is None else qid[kept], problem.graph)
    return [(kept[i], kept[j]) for i, j in found]


def by(name: str, levels: Levels, eps: float) -> SigmoidSum:
    """Return a sum of all queries by one algorithm."""
    return SigmoidSum(levels, PROBIT, name, eps)


@pytest.mark.parametrize("least_rows", [1, 3, 200])
@given(problem=problems(), eps=st.sampled_from((0.1, 1e-3, 1e-6, 1e-10, 1e-13)))
@settings(max_examples=60)
def test_sums_equal_the_double_loop(least_rows, problem, eps):
    levels = levels_of(problem)
    wanted = sums_over(
        pairs_of(problem), problem.scores, probit(), problem.v, problem.weight, lambda i: 1.0
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sigmoid, "PAPER_ROWS", least_rows)
        found = by("beaulieu", levels, eps).at(problem.scores)
    allowed = (eps + ROUNDING) * wanted.row_weight + 4e-16
    assert (np.abs(found.gradient - wanted.gradient) <= allowed).all()
    size = wanted.value + wanted.pair_weight
    assert abs(found.value - wanted.value) <= eps * wanted.pair_weight + ROUNDING * size


def made(n_rows: int, n_levels: int, graph: Any, *, weighted: bool, seed: int = 0) -> Levels:
    generator = np.random.default_rng(seed)
    y = generator.integers(0, n_levels, n_rows).astype(float)
    y[generator.random(n_rows) < 0.6] = min(2.0, n_levels - 1)
    qid = generator.integers(0, 2, n_rows)
    weight = generator.exponential(size=n_rows) if weighted else None
    return Levels.build(y, qid, graph=graph, sample_weight=weight).reduced("query")


def gradients(levels: Levels, scores: Any, eps: float) -> tuple[Any, Any, Any]:
    """Return the gradient by series and pair by pair, and the weight of each row's pairs.

    The sum pair by pair adds up n_rows costs a row, and then as many rows: it may be off by
    2 n_rows roundings itself.
    """
    value, found = by("beaulieu", levels, eps).at(scores)[:2]
    exact, wanted = by("direct", levels, eps).at(scores)[:2]
    wins, losses = levels.wins_and_losses()
    rounding = ROUNDING + 2 * levels.n_rows * np.finfo(float).eps
    allowed = eps * levels.total_weight + rounding * (exact + levels.total_weight)
    assert abs(value - exact) <= allowed
    return found, wanted, wins + losses


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("n_levels", "graph"),
    [(n, graph) for n in (2, 5, 40, 1000) for graph in GRAPHS if n in (5, 40) or graph in NAMED],
)
def test_thousands_of_rows_equal_the_direct_sum(n_levels, graph, weighted):
    levels = made(3000, n_levels, graph, weighted=weighted)
    for seed, kind in enumerate(KINDS):
        scores = scores_of(kind, 3000, np.random.default_rng(seed))
        for eps in (1e-3, 1e-10):
            found, wanted, weight = gradients(levels, scores, eps)
            assert (np.abs(found - wanted) <= (eps + ROUNDING) * weight).all(), kind


@pytest.mark.parametrize("heaviest", [0, 1, 3])
def test_a_level_of_nearly_all_the_weight_costs_the_others_no_digits(heaviest, monkeypatch):
    monkeypatch.setattr(sigmoid, "PAPER_ROWS", 1)
    generator = np.random.default_rng(1)
    y = np.repeat(np.arange(4.0), 100)
    weight = np.where(y == heaviest, 1e60, generator.random(400) + 0.5)
    levels = Levels.build(y, sample_weight=weight)
    found, wanted, _ = gradients(levels, generator.normal(size=400), 1e-12)
    size = weight * [weight[y != level].sum() for level in y]
    assert (np.abs(found - wanted) <= (1e-12 + ROUNDING) * size).all()


@pytest.mark.parametrize("graph", GRAPHS)
def test_curvature_and_influence_are_those_of_all_queries(graph):
    generator = np.random.default_rng(2)
    y, qid = generator.integers(0, 5, 1500).astype(float), np.arange(1500) // 500
    qid[:60] = np.arange(60) // 20 + 3
    levels = Levels.build(y, qid, graph=graph)
    scores, v = generator.normal(size=(2, 1500))
    found, wanted = (by(name, levels, 1e-9) for name in ("beaulieu", "direct"))
    made = [each.at(scores).curvature() for each in (found, wanted)]
    pairs = [
        [each.matvec(v) for each in made],
        [each.diagonal() for each in made],
        [each.influence(scores, v[np.newaxis])[0] for each in (found, wanted)],
    ]
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * np.abs(other).max())


def test_the_logistic_loss_is_refused():
    levels = made(50, 3, "full", weighted=False)
    with pytest.raises(PairrankError, match="sums erfc functions only"):
        bind(Logistic(), levels, pair_sum="beaulieu")
