"""Memory of fits: what is of no more use is released; bytes per row of large fits."""

import gc
import tracemalloc

import numpy as np
import pytest

from pairrank import RankSVM, SVRank

_ROWS = 1_000_000
_USED_BY_PYTHON = 2_000_000
"""Bytes of objects whose number does not depend on the rows, such as the history."""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((_ROWS, 4), dtype=np.float32)
    utility = X.sum(axis=1) + rng.standard_normal(_ROWS)
    return X, np.digitize(utility, [-1.0, 1.0])


_SORTED = 8 + 4 + 3 * 8 + 8
"""Sorted scores and their rows, the lines of a merge, and the gradient in sorted order."""
_SCORES = 8 + 8 + 8
"""Scores of the best weights and of a trial, and the gradient by the scores."""
_LAYOUT, _CODES, _POSITIONS = 4, 4, 4
"""Levels' rows, the levels of the cells, and at most one position per row of two levels."""
_DIFFERENCES = 8 + 8
"""Labels less the first one, and the residuals of a trial."""


@pytest.mark.parametrize(
    ("ranker", "bytes_per_row"),
    [
        (
            RankSVM(loss="hinge", tol=0.01, pair_sum="sorted"),
            _SORTED + _SCORES + _LAYOUT + _POSITIONS,
        ),
        (
            SVRank(n=1, tol=0.01),
            _SORTED + _SCORES + _LAYOUT + _CODES + 2 * _POSITIONS + _DIFFERENCES,
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
