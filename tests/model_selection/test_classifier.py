"""PairwiseClassifier: a classifier to scikit-learn, calibrated on rows that were left out."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.model_selection.score_map import ScoreMap


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("power", [-20, -400, -900])
def test_probabilities_do_not_depend_on_the_unit_of_small_scores(method, power):
    generator = np.random.default_rng(0)
    scores = generator.uniform(-1.0, 1.0, 200)
    codes = (scores + generator.normal(size=200) > 0).astype(float)
    wanted = ScoreMap.fit(scores, codes, None, method)(scores)
    small = np.ldexp(scores, power)
    found = ScoreMap.fit(small, codes, None, method)(small)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert np.ptp(found) > 0.2
