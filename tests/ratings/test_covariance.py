"""Covariances: equal to sums over comparisons and groups of gradients, and to bootstraps."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank import BradleyTerry
from pairrank.ratings.comparisons import check_comparisons
from pairrank.ratings.likelihoods import LIKELIHOODS, add_up
from pairrank.ratings.objective import LikelihoodObjective
from ratings_definition import TIES, arguments, make_votes


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
    inverse = centre @ np.linalg.pinv(objective.curvature(w).dense(), rcond=1e-12) @ centre
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


def test_many_groups_are_summed_sparsely_and_densely_alike(monkeypatch):
    from pairrank.ratings import covariance

    votes = make_votes(22, n_items=30, size=400)
    group = np.arange(400) // 8
    found = []
    for share in (0.0, 2.0):
        monkeypatch.setattr(covariance, "_DENSE_SHARE", share)
        model = BradleyTerry(ties="davidson", alpha=0.1).fit(**arguments(votes), groups=group)
        found.append(model.covariance_)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10, atol=1e-14)


def test_a_covariance_of_too_many_items_is_refused(monkeypatch):
    from pairrank.exceptions import PairrankError
    from pairrank.ratings import covariance

    monkeypatch.setattr(covariance, "MOST_ITEMS", 2)
    with pytest.raises(PairrankError, match="set covariance=None"):
        BradleyTerry().fit(["a", "b", "c"], ["b", "c", "a"])
