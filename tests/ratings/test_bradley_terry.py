"""BradleyTerry: optima of the definition and of other libraries, units, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import BradleyTerry
from pairrank.ratings import objective
from ratings_definition import TIES, arguments, make_votes


@pytest.mark.parametrize("most", [0, 1000])
def test_a_long_chain_of_items_converges(most, monkeypatch):
    monkeypatch.setattr(objective, "_FEW_FEATURES", most)
    first = np.arange(300)
    winner = np.concatenate((first, first + 1))
    loser = np.concatenate((first + 1, first))
    weight = np.concatenate((np.full(300, 1000.0), np.ones(300)))
    model = BradleyTerry(covariance=None).fit(winner, loser, weight=weight)
    np.testing.assert_allclose(np.diff(model.scores_), -np.log(1000.0), rtol=1e-7)
    assert model.status_ == "converged"


@pytest.mark.parametrize("kind", TIES)
def test_large_hessians_are_never_factored_for_the_same_scores(kind, monkeypatch):
    votes = make_votes(19, n_items=12, size=300, covariates=1)
    direct = BradleyTerry(ties=kind, covariance=None).fit(**arguments(votes))
    monkeypatch.setattr(objective, "_FEW_ENTRIES", 0)
    iterative = BradleyTerry(ties=kind, covariance=None).fit(**arguments(votes))
    np.testing.assert_allclose(iterative.scores_, direct.scores_, atol=1e-8)
