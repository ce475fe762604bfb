"""BradleyTerry: optima of the definition and of other libraries, units, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from pairrank import BradleyTerry
from pairrank.exceptions import NoPairsError, PairrankError, PairrankWarning
from ratings_definition import TIES, arguments, fitted, log_likelihood, make_votes, probabilities

MINIMISER = 1e-5
"""BFGS with numeric gradients stops where the cost is flat to about 1e-11: the root of it, with
room for a curvature of 0.1."""


@pytest.mark.parametrize("kind", TIES)
@pytest.mark.parametrize(("covariates", "alpha"), [(0, 0.0), (2, 0.0), (1, 0.7)])
def test_the_fit_is_the_optimum_of_the_definition(kind, covariates, alpha):
    votes = make_votes(1, covariates=covariates)
    scores, effects, parameter = fitted(votes, kind, alpha)
    model = BradleyTerry(ties=kind, alpha=alpha).fit(**arguments(votes))
    np.testing.assert_allclose(model.scores_, scores, atol=MINIMISER)
    np.testing.assert_allclose(model.coef_, effects, atol=MINIMISER)
    if kind != "half":
        np.testing.assert_allclose(model.tie_parameter_, parameter, rtol=MINIMISER)
    here = log_likelihood(votes, model.scores_, model.coef_, kind, model.tie_parameter_)
    np.testing.assert_allclose(model.log_likelihood_, here, rtol=1e-12)
    assert model.status_ == "converged"


@pytest.mark.parametrize("kind", TIES)
def test_the_winner_of_a_tie_may_be_either(kind):
    votes = make_votes(7, covariates=1)
    turned = votes._replace(
        winner=np.where(votes.tie, votes.loser, votes.winner),
        loser=np.where(votes.tie, votes.winner, votes.loser),
        covariates=np.where(votes.tie, -1, 1)[:, None] * votes.covariates,
    )
    first, second = (BradleyTerry(ties=kind).fit(**arguments(each)) for each in (votes, turned))
    np.testing.assert_allclose(first.scores_, second.scores_, atol=1e-9)
    np.testing.assert_allclose(first.covariance_, second.covariance_, atol=1e-9)


def test_without_ties_the_three_likelihoods_are_one():
    votes = make_votes(8, ties=0.0)
    found = [BradleyTerry(ties=kind).fit(votes.winner, votes.loser) for kind in TIES]
    for model in found[1:]:
        np.testing.assert_array_equal(model.scores_, found[0].scores_)
        np.testing.assert_allclose(
            model.predict_proba(0, 1), np.insert(found[0].predict_proba(0, 1), 1, 0.0), atol=1e-15
        )
    assert [model.tie_parameter_ for model in found] == [0.0, 0.0, 1.0]


def test_scores_are_multiplied_and_anchored():
    given = arguments(make_votes(10, covariates=1))
    plain = BradleyTerry().fit(**given)
    elo = BradleyTerry(scale="elo").fit(**given)
    np.testing.assert_allclose(elo.scores_.mean(), 1000.0)
    np.testing.assert_allclose(elo.scores_ - 1000.0, 400.0 / np.log(10.0) * plain.scores_)
    win = elo.predict_proba(0, 1)[0]
    np.testing.assert_allclose(win, 1 / (1 + 10 ** ((elo.scores_[1] - elo.scores_[0]) / 400)))
    for name in ("standard_errors_", "coef_", "coef_standard_errors_"):
        wanted = 400 / np.log(10) * getattr(plain, name)
        np.testing.assert_allclose(getattr(elo, name), wanted, rtol=1e-8)
    fixed = BradleyTerry(anchor={2: 50.0}, scale=10.0).fit(**given)
    assert fixed.scores_[2] == 50.0
    assert fixed.standard_errors_[2] == 0.0
    np.testing.assert_allclose(fixed.scores_ - 50.0, 10.0 * (plain.scores_ - plain.scores_[2]))
    for model, scale in ((elo, 400 / np.log(10)), (fixed, 10.0)):
        found, wanted = model.contrast(0, 3), plain.contrast(0, 3)
        np.testing.assert_allclose(found, scale * np.array(wanted), rtol=1e-9)
    np.testing.assert_allclose(fixed.standard_errors_[0], 10 * plain.contrast(0, 2).standard_error)


@pytest.mark.parametrize("kind", TIES)
def test_probabilities_are_those_of_the_definition(kind):
    votes = make_votes(11, covariates=1)
    model = BradleyTerry(ties=kind, scale=3.0).fit(**arguments(votes))
    found = model.predict_proba([0, 1], [2, 4], covariates=[[0.0], [0.5]])
    for row, i, j, z in ((0, 0, 2, 0.0), (1, 1, 4, 0.5)):
        d = (model.scores_[i] - model.scores_[j] + z * model.coef_[0]) / 3.0
        if kind == "half":
            wanted = (1 / (1 + np.exp(-d)), 1 / (1 + np.exp(d)))
        else:
            wanted = probabilities(kind, d, model.tie_parameter_)
        np.testing.assert_allclose(found[row], wanted, rtol=1e-10)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    matrix = model.win_matrix([0, 1, 2])
    np.testing.assert_allclose(matrix + matrix.T, 1.0)
    one = model.predict_proba(0, 2)
    np.testing.assert_allclose(matrix[0, 2], one[0] + 0.5 * (one.sum() - one[0] - one[-1]))


def test_covariates_may_be_arrays_frames_and_dicts():
    votes = make_votes(13, covariates=2)
    given = arguments(votes)
    plain = BradleyTerry().fit(**given)
    assert plain.covariate_names_.tolist() == ["x0", "x1"]
    columns = {"home": votes.covariates[:, 0], "length": votes.covariates[:, 1]}
    for covariates in (columns, pd.DataFrame(columns), pl.DataFrame(columns)):
        model = BradleyTerry().fit(**{**given, "covariates": covariates})
        assert model.covariate_names_.tolist() == ["home", "length"]
        np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_balanced_comparisons_give_equal_scores():
    model = BradleyTerry(ties="davidson").fit([0, 1, 0], [1, 0, 1], tie=[0, 0, 1])
    np.testing.assert_array_equal(model.scores_, [0.0, 0.0])
    np.testing.assert_allclose(model.predict_proba(0, 1), [1 / 3] * 3)


GOOD = {"winner": ["a", "b", "c", "a"], "loser": ["b", "c", "a", "c"]}


@pytest.mark.parametrize(
    ("params", "given", "message"),
    [
        ({}, {"winner": ["a", None, "c", "a"]}, "winner is missing in row 1"),
        ({}, {"loser": ["b", "b", "a", "c"]}, "both 'b' in row 1"),
        ({}, {"loser": ["b", "c", "a"]}, "loser has 3 entries for 4 rows"),
        ({}, {"winner": "abca"}, "winner must hold one name per comparison"),
        ({}, {"weight": [1, 1, -2, 1]}, r"weight\[2\] = -2.0 is negative"),
        ({}, {"weight": [1, 1, np.nan, 1]}, "weight contains NaN in row 2"),
        ({}, {"weight": [0, 0, 0, 0]}, "every weight is zero"),
        ({}, {"tie": [0, 1, 2, 0]}, "tie must hold True or False.*row 2"),
        ({}, {"groups": [1, 2]}, "groups has 2 entries for 4 rows"),
        ({}, {"groups": [1, None, 1, 2]}, "groups is missing in row 1"),
        ({}, {"groups": [1, 1, 1, 1]}, "at least two groups"),
        ({}, {"covariates": [[1.0], [np.inf], [2.0], [3.0]]}, "'x0' contains infinity"),
        ({}, {"covariates": [1.0, 2.0]}, "'x0' has 2 entries for 4 rows"),
        ({}, {"covariates": {"home": [1.0, 2.0]}}, "covariate 'home' has 2 entries"),
        ({}, {"covariates": {"home": 1.0}}, "covariate 'home' must have one dimension"),
        (
            {},
            {"covariates": {"home": [0.0] * 4}},
            r"covariates \(home\) .*one is 0 in every comparison",
        ),
        ({"ties": "none"}, {}, "ties must be one of 'half', 'davidson'"),
        ({"alpha": -1}, {}, "alpha must be at least 0"),
        ({"scale": "ello"}, {}, 'scale must be a number or "elo"'),
        ({"scale": 0}, {}, "scale must be greater than 0"),
        ({"anchor": {"z": 1}}, {}, "anchor names 'z'"),
        ({"anchor": {"a": 1, "b": 2}}, {}, "anchor must name one item"),
        ({"anchor": "a"}, {}, "anchor must be a finite number"),
        ({"covariance": "rows"}, {}, "covariance must be one of"),
        ({"covariance": "clusters"}, {}, "pass groups to fit"),
        ({"level": 95}, {}, "level must be less than 1"),
        ({"ties": "davidson"}, {"tie": [1, 1, 1, 1]}, "every comparison is a tie"),
    ],
)
def test_bad_input_is_refused(params, given, message):
    with pytest.raises(PairrankError, match=message):
        BradleyTerry(**params).fit(**{**GOOD, **given})


def test_no_comparison_is_refused():
    with pytest.raises(NoPairsError, match="winner and loser are empty"):
        BradleyTerry().fit([], [])


def test_predictions_refuse_what_was_not_compared():
    with pytest.raises(NotFittedError):
        BradleyTerry().predict_proba("a", "b")
    model = BradleyTerry(covariance=None).fit(**GOOD)
    with pytest.raises(PairrankError, match="b names 'z', which was not compared"):
        model.predict_proba("a", "z")
    with pytest.raises(PairrankError, match="makes pair k"):
        model.predict_proba(["a"], ["b", "c"])
    with pytest.raises(PairrankError, match="fit had none"):
        model.predict_proba("a", "b", covariates=[1.0])
    with pytest.raises(PairrankError, match="set covariance and fit again"):
        model.contrast("a", "b")


def test_a_fit_that_stops_early_warns():
    votes = make_votes(15)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = BradleyTerry(max_iter=1, covariance=None).fit(**arguments(votes))
    assert model.status_ == "max_iter"


def test_a_second_fit_forgets_the_first():
    votes = make_votes(16, covariates=1)
    model = BradleyTerry().fit(**arguments(votes))
    model.set_params(covariance=None).fit(votes.winner, votes.loser)
    assert model.coef_.size == 0
    assert not hasattr(model, "covariance_")
    assert list(model.ranking_) == ["item", "score", "n"]


def test_it_follows_scikit_learn_s_conventions():
    model = BradleyTerry(ties="davidson", anchor={"a": 1.0})
    assert repr(model) == "BradleyTerry(anchor={'a': 1.0}, ties='davidson')"
    assert clone(model).get_params() == model.get_params()
    assert vars(model).keys() == model.get_params().keys()
    fitted_model = model.fit(**GOOD, tie=[0, 0, 0, 1])
    again = pickle.loads(pickle.dumps(fitted_model))
    np.testing.assert_array_equal(again.scores_, model.scores_)
    np.testing.assert_array_equal(again.predict_proba("a", "b"), model.predict_proba("a", "b"))
    assert "item" in repr(again.ranking_)


def test_items_of_weight_zero_are_left_out():
    model = BradleyTerry().fit(["a", "b", "c"], ["b", "a", "a"], weight=[1, 1, 0])
    assert model.items_.tolist() == ["a", "b"]


def test_parts_without_a_comparison_are_a_warning_with_a_penalty():
    with pytest.warns(PairrankWarning, match=r"2 parts.*\{'a', 'b'\}; \{'c', 'd'\}"):
        model = BradleyTerry(alpha=1.0).fit(["a", "c"], ["b", "d"])
    assert np.isfinite(model.standard_errors_).all()


@pytest.mark.parametrize("seed", range(2))
def test_covariates_of_items_are_refused(seed):
    votes = make_votes(seed)
    height = np.random.default_rng(seed).normal(size=5)
    z = height[votes.winner] - height[votes.loser]
    with pytest.raises(PairrankError, match=r"no effect of their own.*RankNCG"):
        BradleyTerry().fit(**arguments(votes._replace(covariates=z[:, None])))
    first = np.random.default_rng(seed).normal(size=80)
    both = np.column_stack((first, 2.0 * first))
    for alpha in (0.0, 1.0):
        with pytest.raises(PairrankError, match=r"no effect of their own.*Drop one"):
            BradleyTerry(alpha=alpha).fit(**arguments(votes._replace(covariates=both)))
    other = 1e-3 * np.random.default_rng(seed + 99).normal(size=80)
    nearly = np.column_stack((first, 2.0 * first + other))
    assert BradleyTerry().fit(**arguments(votes._replace(covariates=nearly))).status_ == "converged"


def test_an_effect_that_decides_every_comparison_is_refused():
    votes = make_votes(0, ties=0.0)
    home = 0.5 + np.random.default_rng(0).random((80, 1))
    frame = pd.DataFrame(home, columns=["home"])
    with pytest.raises(PairrankError, match="'home' would be infinite"):
        BradleyTerry().fit(votes.winner, votes.loser, covariates=frame)
    home[::20] *= -1.0
    frame = pd.DataFrame(home, columns=["home"])
    model = BradleyTerry().fit(votes.winner, votes.loser, covariates=frame)
    assert model.coef_[0] > 2.0


@pytest.mark.parametrize("kind", TIES)
def test_a_tight_tolerance_is_reached(kind):
    for seed in range(3):
        votes = make_votes(seed, n_items=12, size=300, covariates=1)
        model = BradleyTerry(ties=kind, tol=1e-12).fit(**arguments(votes))
        assert model.status_ == "converged"
