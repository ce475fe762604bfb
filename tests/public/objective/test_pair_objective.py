"""Problems as objectives: gradients, Hessians, rounding, and the diagonal preconditioner."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from pairrank import MPRank, RankRLS, SVRank
from pairrank.exceptions import ZeroWeightsWarning

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize(
    "ranker", [RankRLS(), MPRank(), MPRank(n=1), SVRank(), SVRank(n=2)], ids=str
)
@pytest.mark.parametrize("value", [0.1, 1.0, 3.3, 1e3, 1e6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_features_have_no_weight(dtype, value, ranker):
    rng = np.random.default_rng(0)
    for labels in (np.arange(2000) % 4, rng.normal(size=2000)):
        with pytest.warns(ZeroWeightsWarning, match="features are equal within queries"):
            ranker.fit(np.full((2000, 3), value, dtype), labels, qid=np.arange(2000) % 3)
        assert ranker.status_ in ("converged", "gap_closed")
        assert not ranker.coef_.any()


def test_what_differs_little_teaches_all_the_same():
    rng = np.random.default_rng(0)
    X, y = 1e9 + np.round(rng.normal(size=(3000, 1)), 3), rng.normal(size=3000)
    for ranker in (RankRLS(1.0), MPRank(1e3), SVRank(1e3, n=2)):
        wanted = clone(ranker).fit(X - 1e9, y)
        np.testing.assert_allclose(ranker.fit(X, y).coef_, wanted.coef_, rtol=1e-3)
