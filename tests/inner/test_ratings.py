"""Likelihoods, objective, covariance and ranks of ratings, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import optimize, stats

from pairrank import BradleyTerry
from pairrank.exceptions import PairrankError
from pairrank.ratings.comparisons import add_up, check_comparisons
from pairrank.ratings.connections import check_finite_scores
from pairrank.ratings.likelihoods import LIKELIHOODS, LikelihoodObjective
from pairrank.ratings.ranking import rank_intervals
from ratings_definition import TIES, arguments, make_votes


@pytest.mark.parametrize(("kind", "t"), [("half", 0.0), ("davidson", -0.4), ("rao-kupper", 0.6)])
def test_large_margins_stay_finite(kind, t):
    d = np.array([-1e150, -800.0, 0.0, 800.0, 1e150])
    logs, slopes = LIKELIHOODS[kind].log_probabilities(d, t), LIKELIHOODS[kind].slopes(d, t)
    assert np.isfinite(logs).all()
    assert all(np.isfinite(each).all() for each in slopes)
    assert (np.asarray(slopes.of_margins) >= 0.0).all()


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


def slow_covariance(votes, kind, ties, alpha, group):
    """Return the sandwich of gradients by differences, comparison by comparison."""
    found = check_comparisons(**arguments(votes))
    margins = add_up(found)
    objective = LikelihoodObjective(margins, LIKELIHOODS[ties], alpha)
    model = BradleyTerry(ties=ties, alpha=alpha, covariance=None).fit(**arguments(votes))
    w = np.concatenate((model.scores_, model.coef_ * margins.unit))
    if objective.has_tie:
        w = np.append(w, np.log(model.tie_parameter_) - objective.offset)
    n, size = votes.n_items, w.size

    def gradient(k):
        rows = [part[k : k + 1] for part in votes]
        d = np.zeros(size)
        d[rows[0][0]], d[rows[1][0]] = 1.0, -1.0
        d[n : n + votes.covariates.shape[1]] = rows[4][0] / margins.unit
        t, outcome = objective.tie_parameter(w), 1 if rows[2][0] else 0
        slopes = LIKELIHOODS[ties].slopes(np.array([d @ w]), t)
        result = slopes.margin[outcome, 0] * d
        if objective.has_tie:
            result[-1] = slopes.tie[outcome, 0]
        return rows[3][0] * result

    centre = np.eye(size)
    centre[:n, :n] -= 1.0 / n
    hessian = objective.hessian(objective.slopes(w)).toarray()
    inverse = centre @ np.linalg.pinv(hessian, rcond=1e-12) @ centre
    if kind == "hessian":
        return inverse
    gradients = np.array([gradient(k) for k in range(votes.winner.size)])
    if kind != "robust":
        codes = group
        if kind == "dyadic":
            low, high = np.minimum(votes.winner, votes.loser), np.maximum(votes.winner, votes.loser)
            codes = low * n + high
        sums = np.array([gradients[codes == each].sum(axis=0) for each in np.unique(codes)])
        gradients = (sums - sums.mean(axis=0)) * np.sqrt(len(sums) / (len(sums) - 1))
    return inverse @ gradients.T @ gradients @ inverse


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", ["hessian", "robust", "clusters", "dyadic"])
@pytest.mark.parametrize(("covariates", "alpha"), [(0, 0.0), (1, 0.4)])
def test_covariances_are_sums_over_comparisons(ties, kind, covariates, alpha):
    votes = make_votes(20, covariates=covariates)
    group = np.random.default_rng(0).integers(0, 9, votes.winner.size) * 7
    wanted = slow_covariance(votes, kind, ties, alpha, group)
    model = BradleyTerry(ties=ties, alpha=alpha, covariance=kind)
    model.fit(**arguments(votes), groups=group)
    np.testing.assert_allclose(model.covariance_, wanted[:5, :5], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(model.standard_errors_**2, wanted.diagonal()[:5], rtol=1e-6)
    errors = np.sqrt(wanted.diagonal()[5 : 5 + covariates])
    unit = add_up(check_comparisons(**arguments(votes))).unit
    np.testing.assert_allclose(model.coef_standard_errors_, errors / unit, rtol=1e-6)


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
