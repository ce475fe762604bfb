"""The ranking table: order, text, frames; intervals of ranks by their definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pairrank import BradleyTerry
from pairrank.ratings import Ranking
from pairrank.ratings.ranking import quantile, rank_intervals
from ratings_definition import arguments, make_votes


@pytest.fixture(scope="module")
def model():
    return BradleyTerry(level=0.9).fit(**arguments(make_votes(30)))


def test_the_columns_are_those_of_the_estimator(model):
    ranking = model.ranking_
    assert list(ranking) == [
        *("item", "score", "standard_error", "low", "high", "rank_low", "rank_high", "n"),
    ]
    assert len(ranking) == 5
    order = np.argsort(-model.scores_)
    np.testing.assert_array_equal(ranking["item"], order)
    np.testing.assert_array_equal(ranking["score"], model.scores_[order])
    margin = stats.norm.ppf(0.95) * model.standard_errors_[order]
    np.testing.assert_allclose(ranking["high"] - ranking["score"], margin)
    np.testing.assert_allclose(ranking["score"] - ranking["low"], margin)
    votes = make_votes(30)
    both = np.concatenate((votes.winner, votes.loser))
    counts = np.bincount(both, np.tile(votes.weight, 2))
    np.testing.assert_allclose(ranking["n"], counts[order])
    with pytest.raises(KeyError, match="no column 'rank'; the columns are item, score"):
        ranking["rank"]


def test_frames_hold_the_same_columns(model):
    for frame in (model.ranking_.to_pandas(), model.ranking_.to_polars()):
        assert list(frame.columns) == list(model.ranking_)
        for name in model.ranking_:
            np.testing.assert_array_equal(frame[name].to_numpy(), model.ranking_[name])
    assert isinstance(model.ranking_.to_pandas(), pd.DataFrame)
    assert isinstance(model.ranking_.to_polars(), pl.DataFrame)
    names = np.empty(2, dtype=object)
    names[:] = [("a", 1), "b"]
    assert Ranking({"item": names}).to_polars().shape == (2, 1)
    assert dict(model.ranking_).keys() == model.ranking_.columns.keys()


def test_it_prints_a_table():
    scores = np.linspace(2.0, -2.0, 25)
    names = np.array([f"<{each}>" for each in range(25)])
    ranking = Ranking({"item": names, "score": scores, "n": np.full(25, 12345)})
    lines = repr(ranking).splitlines()
    assert len(lines) == 22
    assert lines[0].split() == ["item", "score", "n"]
    assert lines[1].split() == ["<0>", "2.000", "12,345"]
    assert lines[-1] == "and 5 more items"
    assert len({len(line) for line in lines[:-1]}) == 1
    page = ranking._repr_html_()
    assert page.count("<tr>") == 21
    assert "&lt;0&gt;" in page
    assert "<0>" not in page
    numbers = Ranking({"item": np.array([2771]), "score": np.array([1523.25])})
    assert str(numbers).splitlines()[1].split() == ["2771", "1,523.2"]


@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.floats(0.5, 0.99))
def test_ranks_follow_simultaneous_intervals_of_differences(seed, n_items, level):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n_items)
    root = rng.normal(size=(n_items, n_items)) * rng.choice([0.01, 0.1, 1.0])
    covariance = root @ root.T
    low, high = rank_intervals(scores, covariance, level)
    z = stats.norm.isf((1 - level) / 2 / (n_items - 1))
    for i in range(n_items):
        better = worse = 0
        for j in range(n_items):
            contrast = np.zeros(n_items)
            contrast[j] += 1.0
            contrast[i] -= 1.0
            margin = z * np.sqrt(max(contrast @ covariance @ contrast, 0.0))
            better += i != j and scores[j] - scores[i] > margin
            worse += i != j and scores[i] - scores[j] > margin
        assert (low[i], high[i]) == (1 + better, n_items - worse)


def test_quantiles_are_those_of_the_normal_and_of_students_distribution():
    np.testing.assert_allclose(quantile(0.95), stats.norm.ppf(0.975), rtol=1e-14)
    np.testing.assert_allclose(quantile(0.9, 7), stats.norm.isf(0.05 / 7), rtol=1e-12)
    np.testing.assert_allclose(quantile(0.9, 7, 11.0), stats.t.isf(0.05 / 7, 11), rtol=1e-10)


def test_few_groups_widen_the_intervals():
    votes = make_votes(31)
    group = np.arange(votes.winner.size) % 6
    model = BradleyTerry().fit(**arguments(votes), groups=group)
    assert model.degrees_of_freedom_ == 5.0
    found, margin = model.contrast(0, 1), stats.t.isf(0.025, 5)
    np.testing.assert_allclose(found.high - found.difference, margin * found.standard_error)
    ranking = model.ranking_
    wanted = margin * ranking["standard_error"]
    np.testing.assert_allclose(ranking["high"] - ranking["score"], wanted)
    low, high = rank_intervals(model.scores_, model.covariance_, 0.95, 5.0)
    order = np.argsort(-model.scores_)
    np.testing.assert_array_equal(ranking["rank_low"], low[order])
    np.testing.assert_array_equal(ranking["rank_high"], high[order])
    dyadic = BradleyTerry(covariance="dyadic").fit(**arguments(votes))
    pairs = np.unique(np.sort(np.column_stack((votes.winner, votes.loser))), axis=0)
    assert dyadic.degrees_of_freedom_ == len(pairs) - 1


def test_a_rounded_zero_has_no_sign():
    ranking = Ranking({"item": np.array(["a", "b"]), "score": np.array([1.0, -1e-7])})
    assert ranking.cells() == [["a", "1.000"], ["b", "0.000"]]
