"""Stochastic keeps the best weights and ends when the value settles."""

from __future__ import annotations

import numpy as np
import pytest

from objectives import Smooth
from pairrank._protocols import Status
from pairrank.solvers.newton import Newton
from pairrank.solvers.sgd import Stochastic


def values_of(objective, places):
    """Return the objective, penalty included, at each of some weights."""
    return [objective.at(w).value + 0.5 * objective.penalty * w @ w for w in places]


def along(places):
    """Return a solver that walks along given weights, whatever the start."""
    walk = iter(places)
    return Stochastic(lambda start: lambda: next(walk).copy())


@pytest.fixture
def objective():
    return Smooth()


@pytest.fixture
def optimum(objective):
    return Newton()(objective, np.zeros(7), tol=1e-12, max_iter=100).coef


def approach(optimum, rate, n=64):
    """Return weights whose distance from the optimum falls like 1/t^rate, in random directions."""
    ways = np.random.default_rng(0).normal(size=(n, optimum.size))
    ways *= np.linalg.norm(optimum) / np.linalg.norm(ways, axis=1)[:, None]
    return optimum + 0.3 * ways / np.arange(1, n + 1)[:, None] ** rate


def test_the_history_has_the_best_value_so_far(objective, optimum):
    places = approach(optimum, 0.5)[:12]
    found = along(places)(objective, np.zeros(7), tol=1e-9, max_iter=12)
    values = values_of(objective, [np.zeros(7), *places])
    best = np.minimum.accumulate(values)
    assert not np.array_equal(best, values)
    np.testing.assert_allclose([step.value for step in found.history], best, rtol=1e-12)
    np.testing.assert_array_equal(found.coef, [np.zeros(7), *places][int(np.argmin(values))])
    assert found.status is Status.MAX_ITER
    assert found.n_iter == 12


@pytest.mark.parametrize("tol", [1e-2, 1e-3])
def test_a_run_ends_where_the_second_half_lowers_the_value_by_less_than_tol(
    objective, optimum, tol
):
    places = approach(optimum, 1.0, 4000)
    found = along(places)(objective, np.zeros(7), tol=tol, max_iter=4000)
    assert found.status is Status.SETTLED
    values = np.array(values_of(objective, [np.zeros(7), *places[: found.n_iter]]))
    at_zero = np.linalg.norm(objective.at(np.zeros(7)).gradient) ** 2 / (2 * objective.penalty)
    best = np.minimum.accumulate(values)
    numbers = np.arange(8, values.size)
    falls = np.maximum(values[numbers // 2] - values[numbers], values[numbers] - best[numbers])
    ends = falls <= tol * np.minimum(best[numbers], at_zero)
    assert ends[-1]
    assert not ends[:-1].any()
