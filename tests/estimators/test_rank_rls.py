"""RankRLS as its users meet it: optimum, solvers, targets, kernels, inputs, model files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pairrank import RankRLS
from pairrank.exceptions import PairrankError

pytestmark = pytest.mark.numeric


def test_a_factorisation_that_solves_nothing_gives_way_to_iterations(monkeypatch):
    solves_nothing = "pairrank.estimators._differences.dual_inverse"
    monkeypatch.setattr(solves_nothing, lambda matrix, penalty: np.zeros_like)
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.choice([0.0, 1.0], size=(10, 40)))
    y, qid = rng.integers(0, 3, 10), np.repeat([0, 1], 5)
    held = {"X_val": X, "y_val": y}
    iterated = RankRLS(1e-3, solver="cg").fit(X, y, qid=qid, **held)
    chosen = RankRLS(1e-3).fit(X, y, qid=qid, **held)
    assert chosen.n_iter_ == iterated.n_iter_ > 1
    np.testing.assert_array_equal(chosen.coef_, iterated.coef_)
    np.testing.assert_array_equal(chosen.validation_scores_, iterated.validation_scores_)
    with pytest.raises(PairrankError, match="singular at this precision"):
        RankRLS(1e-3, solver="direct").fit(X, y, qid=qid)
