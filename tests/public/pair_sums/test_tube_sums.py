"""Tube sums over differences and comparisons, against their definition pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.exceptions import PairrankError
from pairrank.losses import Tube

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("epsilon", [-0.1, np.inf, np.nan])
def test_a_tube_has_a_width(epsilon):
    with pytest.raises(PairrankError, match="epsilon must be"):
        Tube(epsilon)
