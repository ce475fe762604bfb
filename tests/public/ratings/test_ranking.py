"""The ranking table: order, text, frames; intervals of ranks by their definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from pairrank import BradleyTerry
from pairrank.ratings import Ranking
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
    for frame in (model.ranking_.to_pandas(), pl.DataFrame(dict(model.ranking_))):
        assert list(frame.columns) == list(model.ranking_)
        for name in model.ranking_:
            np.testing.assert_array_equal(frame[name].to_numpy(), model.ranking_[name])
    assert isinstance(model.ranking_.to_pandas(), pd.DataFrame)
    assert dict(model.ranking_).keys() == model.ranking_.columns.keys()


def test_it_prints_a_table():
    scores = np.linspace(2.0, -2.0, 25)
    names = np.array([f"<{each}>" for each in range(25)])
    ranking = Ranking({"item": names, "score": scores, "n": np.full(25, 12345)})
    shown = Ranking({name: column[:20] for name, column in dict(ranking).items()})
    assert "more items" not in repr(shown)
    lines = repr(ranking).splitlines()
    assert len(lines) == 22
    assert lines[0].split() == ["item", "score", "n"]
    assert lines[1].split() == ["<0>", "2.000", "12,345"]
    assert lines[-1] == "and 5 more items"
    assert len({len(line) for line in lines[:-1]}) == 1
    numbers = Ranking({"item": np.array([2771]), "score": np.array([1523.25])})
    assert str(numbers).splitlines()[1].split() == ["2771", "1,523.2"]


def test_a_rounded_zero_has_no_sign():
    ranking = Ranking({"item": np.array(["a", "b"]), "score": np.array([1.0, -1e-7])})
    assert ranking.cells() == [["a", "1.000"], ["b", "0.000"]]
