"""Logistic, probit and Raykar's mixture: one pair's cost and its derivatives, everywhere exact."""

import math

import numpy as np
import pytest
from scipy import special

from pairrank.losses import Logistic, Probit, Raykar

pytestmark = pytest.mark.numeric

A = math.sqrt(3.0) / math.pi
NODES = np.polynomial.legendre.leggauss(100)
FAR = np.concatenate([sign * 10.0 ** np.arange(-300.0, 301.0, 25.0) for sign in (1.0, -1.0)])
MARGINS = np.concatenate([FAR, np.linspace(-60.0, 60.0, 481), np.array([0.0, -0.0])])


def normal_tail(x: float) -> float:
    """Return pdf(x) times the integral of u exp(-x u - u^2/2): nothing cancels in it."""
    (node, weight), end = NODES, min(12.0, 60.0 / (1.0 + x))
    u = 0.5 * end * (node + 1.0)
    integral = 0.5 * end * float(weight @ (u * np.exp(-x * u - 0.5 * u * u)))
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi) * integral


def assert_equal_to(found, wanted, digits=1e-14):
    wanted = np.asarray(wanted)
    with np.errstate(over="ignore"):
        close = np.abs(found - wanted) <= digits * np.abs(wanted) + 1e-300
    assert close.all(), (MARGINS[~close], np.asarray(found)[~close], wanted[~close])


def test_logistic_is_scipys_from_end_to_end():
    loss = Logistic()
    assert_equal_to(loss.phi(MARGINS), np.logaddexp(0.0, -MARGINS))
    assert_equal_to(loss.phi(MARGINS, order=1), -special.expit(-MARGINS))
    d = MARGINS[np.abs(MARGINS) < 300]
    curvature = np.exp(-np.abs(d)) / (1.0 + np.exp(-np.abs(d))) ** 2
    np.testing.assert_allclose(loss.phi(d, order=2), curvature, rtol=1e-14)


def test_probit_is_the_normal_distribution_from_end_to_end():
    loss = Probit()
    x = A * MARGINS
    assert_equal_to(loss.phi(MARGINS, order=1), -np.exp(special.log_ndtr(-x)), 1e-12)
    d = np.linspace(-30.0, 30.0, 121)
    density = np.exp(-0.5 * (A * d) ** 2) / math.sqrt(2.0 * math.pi)
    np.testing.assert_allclose(loss.phi(d, order=2), A * density, rtol=1e-13)
    tails = np.array([normal_tail(A * abs(value)) / A for value in d])
    np.testing.assert_allclose(loss.phi(d), np.maximum(-d, 0.0) + tails, rtol=1e-13)
    assert loss.phi(np.zeros(1))[0] == pytest.approx(1.0 / (A * math.sqrt(2.0 * math.pi)))


def test_raykar_reports_the_logistic_and_follows_the_probit():
    np.testing.assert_array_equal(Raykar().phi(MARGINS), Logistic().phi(MARGINS))
    for order in (1, 2):
        np.testing.assert_array_equal(
            Raykar().phi(MARGINS, order=order), Probit().phi(MARGINS, order=order)
        )
    wanted = -0.5 * special.erfc(math.sqrt(3.0) * MARGINS / (math.sqrt(2.0) * math.pi))
    np.testing.assert_allclose(Raykar().phi(MARGINS, order=1), wanted, rtol=1e-11)
