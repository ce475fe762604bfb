"""Memory of fits: what is of no more use is released; bytes per row of large fits."""

import gc
import tracemalloc

import numpy as np
import pytest

from pairrank import RankSVM, SVRank

_ROWS = 400_000
_USED_BY_PYTHON = 2_000_000
"""Bytes of objects whose number does not depend on the rows, such as the history."""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((_ROWS, 4), dtype=np.float32)
    utility = X.sum(axis=1) + rng.standard_normal(_ROWS)
    return X, np.digitize(utility, [-1.0, 1.0])


_SUMS = 8 + 8 + 2 * 8 + 8
"""Scores in the layout, weights, the sums of winners and of losers, and the gradient."""
_MERGED = 4 + 4 + 2 * 8 + 8
"""Of each row of a merge: its place and position, its score and weight, two sums of its half."""
_SCORES = 8 + 8 + 8
"""Scores of the best weights and of a trial, and the gradient by the scores."""
_LAYOUT = 4 + 8
"""Levels' rows, and labels in float64."""
_DIFFERENCES = 8 + 8
"""Labels less the first one, and the residuals of a trial."""


@pytest.mark.parametrize(
    ("ranker", "bytes_per_row"),
    [
        (
            RankSVM(loss="hinge", tol=0.01, pair_sum="sorted"),
            _SUMS + _MERGED + _SCORES + _LAYOUT,
        ),
        (
            SVRank(n=1, tol=0.01),
            _SUMS + 2 * _MERGED + _SCORES + _LAYOUT + _DIFFERENCES,
        ),
    ],
    ids=["hinge", "tube"],
)
def test_a_fit_keeps_to_its_bytes_per_row(rows, ranker, bytes_per_row):
    ranker.fit(*rows)  # compiles and imports
    gc.collect()
    tracemalloc.start()
    try:
        ranker.fit(*rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= bytes_per_row * _ROWS + _USED_BY_PYTHON
