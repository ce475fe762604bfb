"""Finite scores: the graph's tests agree with a linear programme over directions."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize

from pairrank.exceptions import PairrankError
from pairrank.ratings.comparisons import check_comparisons
from pairrank.ratings.connections import check_finite_scores
from pairrank.ratings.likelihoods import add_up


def runs_to_infinity(winner, loser, tie, n_items, parameter):
    """Return whether the likelihood rises for ever along a direction (v, u) of scores and ties.

    Along it a win needs v_i - v_j >= u and >= 0, a tie u >= |v_i - v_j|; u is 0 for halves. It
    leaves the scores as they are only if all differences are 0.
    """
    rows = []
    for i, j, is_tie in zip(winner, loser, tie, strict=True):
        d = np.zeros(n_items + 1)
        d[i], d[j] = 1.0, -1.0
        u = np.zeros(n_items + 1)
        u[-1] = 1.0
        rows += [d - u, -d - u] if is_tie else [u - d, -d]
    last = (0.0, 1.0) if parameter and any(tie) else (0.0, 0.0)
    bounds = [*[(-1.0, 1.0)] * (n_items - 1), (0.0, 0.0), last]
    for sign in (1.0, -1.0):
        for item in range(n_items - 1):
            cost = np.zeros(n_items + 1)
            cost[item] = sign
            best = optimize.linprog(cost, np.array(rows), np.zeros(len(rows)), bounds=bounds)
            if best.fun < -1e-6:
                return True
    return False


VOTES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 3), st.booleans()), min_size=1, max_size=10
)


@settings(max_examples=60)
@given(VOTES, st.booleans())
@example([(0, 1, False), (0, 1, True)], True)
@example([(0, 1, False), (1, 1, True), (2, 2, True)], True)
@example([(0, 1, False), (1, 1, False), (2, 2, True)], True)
def test_infinite_scores_are_found(votes, parameter):
    winner = np.array([each[0] for each in votes])
    loser = (winner + [each[1] for each in votes]) % 4
    tie = np.array([each[2] for each in votes])
    found = check_comparisons(winner, loser, tie=tie)
    args = found.winner, found.loser, found.tie, found.items.size
    if parameter and tie.all():
        return
    try:
        check_finite_scores(add_up(found), found.items, parameter=parameter)
        is_infinite = False
    except PairrankError:
        is_infinite = True
    assert is_infinite == runs_to_infinity(*args, parameter)
