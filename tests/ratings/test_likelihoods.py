"""Likelihoods: the papers' probabilities, exact derivatives, finite at large margins."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.ratings.likelihoods import LIKELIHOODS
from ratings_definition import TIES, probabilities

STEP = 1e-5
DIFFERENCE = 1e-8
"""Central differences of functions whose third derivatives are below 10: 10 STEP^2 / 6 and the
rounding 1e-16 / STEP, with room."""


def some(kind):
    return np.linspace(-3.0, 3.0, 13), {"half": 0.0, "davidson": -0.4, "rao-kupper": 0.6}[kind]


@pytest.mark.parametrize("kind", TIES[1:])
def test_probabilities_are_those_of_the_papers(kind):
    d, t = some(kind)
    model = LIKELIHOODS[kind]
    wanted = np.array([probabilities(kind, each, np.exp(t)) for each in d]).T
    np.testing.assert_allclose(np.exp(model.log_probabilities(d, t)), wanted, rtol=1e-12)
    assert model.shown(t) == np.exp(t)


@pytest.mark.parametrize("kind", TIES)
def test_derivatives_are_those_of_differences(kind):
    d, t = some(kind)
    model = LIKELIHOODS[kind]
    slopes = model.slopes(d, t)
    for name, h, k in (("margin", STEP, 0.0), ("tie", 0.0, STEP)):
        rise = model.log_probabilities(d + h, t + k) - model.log_probabilities(d - h, t - k)
        np.testing.assert_allclose(getattr(slopes, name), rise / (2 * STEP), atol=DIFFERENCE)
        up, down = model.slopes(d + h, t + k), model.slopes(d - h, t - k)
        for of, second in (
            ("margin", slopes.of_margins if h else slopes.across),
            ("tie", slopes.across if h else slopes.of_ties),
        ):
            fall = (getattr(down, of) - getattr(up, of)) / (2 * STEP)
            np.testing.assert_allclose(np.broadcast_to(second, (3, d.size)), fall, atol=1e-7)


@pytest.mark.parametrize("kind", TIES)
def test_large_margins_stay_finite(kind):
    d, t = np.array([-1e150, -800.0, 0.0, 800.0, 1e150]), some(kind)[1]
    logs, slopes = LIKELIHOODS[kind].log_probabilities(d, t), LIKELIHOODS[kind].slopes(d, t)
    assert np.isfinite(logs).all()
    assert all(np.isfinite(each).all() for each in slopes)
    assert (np.asarray(slopes.of_margins) >= 0.0).all()


@pytest.mark.parametrize("kind", TIES[1:])
def test_the_start_is_the_share_of_ties_of_equal_items(kind):
    model = LIKELIHOODS[kind]
    for share in (0.01, 0.5, 0.99):
        _, tie, _ = np.exp(model.log_probabilities(np.zeros(1), model.start(share)))
        np.testing.assert_allclose(tie, share, rtol=1e-12)
