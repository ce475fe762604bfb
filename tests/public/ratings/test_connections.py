"""Finite scores: the graph's tests agree with a linear programme over directions."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import BradleyTerry
from pairrank.exceptions import PairrankError


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
