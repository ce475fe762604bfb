"""Sigmoidal sums: hundreds of rows, far weights, errors, and the choice query by query."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loss_table import LOSSES as SUMMED
from loss_table import assert_within, random_problem
from pairrank.losses import Logistic
from pairrank.pair_sums import bind
from pairrank.preferences import Levels
from pairrank.preferences._codes import totals_around
from strategies import problems
from sum_table import EVERY as TABLE
from sum_table import double_loop, levels_of, sum_of

pytestmark = pytest.mark.numeric

EVERY = [(route, name) for name, route in TABLE if name in ("logistic", "probit")]
LOSSES = {name: SUMMED[name].loss for name in ("logistic", "probit")}


MOST_LEVELS = {"series": 30}
"""The paper's algorithm for two levels runs for each level."""
KINDS_OF_MANY = [
    ("normal", False, 2), ("clusters", True, 900), ("outlier", True, 5),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "weighted", "n_levels"), KINDS_OF_MANY)
@pytest.mark.parametrize(("route", "loss"), [each for each in EVERY if each[0] != "direct"])
def test_sums_of_hundreds_of_rows_are_within_eps_however_small(
    route, loss, n_levels, weighted, kind
):
    n_levels = min(n_levels, MOST_LEVELS.get(route, n_levels))
    problem = random_problem(600, n_levels, queries=2, weighted=weighted, kind=kind)
    levels, v = levels_of(problem, "query"), problem.v
    bound = sum_of(loss, route, levels, 1e-2)
    direct = bind(LOSSES[loss], levels, pair_sum="direct")
    exact, curvature = direct.at(problem.scores), direct.at(problem.scores).curvature()
    weight = np.add(*levels.wins_and_losses())
    influence = direct.influence(problem.scores, v[None])
    for eps in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-13):
        assert bound.error == pytest.approx(eps * levels.total_weight)
        found, rounded = bound.at(problem.scores), eps + 1e-13
        assert abs(found.value - exact.value) <= bound.error + 1e-13 * exact.value
        assert_within(found.gradient, exact.gradient, rounded * weight)
        rounded = max(rounded, 1e-6)
        span = 2.0 * np.abs(v).max() * weight
        assert_within(found.curvature().matvec(v), curvature.matvec(v), rounded * span)
        assert_within(found.curvature().diagonal(), curvature.diagonal(), rounded * weight)
        assert_within(bound.influence(problem.scores, v[None]), influence, rounded * span)
        assert bound.sharpen() == (eps > 1e-13)


@pytest.mark.parametrize("n_levels", [3, 40])
@pytest.mark.parametrize(("route", "loss"), EVERY)
def test_an_offset_of_a_vector_costs_no_digits(route, loss, n_levels):
    """Products are of differences, whose errors are the same with an offset, but for rounding."""
    problem = random_problem(600, n_levels, queries=2, weighted=True)
    levels = levels_of(problem)
    v = np.round(1024.0 * problem.v) / 1024.0  # Exact after the offset.
    bound = sum_of(loss, route, levels, 1e-9)
    weight = np.add(*levels.wins_and_losses())
    curvature = bound.at(problem.scores).curvature()
    off = np.abs(curvature.matvec(v + 2.0**20) - curvature.matvec(v))
    assert (off <= 1e-12 * weight * np.ptp(v)).all()
    near, far = bound.influence(problem.scores, np.stack((v, v + 2.0**20)))
    assert (np.abs(far - near) <= 1e-12 * weight * np.ptp(v)).all()


@pytest.mark.parametrize("spread", [0.0, 169.9, 170.1, 720.0])
@pytest.mark.parametrize(("n_losers", "n_winners"), [(8, 4), (899, 1), (899, 66), (1810, 4)])
def test_products_of_many_far_logistic_pairs_stay_in_range(n_losers, n_winners, spread):
    """Pairs share divisions and logarithms up to a spread of 170 and in runs of 900 columns.

    The factors of a product are all largest at a spread of 170, the mantissas at one of 0. Costs
    and slopes are known to 4 ulps of the spread, for exp and the difference of scores; a row of n
    pairs adds n slopes of at most 1, each addition rounded to half an ulp of n.
    """
    loss, unit = Logistic(), np.finfo(float).eps
    losers, winners = np.linspace(0.0, 1e-3, n_losers), np.linspace(2e-3, 3e-3, n_winners) + spread
    levels = Levels.build(np.repeat([0.0, 1.0], [n_losers, n_winners]))
    for sign in (1.0, -1.0):
        scores = sign * np.concatenate([losers, winners])
        d = np.subtract.outer(scores[n_losers:], scores[:n_losers])
        slopes = loss.phi(d, order=1)
        wanted = np.concatenate([-slopes.T.copy().sum(1), slopes.sum(1)])
        found = bind(loss, levels, pair_sum="direct").at(scores)
        rounding = 4.0 * unit * (spread + 1.0)
        assert abs(found.value - loss.phi(d).sum()) <= rounding * d.size
        n_pairs = np.repeat([n_winners, n_losers], [n_losers, n_winners])
        assert_within(found.gradient, wanted, n_pairs * (rounding + n_pairs * unit))


@pytest.mark.parametrize(("route", "name"), EVERY)
@given(problem=problems(graphs=("full",)), seed=st.integers(0, 2**32 - 1))
def test_weights_of_every_size_are_carried(route, name, problem, seed):
    """The heaviest rows may outweigh the others by 1e100: errors are of the others' weight."""
    exponents = np.random.default_rng(seed).integers(-50, 51, problem.y.size)
    problem = problem._replace(weight=10.0**exponents, v=np.sin(np.arange(problem.y.size)))
    levels = levels_of(problem)
    found = sum_of(name, route, levels).at(problem.scores)
    wanted = double_loop(problem, SUMMED[name].definition, levels)
    size = wanted.pair_weight + wanted.value
    assert_within(found.value, wanted.value, 1e-6 * wanted.pair_weight + 1e-14 * size)
    rounding = 2e-14 if route in ("beaulieu", "series") else 1e-14
    assert_within(found.gradient, wanted.gradient, (1e-6 + rounding) * wanted.row_weight)


@pytest.mark.parametrize("n_levels", [2, 6, 900])
@pytest.mark.parametrize("far", [1e3, 1e8, 1e150, 1e300])
def test_an_outlier_costs_the_others_no_digits(n_levels, far):
    problem = random_problem(1200, n_levels)
    levels, scores = levels_of(problem), problem.scores.copy()
    bound = sum_of("logistic", "boxes", levels, 1e-12)
    best = int(levels.row_of[-1])
    scores[best] = 100.0
    wanted = bound.at(scores)
    scores[best] = far
    found = bound.at(scores)
    assert found.value == pytest.approx(wanted.value, rel=1e-10)
    np.testing.assert_allclose(found.gradient, wanted.gradient, atol=1e-11 * levels.n_rows)


@pytest.mark.parametrize("heaviest", [0, 1, 3])
def test_a_level_of_nearly_all_the_weight_costs_a_series_no_digits(heaviest):
    generator = np.random.default_rng(1)
    y = np.repeat(np.arange(4.0), 100)
    weight = np.where(y == heaviest, 1e60, generator.random(400) + 0.5)
    levels, scores = Levels.build(y, sample_weight=weight), generator.normal(size=400)
    found, wanted = (
        sum_of("probit", name, levels, 1e-12).at(scores).gradient for name in ("series", "direct")
    )
    size = weight * [weight[y != level].sum() for level in y]
    assert_within(found, wanted, (1e-12 + 2e-14) * size)


def test_sums_of_unequal_weights_lose_no_digits():
    """Of as many levels as rows: one sum after another would lose a part of 1e-13."""
    totals = 10.0 ** np.random.default_rng(0).uniform(-10, 10, 300_000)
    below, above = totals_around(totals, np.array([0, totals.size]))
    for at in (1, 2, 1000, 150_000, 299_998):
        assert below[at] == pytest.approx(math.fsum(totals[:at]), rel=1e-14)
        assert above[at] == pytest.approx(math.fsum(totals[at + 1 :]), rel=1e-14)
