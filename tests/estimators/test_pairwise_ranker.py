"""PairwiseRanker: any loss by name or as an object, solved to the optimum of every pair."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pairrank import PairwiseRanker
from pairrank.solvers import bundle


@pytest.mark.parametrize("steepest", [bundle._STEEPEST, np.inf])
def test_one_very_steep_plane_holds_up_no_descent(steepest, monkeypatch):
    monkeypatch.setattr(bundle, "_STEEPEST", steepest)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.digitize(X[:, 0] + X[:, 1], [-1, 1])
    ranker = PairwiseRanker("exponential", solver="bundle", max_iter=40)
    if steepest == np.inf:
        with pytest.warns(ConvergenceWarning):
            ranker.fit(X, y)
        return
    least = PairwiseRanker("exponential", tol=1e-8).fit(X, y).objective_
    assert ranker.fit(X, y).status_ == "gap_closed"
    assert least * (1 - 1e-9) <= ranker.objective_ <= least * (1 + ranker.tol)
