"""BradleyTerry takes names and covariates of many kinds, and refuses those that mislead."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pairrank import BradleyTerry, Pairs
from pairrank.exceptions import PairrankError
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


def test_covariates_that_determine_one_another_are_refused_also_with_a_penalty():
    votes = make_votes(2, covariates=1)
    given = arguments(votes) | {"covariates": np.hstack((votes.covariates, votes.covariates))}
    with pytest.raises(PairrankError, match=r"no effect of their own.*Drop one"):
        BradleyTerry(alpha=1.0).fit(**given)


def test_a_scalar_is_no_covariate():
    with pytest.raises(PairrankError, match="covariate 'home' must have one dimension"):
        BradleyTerry().fit(["a", "b"], ["b", "a"], covariates={"home": 1.0})


@pytest.mark.parametrize(
    ("covariates", "message"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\), but must have \(3, 2\)"),
        (np.full((3, 2), np.nan), "covariates must be finite"),
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


def test_a_named_column_gives_the_covariate_its_name():
    votes = make_votes(2, covariates=1)
    column = pd.Series(votes.covariates[:, 0], name="home")
    model = BradleyTerry().fit(**arguments(votes) | {"covariates": column})
    assert model.covariate_names_.tolist() == ["home"]
