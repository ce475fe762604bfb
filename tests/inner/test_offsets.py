"""Features far from zero: the answer is that of their differences, or a warning says so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pairrank.design import without_offset
from pairrank.exceptions import PairrankWarning
from pairrank.preferences import Differences, Levels


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.digitize(X @ rng.normal(size=4) + rng.normal(size=300), [-1.0, 1.0]).astype(float)
    return X, y, np.repeat(np.arange(10), 30)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_differences_within_queries_are_kept_to_the_bit(dtype, rows):
    X, y, qid = rows
    order = np.random.default_rng(0).permutation(300)
    far, y, qid = (X + 1e6 * (qid + 1.0)[:, None]).astype(dtype)[order], y[order], qid[order]
    weight = np.ones(300)
    weight[::7] = 0.0
    levels = Levels.build(y, qid, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        for preferences in (levels, Differences.build(y, qid)):
            near = without_offset(far, preferences)
            assert near.dtype == dtype
            for query in range(10):
                kept = (qid == query) & (weight > 0)
                gaps = (near[kept] - near[kept][:1]).astype(float)
                np.testing.assert_array_equal(gaps, (far[kept] - far[kept][:1]).astype(float))
                assert np.abs(near[kept]).max() < 20
