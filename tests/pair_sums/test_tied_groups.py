"""Sums within groups: the double loop over each group's rows, to the stated part of its weight."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairrank.compiled.sigmoid import LOGISTIC, PROBIT
from pairrank.pair_sums import tied_groups
from pairrank.pair_sums.profiles import DERIVATIVE, EVEN
from pairrank.pair_sums.span_tables import LEAST, MOST_SHORT, short_tables
from pairrank.pair_sums.tied_groups import TiedGroups
from pairrank.preferences import Levels

pytestmark = pytest.mark.numeric

ROUNDING = 1e-14
FACTOR = -0.5


def made(seed: int, sizes: list[int], spread: float, weighted: bool) -> tuple:
    """Return labels, scores, row weights (or None) and a vector, rows in a random order."""
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(np.float64)
    scores = spread * generator.normal(size=y.size)
    weight = generator.uniform(0.5, 2.0, y.size) if weighted else None
    return y, scores, weight, generator.normal(size=y.size)


def double_loop(kind: int, order: int, y, scores, weight, v) -> tuple:
    """Return the value, the sums of K, of K (v_i - v_j), and the weight of each row's group."""
    w = np.ones(y.size) if weight is None else weight
    d = scores[:, np.newaxis] - scores
    pair = (y[:, np.newaxis] == y) * np.outer(w, w)
    group = pair.sum(axis=1)
    np.fill_diagonal(pair, 0.0)
    k = pair * DERIVATIVE[order][kind].function(d)
    value = 0.5 * (pair * EVEN[kind].function(d)).sum()
    return value, k.sum(axis=1), (k * (v[:, np.newaxis] - v)).sum(axis=1), group


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.lists(st.integers(2, 60), min_size=1, max_size=40),
    spread=st.sampled_from((0.0, 0.1, 1.0, 3.0, 30.0, 1e6)),
    weighted=st.booleans(),
    eps=st.sampled_from((0.3, 1e-2, 1e-5, 1e-9, 0.0, -1.0)),
)
@settings(max_examples=60)
def test_sums_equal_the_double_loop(kind, seed, sizes, spread, weighted, eps):
    y, scores, weight, v = made(seed, sizes, spread, weighted)
    levels = Levels.build(y, sample_weight=weight)
    errors = np.full(len(sizes), eps)
    ties = TiedGroups(levels, kind, FACTOR, np.arange(len(sizes)), {1: errors, 2: errors})
    gradient = np.zeros(y.size)
    value = ties.value_and_gradient(scores, gradient)
    allowed = abs(FACTOR) * (max(eps, 0.0) + ROUNDING)
    for order in (1, 2):
        derivative = ties.derivative(order, scores)
        sums, product = np.zeros((2, y.size))
        derivative.diagonal(sums)
        derivative.product(v, product)
        wanted_value, wanted, wanted_product, group = double_loop(kind, order, y, scores, weight, v)
        assert (np.abs(sums - FACTOR * wanted) <= allowed * group).all()
        within = 2.0 * allowed * group * np.ptp(v)
        assert (np.abs(product - FACTOR * wanted_product) <= within).all()
        if order == 1:
            assert (np.abs(gradient - FACTOR * wanted) <= allowed * group).all()
            size = 0.5 * group.sum() + ROUNDING / allowed * abs(FACTOR) * wanted_value
            assert abs(value - FACTOR * wanted_value) <= allowed * size


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
def test_a_lower_error_needs_a_better_series(kind):
    """A series of few terms is off by more than rounding, and every further step is closer."""
    y, scores, weight, v = made(0, 64 * [60], 1.0, False)
    _, wanted, _, group = double_loop(kind, 1, y, scores, weight, v)
    found = []
    for eps in (0.3, 1e-2, 1e-4):
        gradient = np.zeros(y.size)
        errors = np.full(64, eps)
        ties = TiedGroups(Levels.build(y), kind, 1.0, np.arange(64), {1: errors, 2: errors})
        ties.value_and_gradient(scores, gradient)
        found.append(np.abs((gradient - wanted) / group).max())
    assert 0.3 > found[0] > found[1] > found[2] > ROUNDING


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
def test_a_tile_keeps_the_least_error_of_its_groups(kind, order):
    """Groups share tiles by size, so their errors come in another order than they were given."""
    sizes, errors = np.repeat([60, 20], 64), np.where(np.arange(128) % 2, 0.3, 1e-9)
    errors[64:] = 0.3
    y, scores, weight, v = made(3, sizes.tolist(), 1.0, True)
    levels = Levels.build(y, sample_weight=weight)
    ties = TiedGroups(levels, kind, 1.0, np.arange(128), {1: errors, 2: errors})
    sums = np.zeros(y.size)
    ties.derivative(order, scores).diagonal(sums)
    _, wanted, _, group = double_loop(kind, order, y, scores, weight, v)
    off = np.abs(sums - wanted) / group
    assert (off <= errors[y.astype(int)] + ROUNDING).all()
    assert off.max() > 1e-9


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
@pytest.mark.parametrize("eps", [1e-9, -1.0], ids=["series", "pairs"])
def test_an_offset_of_a_vector_costs_no_digits(kind, eps):
    y, scores, weight, v = made(4, 70 * [40], 1.0, True)
    v = np.round(1024.0 * v) / 1024.0  # Exact after the offset.
    errors = np.full(70, eps)
    levels = Levels.build(y, sample_weight=weight)
    ties = TiedGroups(levels, kind, FACTOR, np.arange(70), {1: errors, 2: errors})
    for order in (1, 2):
        near, far = np.zeros((2, y.size))
        derivative = ties.derivative(order, scores)
        derivative.product(v, near)
        derivative.product(v + 2.0**20, far)
        group = double_loop(kind, order, y, scores, weight, v)[3]
        allowed = 4.0 * abs(FACTOR) * (max(eps, 0.0) + ROUNDING) * group * np.ptp(v)
        assert (np.abs(far - near) <= allowed).all()


@pytest.mark.parametrize("spread", [0.0, 63.0, 900.0])
def test_products_of_many_logistic_factors_stay_in_range(spread):
    """2415 factors are 1/2 for equal scores; exponentials of scores 900 apart underflow."""
    y, scores = np.zeros(70), np.linspace(0.0, spread, 70)
    levels, errors = Levels.build(y), {1: np.array([-1.0]), 2: np.array([-1.0])}
    ties, gradient = TiedGroups(levels, LOGISTIC, 1.0, np.arange(1), errors), np.zeros(70)
    value = ties.value_and_gradient(scores, gradient)
    wanted, sums, _, group = double_loop(LOGISTIC, 1, y, scores, None, y)
    # The exponents of scores round with the spread, up to 64; above, those of differences do.
    allowed = (ROUNDING + 4.0 * np.finfo(float).eps * min(spread, 64.0)) * group
    assert abs(value - wanted) <= allowed.sum() + ROUNDING * wanted
    assert (np.abs(gradient - sums) <= allowed).all()


def test_threads_and_tiles_do_not_change_sums(monkeypatch):
    y, scores, weight, _ = made(1, [*range(2, 60), *60 * [5]], 2.0, True)
    levels, n = Levels.build(y, sample_weight=weight), 118
    errors = {order: np.full(n, 1e-12) for order in (1, 2)}
    found = []
    for rows in (1, 1 << 20):
        monkeypatch.setattr(tied_groups, "ROWS_A_BATCH", rows)
        monkeypatch.setattr(tied_groups, "ROWS_A_TILE", rows)
        gradient = np.zeros(y.size)
        TiedGroups(levels, LOGISTIC, 1.0, np.arange(n), errors).value_and_gradient(scores, gradient)
        found.append(gradient)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-11)


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
@pytest.mark.parametrize("order", [1, 2])
def test_short_series_keep_their_errors(kind, order):
    profile = DERIVATIVE[order][kind]
    known = short_tables((profile,))
    u = np.linspace(-1.0, 1.0, 41)
    for t, lost in enumerate(known.lost):
        exact = profile.function(2.0 ** (0.5 * (LEAST + t)) * (u[:, np.newaxis] - u))
        for step, error in enumerate(lost):
            terms = np.polynomial.chebyshev.chebvander(u, 4 * step + 3)
            n = terms.shape[1]
            series = terms @ known.tables[0][t][:n, :n] @ terms.T
            assert np.abs(series - exact).max() <= error + ROUNDING * MOST_SHORT
