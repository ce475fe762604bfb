"""Sums by boxes, and of erfc by series: within eps of the definition wherever the points lie."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy import special

from pairrank import fast_erfc_sum
from pairrank.pair_sums import box_sum as box_sum_module
from pairrank.pair_sums.box_sum import box_sum
from pairrank.pair_sums.papers.beaulieu import series_rule
from pairrank.pair_sums.profiles import (
    COST,
    CURVATURE,
    ERFC,
    LEAST_EPS,
    SIGMOID,
    box_rule,
    error_bound,
)

pytestmark = pytest.mark.numeric

PROFILES = {profile.name: profile for profile in (*SIGMOID, *COST, *CURVATURE, ERFC)}
EVERY_EPS = (0.5, 1e-1, 1e-2, 1e-3, 1e-6, 1e-8, 1e-10, 1e-12, 1e-13)
EPS = np.finfo(float).eps
ROUNDING = 1e-14
"""Of the sum of absolute weights, and of that of absolute terms."""


def differences(targets: np.ndarray, sources: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return targets[:, np.newaxis] - sources


def assert_close(found, profile, sources, targets, q, eps):
    """Allow eps, rounding, and for terms that grow with the distance one rounding a box more."""
    terms, total = profile.function(differences(targets, sources)), np.abs(q).sum()
    wanted, size = terms @ q, np.abs(terms) @ np.abs(q)
    across = np.ptp(targets) / box_rule((profile,), eps).width + 1.0
    n_boxes = min(across, max(1024, targets.size))
    allowed = eps * total + ROUNDING * (total + size) + EPS * n_boxes * size
    assert (np.abs(found - wanted) <= allowed).all(), np.max(np.abs(found - wanted) / allowed)


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("eps", EVERY_EPS)
def test_worst_places_in_a_box_are_within_eps(name, eps):
    """One source and a comb of targets finer than the boxes: no errors average out."""
    profile = PROFILES[name]
    rule = box_rule((profile,), eps)
    targets = np.linspace(-6.0, 6.0, 9001) + rule.width / 3
    for source in (0.0, rule.width * 0.999, -rule.width / 3):
        sources = np.array([source])
        found = box_sum(profile, sources, targets, eps=eps)
        assert_close(found, profile, sources, targets, np.ones(1), eps)


@pytest.mark.parametrize("few_boxes", [0, 1024])
@pytest.mark.parametrize("eps", EVERY_EPS)
def test_negative_numbers_that_underflow_keep_to_their_box(eps, few_boxes, monkeypatch):
    """-5e-324/H is -0.0 for H above 1: such a number lies at the lower end of box 0."""
    monkeypatch.setattr(box_sum_module, "FEW_BOXES", few_boxes)
    for least in (-5e-324, -1.5e-323, -1e-322):
        points, q = np.array([least, 0.0, 1.0]), np.ones(3)
        found = box_sum(ERFC, points, points, q, eps=eps)
        assert_close(found, ERFC, points, points, q, eps)


def test_blocks_of_points_share_the_numbers_of_boxes(monkeypatch):
    """Empty boxes between the points, so that a box's number is not its place."""
    monkeypatch.setattr(box_sum_module, "ROWS_A_BLOCK", 16)
    points, q = np.repeat(np.arange(-30.0, 31.0, 6.0), 20), np.arange(220.0)
    found = box_sum(ERFC, points[::-1].copy(), points, q, eps=1e-6)
    assert_close(found, ERFC, points[::-1], points, q, 1e-6)


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("eps", EVERY_EPS)
def test_rules_keep_their_bound(name, eps):
    profile = PROFILES[name]
    rule = box_rule((profile,), eps)
    assert error_bound(rule, profile) <= eps
    assert np.log2(rule.width) % 1.0 == 0.0


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize(("p", "h"), [(2, 0.5), (4, 0.25), (4, 2.0), (8, 1.0), (8, 4.0), (16, 4.0)])
def test_one_interpolation_is_within_its_bound(name, p, h):
    profile = PROFILES[name]
    nodes = 0.5 * h * np.cos((np.arange(p) + 0.5) * np.pi / p)
    inside = np.linspace(-0.5 * h, 0.5 * h, 201)
    worst = 0.0
    for centre in np.linspace(-8.0, 8.0, 161):
        fitted = chebyshev.chebfit(nodes / h, profile.function(centre + nodes), p - 1)
        error = chebyshev.chebval(inside / h, fitted) - profile.function(centre + inside)
        worst = max(worst, np.abs(error).max())
    bound = profile.degree_error(p, h)
    assert worst <= bound + 1e-13
    assert bound < 1e-12 or worst > bound / 100, "the bound says nothing"


@pytest.mark.parametrize("method", ["auto", "boxes", "beaulieu"])
@pytest.mark.parametrize("eps", [*(10.0**-k for k in range(1, 14)), 0.5, 1e-16, 1e-300])
def test_the_guarantee_of_sums_of_erfc_holds_at_every_distance(method, eps):
    """A cluster's two ends and middle, and targets so dense that none of the worst is missed.

    By boxes the smallest eps is 1e-13.
    """
    length = 2.0 * series_rule(eps).half_length
    allowed = (eps if method == "beaulieu" else max(eps, LEAST_EPS)) + ROUNDING
    targets, weights = np.linspace(-7.0, 7.0, 4001), np.array([1e-9, 1.0])
    for at in (0.0, 1e-9, 0.3 * length, 0.5 * length, 0.999999 * length):
        sources = np.array([0.0, at])
        wanted = special.erfc(differences(targets, sources)) @ weights
        found = fast_erfc_sum(sources, targets, weights, eps=eps, method=method)
        assert np.abs(found - wanted).max() <= allowed * weights.sum()


@pytest.mark.parametrize("eps", [10.0**-k for k in range(1, 16)])
def test_the_proof_of_the_rule_of_the_series_holds_for_its_numbers(eps):
    rule = series_rule(eps)
    span = rule.cutoff - 2.0 * rule.half_length
    h, p = 0.5 * rule.step, rule.n_terms
    furthest = rule.cutoff + rule.half_length
    assert math.erfc(span) <= eps * (1 + 1e-9)
    assert math.erfc(math.pi / (2.0 * h) - furthest) <= 0.5 * eps
    assert math.erfc(2.0 * p * h) / (2.0 * math.sqrt(math.pi) * p * h) <= eps / (8.0 * p) * 1.0001
    assert rule.step * rule.half_length < 0.1
    assert rule.damping.size == p


@pytest.mark.parametrize("profile", [*PROFILES.values()], ids=lambda profile: profile.name)
@pytest.mark.parametrize("distance", [0.5, 3.0, 10.0, 30.0, 1e300])
def test_tails_are_within_their_bound(profile, distance):
    far = distance * np.array([1.0, 1.5, 3.0])
    for side, (constant, slope) in ((far, profile.right), (-far, profile.left)):
        limit = constant + (slope * side if slope else 0.0)
        gap = np.abs(profile.function(side) - limit)
        assert (gap <= profile.tail(distance) * (1 + 1e-12) + 1e-15 * np.abs(limit)).all()
