"""RankSVM as its users meet it: optimum, inputs, weights, warnings, model files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pairrank import RankSVM

pytestmark = pytest.mark.numeric


def test_an_interrupt_within_the_sample_is_the_fit_s(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150_000, 3))
    y = (X[:, 0] + rng.normal(size=150_000) > 0).astype(float)

    def interrupt(self, w):
        raise KeyboardInterrupt

    monkeypatch.setattr("pairrank.objective.SampledModel.matrix", interrupt)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fitted = RankSVM().fit(X, y)
    assert fitted.status_ == "interrupted"
    assert fitted.objective_ == pytest.approx(150_000)  # every pair at w = 0, normalised by rows
