"""Fung's experiment: folds, choice, explicit pairs, claims."""

import numpy as np
import pytest

from pairrank import RankSVM
from reproduction.papers import fung2006
from reproduction.protocols import ExplicitPairs
from reproduction.study import NotRun
from reproduction_cells import done


def of_figure(values):
    """Return the study with values of Figure 3 by (row, column)."""
    return done(fung2006.STUDY, {("fig3", *place): each for place, each in values.items()})


def test_explicit_pairs_have_the_optimum_of_ranksvm():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 5, 60).astype(float)
    theirs = ExplicitPairs(0.1).fit(X, y).coef_
    ours = RankSVM(0.1, reduction="sum", tol=1e-8).fit(X, y).coef_
    np.testing.assert_allclose(theirs, ours, rtol=1e-2, atol=1e-2 * np.abs(ours).max())


def test_every_row_is_tested_once_and_never_trained_on_then():
    tested = np.zeros(23, dtype=int)
    for train, test in fung2006.folds(23, 5, 0):
        assert not (train & test).any()
        assert (train | test).all()
        tested += test
    assert (tested == 1).all()


def test_the_strength_is_chosen_on_rows_that_were_held_out():
    made = []

    class Recorder:
        def __init__(self, strength):
            self.strength = strength

        def fit(self, X, y):
            made.append((self.strength, y.size))
            return self

        def predict(self, X):
            return X[:, 0] if self.strength == 2.0 else -X[:, 0]

    X = np.arange(40.0)[:, None]
    how = fung2006.Method(Recorder, (1.0, 2.0, 3.0))
    assert fung2006.chosen(how, fung2006.Rows(X, X[:, 0] // 10)) == 2.0
    assert made == [(1.0, 30), (2.0, 30), (3.0, 30)]


def test_chain_beside_full_is_judged_by_the_mean_difference():
    check = fung2006.STUDY.claims[0].check
    chain, full = fung2006.CHAIN, fung2006.FULL
    row, other = "7 Pyrimidines", "8 Triazines"
    better = {(row, chain): {"wmw": [0.8]}, (row, full): {"wmw": [0.7]}}
    assert check(of_figure(better)).holds
    worse = better | {(other, chain): {"wmw": [0.5]}, (other, full): {"wmw": [0.7]}}
    assert not check(of_figure(worse)).holds
    with pytest.raises(NotRun):
        check(of_figure({(row, chain): {"wmw": [0.8]}}))
