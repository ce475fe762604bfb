"""Every loss of the table: its formula, derivatives and family say the same."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest

from loss_table import LOSSES as TABLE
from loss_table import NAMED
from pairrank import PairwiseRanker
from pairrank.exceptions import PairrankError
from pairrank.losses import Exponential, HuberisedHinge, ModifiedHuber, as_loss

MARGINS = np.concatenate([np.linspace(-12.0, 12.0, 97), [1e-3, -1.0, 0.5, 1.0, 30.0, -30.0]])


@pytest.mark.parametrize("name", TABLE)
def test_formulas_equal_their_definitions(name):
    loss, functions = TABLE[name].loss, TABLE[name].definition
    for order, function in enumerate(functions):
        wanted = [function(float(d)) for d in MARGINS]
        found = loss.phi(MARGINS, order=order)
        np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-15)
        assert found.dtype == np.float64
    with pytest.raises(PairrankError, match=r"order must be 0, 1 or 2 \(got 3\)"):
        loss.phi(MARGINS, order=3)


@pytest.mark.parametrize("name", [name for name in TABLE if name != "raykar"])
@pytest.mark.parametrize("order", [0, 1])
def test_derivatives_are_the_differences(name, order):
    loss = TABLE[name].loss
    if order == 1 and not loss.smooth:
        pytest.skip("a kink has no second derivative")
    d, step = np.linspace(-12.03, 12.1, 101), 1e-5
    above, below = (loss.phi(d + side * step, order=order) for side in (1.0, -1.0))
    slope = loss.phi(d, order=order + 1)
    size = np.abs(slope) + np.abs(above)
    assert (np.abs((above - below) / (2 * step) - slope) <= 1e-6 * size + 1e-9).all()


def test_records_are_frozen_and_equal():
    for name, kind in NAMED.items():
        assert as_loss(name) == kind()
        with pytest.raises(dataclasses.FrozenInstanceError):
            as_loss(name).family = None


def test_an_object_with_phi_is_a_loss():
    class Given:
        smooth = False

        def phi(self, d, magnitude=0.0, order=0):
            return np.abs(d - 1.0)

    loss = as_loss(Given())
    assert loss.phi(np.array([3.0])) == 2.0
    assert not loss.smooth
    assert as_loss(TABLE["hinge"].loss) is TABLE["hinge"].loss
    for wrong in ("hingee", 3, Given, None):
        with pytest.raises(PairrankError, match="loss must be one of 'squared_hinge', 'hinge'"):
            as_loss(wrong)


@pytest.mark.parametrize("found", [1.0, np.ones(1), np.ones((3, 1))])
def test_a_phi_gives_one_number_per_margin(found):
    class Given:
        def phi(self, d, magnitude=0.0, order=0):
            return found

    with pytest.raises(PairrankError, match=r"for margins of shape \(3,\) and order 0"):
        as_loss(Given()).phi(np.zeros(3))
    with pytest.raises(PairrankError, match="one number per margin"):
        PairwiseRanker(Given()).fit([[0.0], [1.0], [2.0]], [0, 1, 2])


@pytest.mark.parametrize("width", [0.0, -1.0, np.nan, np.inf])
def test_a_huberised_hinge_has_a_width(width):
    with pytest.raises(PairrankError, match="width must be finite and greater than 0"):
        HuberisedHinge(width)


@pytest.mark.parametrize("loss", [Exponential, HuberisedHinge, ModifiedHuber])
def test_a_new_loss_is_one_short_class(loss):
    assert len(inspect.getsource(loss).splitlines()) <= 40
