"""A reservoir is a uniform sample of earlier rows, whose pairs count for all of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pairrank import RankSVM


@pytest.mark.parametrize("graph", ["full", "chain"])
def test_batches_of_one_label_each_learn_from_the_reservoir(graph):
    rng = np.random.default_rng(1)
    y = np.repeat([0.0, 1.0, 2.0], 40)
    X = np.column_stack((y + rng.normal(size=120), rng.normal(size=120)))
    ranker = RankSVM(graph=graph)
    for start in range(0, 120, 20):
        part = slice(start, start + 20)
        ranker.partial_fit(X[part], y[part], classes=[0, 1, 2], reservoir=30)
    assert ranker.coef_[0] > 3 * abs(ranker.coef_[1])
    assert ranker.n_steps_ == 10 * 80


def test_batches_may_be_dense_or_sparse():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40).astype(float)
    dense, sparse_rows = np.asarray, sparse.csr_matrix
    found = []
    for first, second in ((dense, dense), (dense, sparse_rows), (sparse_rows, dense)):
        ranker = RankSVM()
        ranker.partial_fit(first(X[:20]), y[:20], reservoir=8)
        ranker.partial_fit(second(X[20:]), y[20:], reservoir=8)
        found.append(ranker.coef_)
    for coef in found[1:]:
        np.testing.assert_allclose(coef, found[0], rtol=1e-9)
