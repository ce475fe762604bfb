"""Metrics inside: tests of two models, and the log-loss of each query."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test

from definitions import preferences_of
from pairrank import GreedyRankRLS, OrderGraph
from pairrank.exceptions import PairrankWarning
from pairrank.metrics import pairwise_log_loss
from pairrank.metrics.tables import EXACT_UP_TO, compare_values
from pairrank.model_selection import rls_greedy
from pairrank.model_selection.score_map import ScoreMap


def slow_p_value(differences):
    """Return the share of sign patterns with a sum as large as the observed, in whole numbers."""
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(each >= observed for each in sums) / len(sums)


def compared(differences, n_resamples=99, seed=0):
    differences = np.asarray(differences, dtype=float)
    return compare_values(differences, np.zeros(differences.size), n_resamples, 0.95, seed)


@given(tenths=st.lists(st.integers(-5, 5), min_size=2, max_size=9))
def test_the_p_value_of_few_queries_counts_every_swap(tenths):
    found = compared(np.array(tenths) / 10)
    assert found.exact
    assert found.p_value == slow_p_value(tenths)
    assert found.difference == pytest.approx(np.mean(tenths) / 10, abs=1e-15)


def test_a_sampled_p_value_is_near_the_exact_one():
    differences = np.random.default_rng(3).normal(0.15, 1, EXACT_UP_TO)
    exact = compared(differences)
    wanted = permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=2**EXACT_UP_TO
    ).pvalue
    assert exact.exact
    assert exact.p_value == wanted
    sampled = compared([*differences, 1e-9], n_resamples=20_000)
    assert not sampled.exact
    six_deviations = 6 * math.sqrt(wanted * (1 - wanted) / 20_000)
    assert sampled.p_value == pytest.approx(wanted, abs=six_deviations)


def test_blocks_of_swaps_change_nothing(monkeypatch):
    from pairrank.metrics import tables

    differences = np.random.default_rng(2).normal(0.1, 1, 40)
    whole = compared(differences, n_resamples=500)
    monkeypatch.setattr(tables, "_NUMBERS_A_BLOCK", 40 * 7)
    assert compared(differences, n_resamples=500) == whole


pytestmark = pytest.mark.numeric


GRAPHS = ["full", "chain", OrderGraph([(0.0, 1.0), (0.0, 3.0)])]


def drawn(seed, n_rows=30):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n_rows).astype(float)
    return y, 3.0 * rng.normal(size=n_rows), rng.integers(0, 3, n_rows), rng.integers(0, 3, n_rows)


@pytest.mark.parametrize("graph", GRAPHS, ids=["full", "chain", "edges"])
@given(
    seed=st.integers(0, 50),
    weighing=st.sampled_from([(), ("sample_weight",), ("winner_weight", "loser_weight")]),
)
def test_each_query_has_the_loss_of_its_own_preferences(graph, seed, weighing):
    y, scores, qid, _ = drawn(seed)
    rng = np.random.default_rng(seed)
    sides = {name: rng.integers(0, 3, y.size).astype(float) for name in weighing}
    own = sides.get("sample_weight", np.ones(y.size))
    wins, loses = (own * sides.get(f"{role}_weight", 1.0) for role in ("winner", "loser"))
    rows = np.flatnonzero(wins + loses)  # the others are dropped before levels are compared
    losses, weights = np.zeros((2, 3))
    for i, j in preferences_of(y[rows], qid[rows], graph):
        i, j = rows[i], rows[j]
        losses[qid[i]] += wins[i] * loses[j] * np.log1p(np.exp(scores[j] - scores[i]))
        weights[qid[i]] += wins[i] * loses[j]
    wanted = {q: losses[q] / weights[q] for q in np.flatnonzero(weights).tolist()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        found = pairwise_log_loss(y, scores, graph=graph, qid=qid, per_query=True, **sides)
    assert found == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("power", [-20, -400, -900])
def test_probabilities_do_not_depend_on_the_unit_of_small_scores(method, power):
    generator = np.random.default_rng(0)
    scores = generator.uniform(-1.0, 1.0, 200)
    codes = (scores + generator.normal(size=200) > 0).astype(float)
    wanted = ScoreMap.fit(scores, codes, None, method)(scores)
    small = np.ldexp(scores, power)
    found = ScoreMap.fit(small, codes, None, method)(small)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert np.ptp(found) > 0.2


def made_rows(n_rows, n_features, n_queries, *, targets=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    y = X[:, :targets] + 0.5 * X[:, -targets:] + rng.normal(size=(n_rows, targets))
    qid = rng.integers(0, n_queries, n_rows)
    return X, y, qid, rng.integers(0, 3, n_rows) * 0.5


def test_few_features_at_a_time_give_the_same_numbers(monkeypatch):
    X, y, _, weight = made_rows(40, 12, 6)
    whole = GreedyRankRLS(6, cv=5).fit(X, y, sample_weight=weight)
    monkeypatch.setattr(rls_greedy, "_ENTRIES", 60)
    parts = GreedyRankRLS(6, cv=5).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(parts.errors_, whole.errors_, rtol=1e-12)
    assert (parts.selected_ == whole.selected_).all()
