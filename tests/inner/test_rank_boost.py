"""RankBoost's bins, rounds and files: against numpy, a list of pairs and every threshold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from loss_table import pairs_of, weights_of
from pairrank import RankBoost
from pairrank.compiled.weak_rankings import write_codes
from pairrank.estimators._rows import Watch
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.preferences import Levels
from pairrank.rank_boost import binning
from pairrank.rank_boost.binning import encode
from pairrank.rank_boost.rankings import Columns
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
    layout = {
        "qid": problem.qid, "sample_weight": problem.weight,
        "winner_weight": problem.winner, "loser_weight": problem.loser,
    }  # fmt: skip
    winner, loser = (np.ones(len(X)) if side is None else side for side in weights_of(problem))
    listed = pairs_of(problem)
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


def test_large_margins_of_rows_that_weigh_nothing_as_losers_are_ignored():
    # Row 2 never loses; its score of 1e3 must not scale the sums of the other losers to 0.
    from pairrank.losses import Exponential
    from pairrank.pair_sums import bind

    y = np.array([0.0, 1.0, 0.0])
    loser = np.array([1.0, 1.0, 0.0])
    levels = Levels.build(y, loser_weight=loser)
    found = bind(Exponential(), levels).at(np.array([0.0, 1.0, 1e3]))
    assert found.value == pytest.approx(math.exp(-1.0), rel=1e-14)
    with pytest.raises(NoPairsError):
        RankBoost().fit([[0.0], [1.0], [2.0]], y, loser_weight=np.zeros(3))


@given(
    cuts=st.lists(st.floats(allow_nan=False, allow_infinity=False), unique=True),
    values=st.lists(st.floats(allow_infinity=False)),
    dtype=st.sampled_from((np.float32, np.float64)),
)
def test_codes_count_the_thresholds_below_a_value(cuts, values, dtype):
    cuts = np.sort(np.array(cuts, dtype=np.float64))
    with np.errstate(over="ignore"):
        values = np.array([*values, *cuts, *np.nextafter(cuts, np.inf)]).astype(dtype)
    values = values[~np.isinf(values)]
    found = np.empty(values.size, dtype=np.uint32)
    write_codes(values, cuts, 999, found)
    wanted = np.searchsorted(cuts, values.astype(np.float64))
    np.testing.assert_array_equal(found, np.where(np.isnan(values), 999, wanted))


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
        for feature in range(2):
            parts = (
                each.cuts[each.cut_start[feature] : each.cut_start[feature + 1]]
                for each in (codes, plain)
            )
            if np.isnan(X[:, feature]).any() == np.isnan(repeated[:, feature]).any():
                np.testing.assert_array_equal(*parts)
            counted, n = weight > 0, codes.n_values[feature]
            assert n <= n_bins
            of_rows = codes.of_feature(feature)[counted]
            np.testing.assert_array_equal(of_rows == n, np.isnan(X[counted, feature]))


def test_bins_are_quantiles():
    X = np.random.default_rng(0).permutation(1000.0 * np.arange(100) ** 2)[:, np.newaxis]
    codes = encode(X, None, 10)
    assert np.bincount(codes.of_feature(0)).tolist() == [10] * 10
    ordered = np.sort(X[:, 0])
    np.testing.assert_array_equal(codes.cuts, (ordered[9:99:10] + ordered[10:100:10]) / 2)


def rows(n_rows=300, n_features=4, seed=0, gaps=0.0):
    """Return X, labels of three levels that follow two of the features, and queries."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features))
    noise = 0.3 * generator.normal(size=n_rows)
    y = np.digitize(X[:, 0] + (X[:, 1] > 0.5) + noise, [-0.5, 0.5])
    X[generator.random(X.shape) < gaps] = np.nan
    return X, y, generator.integers(0, 6, n_rows)


def test_missing_values_take_one_of_256_codes():
    X = np.arange(1000.0)[:, np.newaxis]
    assert binning.encode(X, None, 256).n_values[0] == 256
    X[0] = np.nan
    codes = binning.encode(X, None, 256)
    assert (codes.codes.dtype, codes.n_values[0], codes.codes[0, 0]) == (np.uint8, 255, 255)
    exact = binning.encode(X, None, None)
    assert (exact.codes.dtype, exact.n_values[0]) == (np.uint16, 999)


@pytest.mark.parametrize("most_exact", [16, 1000])
def test_weights_count_as_repetitions(most_exact, monkeypatch):
    monkeypatch.setattr("pairrank.estimators.rank_boost.MOST_EXACT_ROWS", most_exact)
    monkeypatch.setattr("pairrank.estimators.rank_boost.MOST_BINS", 7)
    X, y, _ = rows(80, gaps=0.1)
    weight = np.random.default_rng(0).integers(0, 4, 80)
    again = np.repeat(np.arange(80), weight)
    weighed = RankBoost(10).fit(X, y, sample_weight=weight)
    repeated = RankBoost(10).fit(X[again], y[again])
    np.testing.assert_allclose(weighed.predict(X), repeated.predict(X), rtol=1e-10)
    np.testing.assert_array_equal(weighed.rankings_.thresholds, repeated.rankings_.thresholds)


@pytest.mark.parametrize("place", ["scores", "metric"])
def test_an_interrupt_within_a_round_drops_that_round(place, monkeypatch):
    X, y, _ = rows(60)
    calls = []

    def interrupts(own):
        def call(*args):
            calls.append(args)
            if len(calls) == 4:
                raise KeyboardInterrupt
            return own(*args)

        return call

    if place == "scores":
        monkeypatch.setattr(Columns, "__getitem__", interrupts(Columns.__getitem__))
    else:
        monkeypatch.setattr(Watch, "__call__", interrupts(Watch.__call__))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        ranker = RankBoost(10).fit(X, y, X_val=X, y_val=y)
    n_rounds = 3 if place == "scores" else 2  # the metric is also asked before the first round
    assert ranker.n_iter_ == ranker.n_estimators_ == len(ranker.history_) == n_rounds
    assert ranker.train_score_.size == ranker.validation_scores_.size == n_rounds + 1
    plain = RankBoost(n_rounds).fit(X, y)
    np.testing.assert_array_equal(ranker.predict(X), plain.predict(X))
