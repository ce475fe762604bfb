"""RankBoost's bins, rounds and files: against numpy, a list of pairs and every threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from loss_table import pairs_of, weights_of
from pairrank import RankBoost
from pairrank.exceptions import PairrankError
from pairrank.rank_boost.binning import encode
from rank_boost_definition import KINDS, N_ROUNDS, assert_rounds, features, pair_list
from strategies import problems_with_roles
from sum_table import levels_of, scale_of_rows

pytestmark = [pytest.mark.numeric, pytest.mark.filterwarnings("ignore::UserWarning")]


@given(
    problem=problems_with_roles(max_rows=25),
    kind=st.sampled_from(KINDS),
    reduction=st.sampled_from(("auto", "query")),
)
def test_rounds_equal_the_pair_list(problem, kind, reduction):
    generator = np.random.default_rng(problem.y.size)
    X = features(kind, problem.y.size, generator)
    ranker = RankBoost(N_ROUNDS, graph=problem.graph, reduction=reduction)
    winner, loser = weights_of(problem)
    listed, layout = pairs_of(problem), problem.aligned
    kept = np.flatnonzero((winner > 0) | (loser > 0)).tolist()
    if not any(winner[i] * loser[j] > 0 for i, j in listed):
        with pytest.raises(PairrankError):
            ranker.fit(X, problem.y, **layout)
        return
    scale = scale_of_rows(levels_of(problem, reduction))
    pairs = pair_list(listed, winner, loser, lambda i: scale[i])
    ranker.fit(X, problem.y, **layout)
    assert_rounds(ranker, X, kept, pairs)
    by_entry = RankBoost(**ranker.get_params()).fit(sparse.csr_array(X), problem.y, **layout)
    np.testing.assert_allclose(by_entry.train_score_[:2], ranker.train_score_[:2], rtol=1e-9)
    np.testing.assert_array_equal(
        by_entry.predict(sparse.csr_array(X)), by_entry.predict(X), strict=True
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 60),
    n_values=st.integers(1, 80),
    n_bins=st.integers(2, 12),
    gaps=st.booleans(),
)
def test_weights_and_sparse_rows_give_the_bins_of_repeated_rows(
    seed, n_rows, n_values, n_bins, gaps
):
    generator = np.random.default_rng(seed)
    X = generator.integers(-2, n_values, (n_rows, 2)).astype(np.float64)
    if gaps:
        X[generator.random(X.shape) < 0.3] = np.nan
    weight = generator.integers(0, 4, n_rows).astype(np.float64)
    repeated = X[np.repeat(np.arange(n_rows), weight.astype(int))]
    plain = encode(repeated, None, n_bins)
    for form in (np.asarray, sparse.csr_array):
        codes = encode(form(X), weight, n_bins)
        for feature, column in enumerate(X.T):
            at = slice(feature, feature + 2)
            ours, wanted = (np.split(each.cuts, each.cut_start[at])[1] for each in (codes, plain))
            if np.isnan(column).any() == np.isnan(repeated[:, feature]).any():
                np.testing.assert_array_equal(ours, wanted)
            counted, n = weight > 0, codes.n_values[feature]
            assert n <= n_bins
            of_rows = codes.of_feature(feature)[counted]
            np.testing.assert_array_equal(of_rows == n, np.isnan(column[counted]))
