"""Memory of fits: what is of no more use is released; bytes per row of large fits."""

import gc
import tracemalloc

import numpy as np
import pytest

from pairrank import RankSVM, SVRank

ROWS, USED_BY_PYTHON = 400_000, 2_000_000
"""The second: bytes of objects whose number does not depend on the rows, such as the history."""

# Scores in the layout, weights, sums of winners and losers, gradient; scores of the best weights
# and of a trial, and the gradient by the scores; levels' rows, and labels in float64.
KEPT = (8 + 8 + 2 * 8 + 8) + (8 + 8 + 8) + (4 + 8)
# Of each row of a merge: its place and position, its score and weight, two sums of its half.
MERGED = 4 + 4 + 2 * 8 + 8
# Labels less the first one, and the residuals of a trial.
DIFFERENCES = 8 + 8


@pytest.mark.parametrize(
    ("ranker", "bytes_per_row"),
    [
        (RankSVM(loss="hinge", tol=0.01, pair_sum="sorted"), KEPT + MERGED),
        (SVRank(n=1, tol=0.01), KEPT + 2 * MERGED + DIFFERENCES),
    ],
    ids=["hinge", "tube"],
)
def test_a_fit_keeps_to_its_bytes_per_row(ranker, bytes_per_row):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 4), dtype=np.float32)
    y = np.digitize(X.sum(axis=1) + rng.standard_normal(ROWS), [-1.0, 1.0])
    ranker.fit(X, y)  # compiles and imports
    gc.collect()
    tracemalloc.start()
    try:
        ranker.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= bytes_per_row * ROWS + USED_BY_PYTHON
