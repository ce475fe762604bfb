"""BradleyTerry: names and covariates of many kinds, parts, covariances, the ranking table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

from pairrank import BradleyTerry, Pairs
from pairrank.exceptions import PairrankError
from pairrank.ratings import Ranking
from ratings_definition import TIES, arguments, make_votes


@pytest.mark.parametrize(
    "column",
    [
        lambda names: pl.Series(names).cast(pl.Enum(["unused", "a", "b", "c"])),
        lambda names: pl.Series(["unused", *names]).cast(pl.Categorical)[1:],
        lambda names: pa.array(["unused", *names]).dictionary_encode()[1:],
        lambda names: pd.Series(["unused", *names], dtype="category")[1:],
        lambda names: pl.DataFrame({"name": names}),
        lambda names: pl.Series(names, dtype=pl.Object),
        lambda names: [np.str_(name) for name in names],
    ],
)
def test_only_names_of_rows_are_items_and_text_is_sorted(column):
    pairs, items = Pairs.from_names(column(["c", "a", "b"]), column(["b", "c", "a"]))
    assert items.tolist() == ["a", "b", "c"]
    assert items.dtype.kind == "U"
    assert (pairs.i.tolist(), pairs.j.tolist()) == ([2, 0, 1], [1, 2, 0])


@pytest.mark.parametrize(
    "column", [pd.Series([[1], [2]]), pl.Series([[1], [2]]), pa.array([{"a": 1}, {"a": 2}])]
)
def test_a_column_of_lists_is_refused(column):
    with pytest.raises(PairrankError, match="winner in row 0 is not hashable"):
        BradleyTerry().fit(column, ["a", "b"])


@pytest.mark.parametrize("kind", TIES)
@pytest.mark.parametrize("covariance", ["hessian", "robust", "clusters", "dyadic"])
def test_a_whole_weight_stands_for_independent_comparisons(kind, covariance):
    votes = make_votes(6)
    count = np.random.default_rng(0).integers(1, 4, 80)
    names = votes.winner, votes.loser, votes.tie, np.arange(80) % 9
    repeated = [np.repeat(part, count) for part in names]
    found = []
    for (winner, loser, tie, groups), weight in ((names, count), (repeated, None)):
        model = BradleyTerry(ties=kind, covariance=covariance)
        found.append(model.fit(winner, loser, tie=tie, weight=weight, groups=groups))
    np.testing.assert_allclose(found[0].scores_, found[1].scores_, atol=1e-9)
    np.testing.assert_allclose(found[0].covariance_, found[1].covariance_, rtol=1e-7, atol=1e-10)
    assert found[0].ranking_["n"].dtype == np.int64
    np.testing.assert_array_equal(found[0].ranking_["n"], found[1].ranking_["n"])


@pytest.mark.parametrize("kind", ["davidson", "rao-kupper"])
@pytest.mark.parametrize("ratio", [1e-6, 0.1, 30.0, 1e6])
def test_fits_converge_with_few_and_with_many_ties(kind, ratio):
    rng = np.random.default_rng(0)
    winner, loser = rng.integers(0, 6, 200), rng.integers(1, 6, 200)
    tie = np.arange(200) % 2 == 0
    model = BradleyTerry(ties=kind, covariance=None)
    model.fit(winner, (winner + loser) % 6, tie=tie, weight=np.where(tie, ratio, 1.0))
    assert model.status_ == "converged"


@pytest.mark.parametrize("size", [1e-200, 1e6, 1e200])
def test_the_size_of_covariates_does_not_matter(size):
    votes = make_votes(2, covariates=1)
    given = arguments(votes)
    plain = BradleyTerry().fit(**given)
    scaled = BradleyTerry().fit(**given | {"covariates": size * votes.covariates})
    np.testing.assert_allclose(scaled.scores_, plain.scores_, atol=1e-9)
    np.testing.assert_allclose(size * scaled.coef_, plain.coef_, rtol=1e-8)
    np.testing.assert_allclose(size * scaled.coef_standard_errors_, plain.coef_standard_errors_)


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        (np.ones((2, 3)), "covariate 'x0' has 2 entries for 3 rows"),
        (np.ones((3, 3)), "covariates are x0, x1, x2; fit had x0, x1: give these"),
        (np.full((3, 2), np.nan), "covariate 'x0' contains NaN in row 0"),
        (pd.DataFrame({"x1": np.ones(3), "x0": np.ones(3)}), "fit had x0, x1: give these"),
    ],
)
def test_predict_proba_refuses_covariates_that_do_not_fit(covariates, message):
    model = BradleyTerry().fit(**arguments(make_votes(2, covariates=2)))
    with pytest.raises(PairrankError, match=message):
        model.predict_proba([0, 1, 2], [1, 2, 3], covariates=covariates)


def test_predict_proba_takes_the_covariates_of_one_pair_as_a_row():
    model = BradleyTerry().fit(**arguments(make_votes(2, covariates=2)))
    single = model.predict_proba(0, 1, covariates=[1.0, -1.0])
    np.testing.assert_array_equal(model.predict_proba(0, 1, covariates=[[1.0, -1.0]]), single)
    rows = model.predict_proba([0, 1], [1, 0], covariates=[[1.0, -1.0], [-1.0, 1.0]])
    np.testing.assert_allclose(rows, [single, single[::-1]])
    by_name = model.predict_proba([0, 1], [1, 0], covariates={"x0": [1, -1], "x1": [-1, 1]})
    np.testing.assert_array_equal(by_name, rows)


def test_a_named_column_gives_the_covariate_its_name():
    votes = make_votes(2, covariates=1)
    column = pd.Series(votes.covariates[:, 0], name="home")
    model = BradleyTerry().fit(**arguments(votes) | {"covariates": column})
    assert model.covariate_names_.tolist() == ["home"]


def test_parts_are_named():
    winner = ["a", "b", "c", "d", "a"]
    loser = ["b", "a", "d", "c", "c"]
    message = r"2 parts.*\{'a', 'b'\}; \{'c', 'd'\}\. Set alpha"
    with pytest.raises(PairrankError, match=message):
        BradleyTerry().fit(winner, loser)
    chain = np.arange(20)
    winner_of_chain = np.concatenate((chain, np.arange(20, 30)))
    loser_of_chain = np.concatenate(((chain + 1) % 20, np.arange(10)))
    with pytest.raises(PairrankError, match=r"\{0, 1, 2, 3 and 16 more\}; \{20\}; .*and 5 more"):
        BradleyTerry().fit(winner_of_chain, loser_of_chain)
    model = BradleyTerry(alpha=0.1).fit(winner, loser)
    assert np.isfinite(model.scores_).all()
    assert model.scores_[0] > model.scores_[2]


def test_ties_that_no_win_contradicts_are_refused():
    with pytest.raises(PairrankError, match=r'more wins than ties.*ties="half"'):
        BradleyTerry(ties="davidson").fit(["a", "a"], ["b", "b"], tie=[0, 1])
    assert np.isfinite(BradleyTerry().fit(["a", "a"], ["b", "b"], tie=[0, 1]).scores_).all()
    model = BradleyTerry(ties="rao-kupper", alpha=0.1).fit(["a", "a"], ["b", "b"], tie=[0, 1])
    assert model.status_ == "converged"


def test_the_default_follows_from_groups_and_ties():
    votes = make_votes(21)
    given = arguments(votes) | {"tie": None}
    group = np.arange(80) % 11
    halves = arguments(votes)
    for params, fit, kind in (
        ({}, given, "hessian"),
        ({}, halves, "robust"),
        ({"ties": "davidson"}, halves, "hessian"),
        ({}, given | {"groups": group}, "clusters"),
    ):
        found = BradleyTerry(**params).fit(**fit)
        wanted = BradleyTerry(**params, covariance=kind).fit(**fit)
        np.testing.assert_array_equal(found.covariance_, wanted.covariance_)


def test_votes_that_are_all_ties_have_the_errors_of_the_hessian():
    """Every gradient is 0 there, and so is every sandwich; the Hessian is not."""
    votes = (["a", "b", "c"], ["b", "c", "a"])
    found = BradleyTerry().fit(*votes, tie=[1, 1, 1])
    wanted = BradleyTerry(covariance="hessian").fit(*votes, tie=[1, 1, 1])
    assert (found.standard_errors_ > 0.5).all()
    np.testing.assert_allclose(found.standard_errors_, wanted.standard_errors_)


@pytest.fixture(scope="module")
def model():
    return BradleyTerry(level=0.9).fit(**arguments(make_votes(30)))


def test_the_columns_are_those_of_the_estimator(model):
    ranking = model.ranking_
    assert list(ranking) == [
        *("item", "score", "standard_error", "low", "high", "rank_low", "rank_high", "n")
    ]
    assert ranking["item"].size == 5
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


def test_frames_hold_the_same_columns(model):
    for frame in (pd.DataFrame(model.ranking_), pl.DataFrame(model.ranking_)):
        assert list(frame.columns) == list(model.ranking_)
        for name in model.ranking_:
            np.testing.assert_array_equal(frame[name].to_numpy(), model.ranking_[name])


def test_it_prints_a_table():
    scores = np.linspace(2.0, -2.0, 25)
    names = np.array([f"<{each}>" for each in range(25)])
    ranking = Ranking({"item": names, "score": scores, "n": np.full(25, 12345)})
    shown = Ranking({name: column[:20] for name, column in ranking.items()})
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
    assert repr(ranking).splitlines()[2].split() == ["b", "0.000"]
