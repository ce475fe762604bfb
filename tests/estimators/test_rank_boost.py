"""RankBoost as an estimator: scikit-learn, early stopping, bins, files, callbacks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from pairrank import RankBoost, load_model
from pairrank.estimators._rows import Watch
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.rank_boost import binning
from pairrank.rank_boost.rankings import Columns


def rows(n_rows=300, n_features=4, seed=0, gaps=0.0):
    """Return X, labels of three levels that follow two of the features, and queries."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features))
    noise = 0.3 * generator.normal(size=n_rows)
    y = np.digitize(X[:, 0] + (X[:, 1] > 0.5) + noise, [-0.5, 0.5])
    X[generator.random(X.shape) < gaps] = np.nan
    return X, y, generator.integers(0, 6, n_rows)


def test_bins_hold_about_equally_many_rows_and_keep_few_values_exact():
    X = rows(1000)[0]
    X[:, 3] = np.round(X[:, 3])
    codes = binning.encode(X, None, 10)
    assert codes.codes.dtype == np.uint8
    counts = np.bincount(codes.of_feature(0))
    assert counts.tolist() == [100] * 10
    few = np.unique(X[:, 3])
    assert codes.n_values[3] == few.size
    for feature in range(4):
        cuts = codes.cuts[codes.cut_start[feature] : codes.cut_start[feature + 1]]
        for code, cut in enumerate(cuts):
            np.testing.assert_array_equal(codes.of_feature(feature) > code, X[:, feature] > cut)


def test_missing_values_take_one_of_256_codes():
    X = np.arange(1000.0)[:, np.newaxis]
    assert binning.encode(X, None, 256).n_values[0] == 256
    X[0] = np.nan
    codes = binning.encode(X, None, 256)
    assert (codes.codes.dtype, codes.n_values[0], codes.codes[0, 0]) == (np.uint8, 255, 255)
    exact = binning.encode(X, None, None)
    assert (exact.codes.dtype, exact.n_values[0]) == (np.uint16, 999)


def test_bins_of_sparse_rows_count_their_zeros():
    X = np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])[:, np.newaxis]
    dense = binning.encode(X, None, 10)
    other = binning.encode(sparse.csr_array(X), None, 10)
    np.testing.assert_array_equal(dense.cuts, other.cuts)
    np.testing.assert_array_equal(dense.of_feature(0), other.of_feature(0))
    assert dense.cuts.tolist() == [0.5]


def test_rows_beyond_the_exact_are_binned(monkeypatch):
    X, y, _ = rows(700)
    exact = RankBoost(3).fit(X, y)
    monkeypatch.setattr("pairrank.estimators.rank_boost.MOST_EXACT_ROWS", 600)
    binned = RankBoost(3).fit(X, y)
    assert not np.isin(binned.rankings_.thresholds, exact.rankings_.thresholds).all()


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


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("features", 0, 9, "feature that is out of range"),
        ("features", 0, -1, "feature that is out of range"),
        ("alphas", 0, np.inf, "alphas holds inf"),
        ("thresholds", 0, np.inf, "threshold of its weak rankings is infinite"),
        ("thresholds", 0, np.nan, "thresholds holds nan"),
    ],
)
def test_damaged_model_files_are_refused(name, place, value, message, tmp_path):
    from pairrank.estimators.model_files import record_of
    from pairrank.io.model_file import write_model

    X, y, _ = rows(60)
    record = record_of(RankBoost(5).fit(X, y))
    record.arrays[f"rankings_{name}"] = record.arrays[f"rankings_{name}"].copy()
    record.arrays[f"rankings_{name}"][place] = value
    write_model(tmp_path / "m", record)
    with pytest.raises(FileFormatError, match=message):
        load_model(tmp_path / "m")
    del record.arrays[f"rankings_{name}"]
    write_model(tmp_path / "m", record)
    with pytest.raises(FileFormatError, match=f"the {name} of its weak rankings are missing"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be at least 1"),
        ({"patience": 0.5}, "patience must be a whole number"),
        ({"early_stopping": "no"}, "early_stopping must be one of False, True"),
        ({"validation_fraction": 1.0}, "validation_fraction must be below 1"),
        ({"validation_metric": "auc@"}, "auc@"),
        ({"graph": "ful"}, "graph must be"),
    ],
)
def test_wrong_parameters_are_refused(params, message):
    with pytest.raises(PairrankError, match=message):
        RankBoost(**params).fit([[0.0], [1.0]], [0, 1])


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
