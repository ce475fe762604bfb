"""Every loss of the table: its formula, derivatives and family say the same."""

from __future__ import annotations

import numpy as np
import pytest

from loss_table import NAMED
from pairrank._protocols import Exponential as ExponentialFamily
from pairrank._protocols import Generic, PiecewisePolynomial
from pairrank.losses import as_loss

MARGINS = np.concatenate([np.linspace(-12.0, 12.0, 97), [1e-3, -1.0, 0.5, 1.0, 30.0, -30.0]])


@pytest.mark.parametrize("name", NAMED)
def test_the_family_is_the_formula(name):
    loss = as_loss(name)
    if isinstance(loss.family, Generic):
        pytest.skip("no family but the formula")
    if isinstance(loss.family, PiecewisePolynomial):
        found = sum(c * np.maximum(0.0, m - MARGINS) ** p for m, p, c in loss.family.terms)
    elif isinstance(loss.family, ExponentialFamily):
        found = np.exp(-loss.family.rate * MARGINS)
    else:
        found = as_loss(loss.family.value).phi(MARGINS)
    np.testing.assert_allclose(found, loss.phi(MARGINS), rtol=1e-12, atol=1e-12)
