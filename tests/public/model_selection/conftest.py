"""Rows of ten queries, for tests of paths and searches."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def judged():
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(10), 20))
    X = rng.normal(size=(qid.size, 5)) * [1.0, 1.0, 1.0, 10.0, 0.1]
    y = np.clip(np.rint(1.5 * X[:, 0] + X[:, 1] + rng.normal(size=qid.size) + 1), 0, 4)
    return X, y, qid
