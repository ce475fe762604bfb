"""Sandwich covariances of arrays: against loops over pairs of comparisons, and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank.estimators.covariance import (
    flat_directions,
)

pytestmark = pytest.mark.numeric


@given(seed=st.integers(0, 1000), n_flat=st.integers(0, 3), spread=st.floats(0, 2))
def test_flat_directions_are_found_whatever_the_units_of_features(seed, n_flat, spread):
    """Units differ by 1e4 at most, so that 1e-16 of a direction is 1e-12 of its scores."""
    rng = np.random.default_rng(seed)
    units = 10.0 ** (spread * rng.uniform(-1, 1, 6))
    X = rng.normal(size=(50, 6))
    X[:, 6 - n_flat :] = X[:, : 6 - n_flat] @ rng.normal(size=(6 - n_flat, n_flat))
    X /= units
    flat = flat_directions(X.T @ X)
    assert flat.shape == (n_flat, 6)
    np.testing.assert_allclose(flat @ flat.T, np.eye(n_flat), atol=1e-12)
    sizes = np.abs(flat) @ np.abs(X).T
    assert (np.abs(flat @ X.T) <= 1e-6 * sizes.max(axis=1, initial=0.0, keepdims=True)).all()
