"""fast_erfc_sum: every method against the sum pair by pair, its guarantee, its refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank import fast_erfc_sum
from pairrank.pair_sums import erfc as erfc_module
from pairrank.pair_sums.papers.beaulieu import series_rule
from pairrank.pair_sums.profiles import LEAST_EPS
from strategies import KINDS, scores_of

pytestmark = pytest.mark.numeric

METHODS = tuple(erfc_module.METHODS)
FAST = tuple(method for method in METHODS if method != "direct")
BOXED = ("auto", "boxes")
EPS = (0.999, 0.1, 1e-3, 1e-6, 1e-10, 1e-13)
ROUNDING = 1e-14
"""What the docstring allows beside eps, a unit of weight."""


def erfc_sum(sources, targets, weights=None):
    """Return the sums pair by pair, rounded once, and the sum of the absolute weights."""
    q = np.ones(len(sources)) if weights is None else weights
    pairs = list(zip(map(float, sources), map(float, q), strict=True))
    sums = [math.fsum(w * math.erfc(float(y) - z) for z, w in pairs) for y in targets]
    return np.array(sums), math.fsum(np.abs(q))


def assert_within(found, wanted, total, eps):
    assert found.shape == wanted.shape
    assert found.dtype == np.float64
    assert np.abs(found - wanted).max(initial=0.0) <= (eps + ROUNDING) * total


def points_of(kind, n, generator):
    if kind == "far":
        return generator.choice([-1.7e308, -1e300, -1.0, 0.0, 3.0, 1e300, 1.7e308], n)
    if kind == "coarse":
        return 2.0**50 + 0.25 * generator.integers(-40, 41, n)
    return scores_of(kind, n, generator)


def weights_of(kind, n, generator):
    normal = generator.normal(size=n)
    return {
        "none": None,
        "signed": normal,
        "zeros": np.where(generator.random(n) < 0.5, 0.0, normal),
        "all zero": np.zeros(n),
        "heavy": np.where(np.arange(n) == 0, 1e100, normal),
        "light": 1e-200 * normal,
    }[kind]


@st.composite
def sums(draw):
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    kind = draw(st.sampled_from((*KINDS, "far", "coarse")))
    sources, targets = points_of(kind, n, generator), points_of(kind, m, generator)
    if draw(st.booleans()):
        targets = np.concatenate((sources, -sources, targets * 0.7))
    weights = ("none", "signed", "zeros", "all zero", "heavy", "light")
    return sources, targets, weights_of(draw(st.sampled_from(weights)), n, generator)


@pytest.mark.parametrize("method", METHODS)
@given(problem=sums(), eps=st.sampled_from(EPS))
def test_a_sum_is_within_eps_of_the_definition(method, problem, eps):
    wanted, total = erfc_sum(*problem)
    found = fast_erfc_sum(*problem, eps=eps, method=method)
    assert_within(found, wanted, total, 0.0 if method == "direct" else eps)


@pytest.mark.parametrize("method", FAST)
@pytest.mark.parametrize("eps", [*(10.0**-k for k in range(1, 14)), 0.5, 1e-16, 1e-300])
def test_the_guarantee_holds_at_every_distance(method, eps):
    """A cluster's two ends and middle, and targets so dense that none of the worst is missed.

    By boxes the smallest eps is 1e-13.
    """
    length = 2.0 * series_rule(eps).half_length
    targets = np.linspace(-7.0, 7.0, 4001)
    for at in (0.0, 1e-9, 0.3 * length, 0.5 * length, 0.999999 * length):
        sources, weights = np.array([0.0, at]), np.array([1e-9, 1.0])
        wanted, total = erfc_sum(sources, targets, weights)
        found = fast_erfc_sum(sources, targets, weights, eps=eps, method=method)
        by_boxes = method in ("auto", "boxes")
        assert_within(found, wanted, total, max(eps, LEAST_EPS) if by_boxes else eps)


@pytest.mark.parametrize("eps", [10.0**-k for k in range(1, 16)])
def test_the_proof_of_the_rule_holds_for_its_numbers(eps):
    rule = series_rule(eps)
    span = rule.cutoff - 2.0 * rule.half_length
    h, p = 0.5 * rule.step, rule.n_terms
    furthest = rule.cutoff + rule.half_length
    assert math.erfc(span) <= eps * (1 + 1e-9)
    assert math.erfc(math.pi / (2.0 * h) - furthest) <= 0.5 * eps
    assert math.erfc(2.0 * p * h) / (2.0 * math.sqrt(math.pi) * p * h) <= eps / (8.0 * p) * 1.0001
    assert rule.step * rule.half_length < 0.1
    assert rule.damping.size == p


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("offset", [0.0, 1e7, -3e15])
def test_thousands_of_points_in_any_order_and_at_any_offset(method, offset):
    generator = np.random.default_rng(3)
    sources, targets = offset + 3.0 * generator.normal(size=3000), offset + np.linspace(-20, 20, 50)
    weights = generator.normal(size=3000)
    wanted, total = erfc_sum(sources, targets, weights)
    found = fast_erfc_sum(sources, targets, weights, eps=1e-10, method=method)
    assert_within(found, wanted, total, 1e-10)
    order, back = generator.permutation(3000), generator.permutation(50)
    moved = fast_erfc_sum(sources[order], targets[back], weights[order], eps=1e-10, method=method)
    np.testing.assert_allclose(moved, found[back], rtol=0, atol=1e-14 * total)


@pytest.mark.parametrize("method", METHODS)
def test_a_hundred_thousand_additions_lose_no_digits(method):
    """A plain running sum of 0.1 is off by 1e-12 here, and by 1e-10 at ten million points."""
    sources = np.full(100_000, 0.25)
    found = fast_erfc_sum(sources, [1.0], np.full(100_000, 0.1), eps=1e-13, method=method)
    assert abs(found[0] - 1e4 * math.erfc(0.75)) <= (1e-13 if method in BOXED else 5e-15) * 1e4
