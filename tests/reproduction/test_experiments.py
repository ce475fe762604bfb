"""Pieces of the experiments of Fung, Airola, Cortes, and beyond agree with their definitions."""

import numpy as np
import pytest

from pairrank import RankSVM
from reproduction.papers import fung2006
from reproduction.papers.airola2010 import fits
from reproduction.papers.beyond import conditions, probabilities
from reproduction.papers.cortes2007 import judging
from reproduction.protocols import ExplicitPairs
from reproduction.study import NotRun
from reproduction.users import PROTOCOLS, evaluate_users
from reproduction_cells import done


def test_explicit_pairs_have_the_optimum_of_ranksvm():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 5, 60).astype(float)
    theirs = ExplicitPairs(0.1).fit(X, y).coef_
    ours = RankSVM(0.1, reduction="sum", tol=1e-8).fit(X, y).coef_
    np.testing.assert_allclose(theirs, ours, rtol=1e-2, atol=1e-2 * np.abs(ours).max())


def test_fungs_chain_beside_full_is_judged_by_the_mean_difference():
    def of_figure(values):
        return done(fung2006.STUDY, {("fig3", *place): each for place, each in values.items()})

    check = fung2006.STUDY.claims[0].check
    chain, full = fung2006.CHAIN, fung2006.FULL
    row, other = "7 Pyrimidines", "8 Triazines"
    better = {(row, chain): {"wmw": [0.8]}, (row, full): {"wmw": [0.7]}}
    assert check(of_figure(better)).holds
    worse = better | {(other, chain): {"wmw": [0.5]}, (other, full): {"wmw": [0.7]}}
    assert not check(of_figure(worse)).holds
    with pytest.raises(NotRun):
        check(of_figure({(row, chain): {"wmw": [0.8]}}))


def test_airolas_lambda_has_the_least_validation_error():
    problem = fits.problem_of("documents", 300)
    pairs = fits.with_pairs(problem, 500).train.y
    assert len(pairs.i) == 500
    assert (problem.train.y[pairs.i] > problem.train.y[pairs.j]).all()
    alphas = (2.0**-6, 1.0, 2.0**8)
    errors = [fits._error(fits._fit(problem, "tikhonov", each), problem.valid) for each in alphas]
    assert fits._choose(problem, "tikhonov", alphas).alpha == alphas[int(np.argmin(errors))]


def test_airolas_errors_of_rows_in_queries_are_means_over_queries():
    class Ranker:
        def predict(self, X):
            return np.array([2.0, 1.0, 1.0, 2.0, 1.0, 1.0])

    judged = fits.Rows(np.zeros((6, 1)), np.array([1, 0, 1, 0, 0, 1]), np.array([0, 0, 1, 1, 2, 2]))
    assert fits._error(Ranker(), judged) == pytest.approx((0.0 + 1.0 + 0.5) / 3)


def test_cortes_parameters_have_the_least_cost_on_the_held_out_reviewers():
    table = judging.ratings_of(judging.GENERATED)
    rule = {"min_user_ratings": 5, "min_item_ratings": 3}
    users = sorted(set(judging.restricted(table, **rule)["user"]))[:8]
    held = judging.replace(PROTOCOLS["leave-one-out"], users=users, **rule)
    estimator, chosen = judging.tuned(judging.RIDGE, held, table, 59)
    variance = float(table["rating"].var(ddof=0))
    grid = judging.methods(59 * variance, variance**0.5)[judging.RIDGE].grid["alpha"]
    problems = held.draw(table, 2)
    costs = [evaluate_users(problems, estimator.__class__(alpha=alpha))["msd"] for alpha in grid]
    assert estimator.alpha == grid[int(np.argmin(costs))]
    assert chosen == f"alpha {estimator.alpha:.3g}"


def test_conditions_change_the_labels_that_they_name():
    plain, scaled, wrong = (
        conditions.rows_of(conditions.Condition(n_levels=None, **options), 2000, 0)
        for options in ({}, {"scale": "exponential"}, {"wrong": 0.3})
    )
    np.testing.assert_array_equal(np.argsort(plain.y), np.argsort(scaled.y))
    np.testing.assert_array_equal(plain.X, scaled.X)
    assert plain.utility.std() == pytest.approx(1.0)
    # A binomial count of 2000 draws of 0.3: six deviations are 0.061.
    assert (plain.y != wrong.y).mean() == pytest.approx(0.3, abs=0.07)
    assert set(wrong.y) <= set(plain.y)
    np.testing.assert_array_equal(plain.utility, wrong.utility)


def test_the_calibration_error_is_the_mean_gap_of_the_bins():
    p = np.array([0.05, 0.15, 0.15, 0.95])
    assert probabilities.calibration_error(p, p) == 0.0
    # Bins hold 1, 2 and 1 pairs; the middle bin is right on average.
    true = np.array([0.25, 0.10, 0.20, 0.75])
    assert probabilities.calibration_error(p, true) == pytest.approx((0.2 + 0.0 + 0.2) / 4)


@pytest.mark.parametrize("kind", [probabilities.VOTES, probabilities.LABELS])
def test_votes_and_labels_have_the_stated_probabilities(kind):
    coef = np.full(probabilities.N_FEATURES, 0.3)
    drawn = probabilities.draw(kind, coef, 300, 0)
    gaps = (drawn.X[drawn.i] - drawn.X[drawn.j]) @ coef
    # P(the winner has the higher utility) = E S(|gap|).
    expected = (1.0 / (1.0 + np.exp(-np.abs(gaps)))).mean()
    # 300 rows: deviation of a U-statistic, at most (1 / (4 * 300 / 2)) ** 0.5 = 0.041.
    assert (gaps > 0.0).mean() == pytest.approx(expected, abs=4 * 0.041)
