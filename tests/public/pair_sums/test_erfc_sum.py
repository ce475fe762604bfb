"""fast_erfc_sum: every method against the sum pair by pair, its guarantee, its refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from pairrank import fast_erfc_sum
from pairrank.exceptions import PairrankError
from strategies import KINDS, scores_of

pytestmark = pytest.mark.numeric

METHODS = ("auto", "boxes", "beaulieu", "direct")
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


@pytest.mark.parametrize("method", METHODS)
def test_a_hundred_thousand_additions_lose_no_digits(method):
    """A plain running sum of 0.1 is off by 1e-12 here, and by 1e-10 at ten million points."""
    sources = np.full(100_000, 0.25)
    found = fast_erfc_sum(sources, [1.0], np.full(100_000, 0.1), eps=1e-13, method=method)
    assert abs(found[0] - 1e4 * math.erfc(0.75)) <= (1e-13 if method in BOXED else 5e-15) * 1e4


def test_normal_distribution_functions_add_up_as_the_docstring_says():
    generator = np.random.default_rng(6)
    m, t, q, s = generator.normal(size=60), generator.normal(size=40), generator.random(60), 0.3
    wanted = (q * ndtr((t[:, np.newaxis] - m) / s)).sum(axis=1)
    found = fast_erfc_sum(-m / (s * 2**0.5), -t / (s * 2**0.5), q, eps=1e-10) / 2
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10 * q.sum())


def test_few_pairs_are_summed_directly_unless_asked_otherwise():
    generator = np.random.default_rng(5)
    sources, targets = generator.normal(size=30), generator.normal(size=50)
    chosen, pairs = (fast_erfc_sum(sources, targets, method=m) for m in ("auto", "direct"))
    assert chosen.tolist() == pairs.tolist()
    sources = np.append(sources, 0.5)
    chosen, boxes = (fast_erfc_sum(sources, targets, method=m) for m in ("auto", "boxes"))
    assert chosen.tolist() == boxes.tolist()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: fast_erfc_sum([0.0, np.nan], [0.0]), "sources contains NaN in row 1"),
        (lambda: fast_erfc_sum([0.0], [1.0, -np.inf]), "targets contains infinity .* row 1"),
        (lambda: fast_erfc_sum([0.0], [0.0], [np.inf]), "weights contains infinity .* row 0"),
        (lambda: fast_erfc_sum([0.0], [0.0], [1.0, 2.0]), "weights has 2 entries for 1 rows"),
        (lambda: fast_erfc_sum([[0.0, 1.0]], [0.0]), r"sources must have one dimension.*\(1, 2\)"),
        (lambda: fast_erfc_sum([0.0], 0.0), r"targets must have one dimension"),
        (lambda: fast_erfc_sum([1j], [0.0]), "sources holds complex numbers"),
        (lambda: fast_erfc_sum(["a"], [0.0]), "sources must hold numbers, got text"),
        (
            lambda: fast_erfc_sum([None], [0.0]),
            "sources must hold numbers, got a missing value in row 0",
        ),
        (lambda: fast_erfc_sum([0.0, 1.0], [0.0], [1e308, 1e308]), "scale them down"),
        (lambda: fast_erfc_sum([0.0], [0.0], eps=0.0), "eps must be greater than 0 .got 0.0"),
        (lambda: fast_erfc_sum([0.0], [0.0], eps=1), "eps must be below 1, got 1"),
        (lambda: fast_erfc_sum([0.0], [0.0], eps=np.nan), "got nan"),
        (lambda: fast_erfc_sum([0.0], [0.0], eps="tiny"), "got 'tiny'"),
        (lambda: fast_erfc_sum([0.0], [0.0], method="exact"), "no method 'exact'.*'direct'"),
        (lambda: fast_erfc_sum([0.0], [0.0], method=None), "no method None"),
    ],
)
def test_bad_input_is_refused(call, says):
    with pytest.raises(PairrankError, match=says):
        call()
