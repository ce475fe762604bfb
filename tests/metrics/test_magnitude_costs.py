"""Cortes' costs of pairs as metrics, against their definitions as double loops."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.losses import Hinge, SquaredHinge, Tube
from pairrank.metrics import hinge_rank_cost, m1d, msd, tube_cost
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels

pytestmark = pytest.mark.numeric


def test_the_losses_and_the_metrics_are_the_same_costs():
    generator = np.random.default_rng(0)
    y, s = generator.integers(0, 4, 80) * 1.0, generator.normal(size=80)
    for n, hinge in ((1, Hinge(margin=0.0)), (2, SquaredHinge(margin=0.0))):
        value = bind(hinge, Levels.build(y)).at(s)[0]
        assert hinge_rank_cost(y, s, n=n) == pytest.approx(2.0 * value / 80**2, rel=1e-13)
        value = bind(Tube(0.2, n), Differences.build(y)).at(s)[0]
        assert tube_cost(y, s, epsilon=0.2, n=n) == pytest.approx(2.0 * value / 80, rel=1e-13)
    assert tube_cost(y, s, epsilon=0.0, n=1) == pytest.approx(m1d(y, s), rel=1e-13)
    assert tube_cost(y, s, epsilon=0.0, n=2) == pytest.approx(msd(y, s), rel=1e-13)
