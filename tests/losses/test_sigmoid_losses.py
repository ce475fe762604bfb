"""Logistic, probit and Raykar's mixture: one pair's cost and its derivatives, everywhere exact."""

import math

import numpy as np
import pytest
from scipy import special

from pairrank.compiled import sigmoid
from pairrank.exceptions import PairrankError
from pairrank.losses import Logistic, Probit, Raykar
from pairrank.pair_sums import bind
from pairrank.preferences import Levels

pytestmark = pytest.mark.numeric
KINDS = {sigmoid.LOGISTIC: Logistic(), sigmoid.PROBIT: Probit()}
FAR = np.concatenate([sign * 10.0 ** np.arange(-300.0, 301.0, 25.0) for sign in (1.0, -1.0)])
MARGINS = np.concatenate([FAR, np.linspace(-60.0, 60.0, 481), np.array([0.0, -0.0])])


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_functions_equal_the_records(kind):
    loss = KINDS[kind]
    slope, cost, curvature = np.empty((3, MARGINS.size))
    sigmoid.shares_and_costs(kind, MARGINS, slope, cost)
    curvature[:] = [sigmoid.curvature_at(kind, d) for d in MARGINS]
    assert (np.abs(cost - loss.phi(MARGINS)) <= 2e-15 * (1.0 + np.abs(loss.phi(MARGINS)))).all()
    np.testing.assert_allclose(slope, -loss.phi(MARGINS, order=1), rtol=0.0, atol=2e-15)
    np.testing.assert_allclose(curvature, loss.phi(MARGINS, order=2), rtol=1e-12, atol=2e-15)


def test_vectorised_functions_are_exact():
    t = np.concatenate([np.linspace(0.0, 708.0, 3001), 10.0 ** np.arange(-300.0, 2.0)])
    found = np.array([sigmoid.decay(value) for value in t])
    np.testing.assert_allclose(found, np.exp(-t), rtol=5e-16)
    assert 0.0 < sigmoid.decay(np.inf) == sigmoid.decay(1e300) < 1e-300
    e = np.concatenate([np.linspace(0.0, 1.0, 1001), 10.0 ** np.arange(-300.0, 0.0)])
    found = np.array([sigmoid.log_one_plus(value) for value in e])
    np.testing.assert_allclose(found, np.log1p(e), rtol=5e-16)
    x = np.linspace(0.0, 37.5, 4001)
    density = np.array([sigmoid.normal_density(value) for value in x])
    wanted = np.exp(-0.5 * x**2) / math.sqrt(2.0 * math.pi)
    np.testing.assert_allclose(density, wanted, rtol=1e-12)
    mills = np.array([sigmoid.mills_ratio(value) for value in x])
    np.testing.assert_allclose(density * mills, special.ndtr(-x), rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("kind", [sigmoid.LOGISTIC, sigmoid.PROBIT])
@pytest.mark.parametrize("far", [70.0, 800.0, 1e5, 1e150, 1e300])
def test_far_margins_have_the_limits_of_the_sigmoid(kind, far):
    """Beyond 68 the normal tail is below 1e-300, and the logistic one is e^-70 = 4e-31 at most."""
    ends = np.zeros((3, 2))
    sigmoid.shares_and_costs(kind, np.array([-far, far]), *ends[:2])
    ends[2][:] = [sigmoid.curvature_at(kind, d) for d in (-far, far)]
    np.testing.assert_allclose(ends, [[1.0, 0.0], [far, 0.0], [0.0, 0.0]], rtol=0.0, atol=4e-31)
    assert (ends >= 0.0).all()


def test_wrong_requests_are_refused():
    levels = Levels.build(np.arange(5.0))
    for loss in (Logistic(), Probit(), Raykar()):
        with pytest.raises(PairrankError, match=r"order must be 0, 1 or 2 \(got 3\)"):
            loss.phi(np.zeros(2), order=3)
        for eps in (0.0, 1.0, -1e-3, np.nan, np.inf):
            with pytest.raises(PairrankError, match="eps must be "):
                bind(loss, levels, eps=eps)
    with pytest.raises(PairrankError, match="'beaulieu' sums erfc functions only"):
        bind(Logistic(), levels, pair_sum="beaulieu")
