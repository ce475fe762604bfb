"""Features of any size, or of none, and seeds that are none: what every descent must bear."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.design import Design

pytestmark = pytest.mark.numeric


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, np.round(X[:, 0] + rng.normal(size=300))


@pytest.mark.parametrize("size", [1e-30, 1e25])
def test_sums_of_squares_are_those_of_float64(size, rows):
    X = (size * rows[0]).astype(np.float32)
    wanted = np.square(X.astype(np.float64)).T @ np.ones(300)
    np.testing.assert_allclose(Design(X).squares_transposed(np.ones(300)), wanted, rtol=1e-12)
