"""Features of any size, or of none, and seeds that are none: what every descent must bear."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import MPRank, RankNCG, RankRLS, RankSVM, SVRank
from pairrank.exceptions import PairrankError, ZeroWeightsWarning

pytestmark = pytest.mark.numeric

RANKERS = {
    "ranksvm": RankSVM(),
    "tron": RankSVM(solver="tron"),
    "auto": RankNCG(),
    "ncg": RankNCG(solver="ncg"),
    "newton": RankNCG(solver="tron"),
    "raykar": RankNCG(loss="raykar"),
}

OF_DIFFERENCES = [RankRLS(), MPRank(), MPRank(n=1), SVRank(), SVRank(n=2)]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, np.round(X[:, 0] + rng.normal(size=300))


@pytest.mark.parametrize("ranker", [*RANKERS.values(), *OF_DIFFERENCES], ids=str)
@pytest.mark.parametrize("size", [0.0, np.float32(0.1), 3.3, 1e7])
def test_features_without_a_difference_leave_the_weights_at_zero(ranker, size, rows):
    X = np.full((300, 3), size)
    for labels in (rows[1], rows[1] + 0.1 * rows[0][:, 1]):
        with pytest.warns(ZeroWeightsWarning, match="features are equal within queries"):
            ranker.fit(X, labels, qid=np.arange(300) % 3)
        assert ranker.status_ in ("converged", "gap_closed")
        assert ranker.n_iter_ <= 1
        assert not ranker.coef_.any()


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("size", [1e-30, 1e-10, 1e10, 1e20])
def test_features_of_float32_may_have_squares_beyond_it(name, size, rows):
    X = (size * rows[0]).astype(np.float32)
    ranker = RANKERS[name].fit(X, rows[1])
    assert ranker.status_ == "converged"
    assert ranker.coef_[0] > 5.0 * np.abs(ranker.coef_[1:]).max()


@pytest.mark.parametrize("name", ["ranksvm", "auto", "ncg", "raykar"])
@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_features_of_float64_may_be_far_from_one(name, size, rows):
    X = size * rows[0]
    ranker = RANKERS[name].fit(X, rows[1])
    assert ranker.status_ == "converged"
    assert ranker.score(X, rows[1]) > 0.7


@pytest.mark.parametrize("ranker", [RankSVM(), RankNCG(), RankRLS(regularization="iteration")])
@pytest.mark.parametrize("seed", ["a", -1, 0.5])
def test_a_seed_that_is_none_is_refused_by_name(ranker, seed, rows):
    with pytest.raises(PairrankError, match=r"random_state must be (a whole number|at least 0)"):
        ranker.set_params(random_state=seed).fit(*rows)
