"""Rows of four levels in twelve queries, and a Ctrl-C, for tests of several rankers."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = np.digitize(X @ [2, -1, 0.5, 0, 0] + rng.normal(size=300), [-1, 0.5, 2]).astype(float)
    return X, y, rng.integers(0, 12, 300)


@pytest.fixture
def interrupt_at():
    """Return a function that makes callbacks with a Ctrl-C at an iteration."""

    def callback_at(n_iter):
        def callback(step):
            if step.n_iter == n_iter:
                raise KeyboardInterrupt

        return callback

    return callback_at
