"""Weights by role in Levels and Pairs, against every pair."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import Pairs

pytestmark = pytest.mark.numeric


def test_a_tie_has_the_role_weights_of_each_direction():
    winner, loser = np.array([2.0, 3.0]), np.array([5.0, 7.0])
    bound = Pairs([0], [1], magnitude=[0.0]).bound(2, winner_weight=winner, loser_weight=loser)
    np.testing.assert_array_equal(bound.i, [0, 1])
    np.testing.assert_array_equal(bound.weight, [7.0, 7.5])
