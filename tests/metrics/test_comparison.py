"""Several metrics in a table, and two models compared by randomisation and bootstrap."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from pairrank import metrics
from pairrank.metrics.tables import EXACT_UP_TO, compare_values


def made(n_queries, seed=0, size=6):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), size)
    y = rng.integers(0, 3, qid.size)
    y[::size], y[1::size] = 0, 2
    return y, y + rng.normal(size=qid.size), y + 3 * rng.normal(size=qid.size), qid


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


@settings(max_examples=60)
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


def test_one_that_is_always_better_has_the_least_p_value():
    assert compared(np.ones(10)).p_value == 2 / 2**10
    found = compared(np.ones(100), n_resamples=999)
    assert found.p_value == 1 / 1000
    assert (found.low, found.difference, found.high) == (1.0, 1.0, 1.0)
    assert compared(np.zeros(50)).p_value == 1.0


def test_the_interval_is_that_of_means_of_drawn_queries():
    differences = np.random.default_rng(1).normal(0.2, 1, 400)
    found = compared(differences, n_resamples=4000)
    error = differences.std() / 20
    assert found.low == pytest.approx(differences.mean() - 1.96 * error, abs=0.15 * error)
    assert found.high == pytest.approx(differences.mean() + 1.96 * error, abs=0.15 * error)


def test_blocks_of_swaps_change_nothing(monkeypatch):
    from pairrank.metrics import tables

    differences = np.random.default_rng(2).normal(0.1, 1, 40)
    whole = compared(differences, n_resamples=500)
    monkeypatch.setattr(tables, "_NUMBERS_A_BLOCK", 40 * 7)
    assert compared(differences, n_resamples=500) == whole


def test_two_models_are_compared_over_the_queries_of_both():
    y, s, t, qid = made(30)
    y[qid == 4] = 1
    found = metrics.compare_scores(y, s, t, "auc", qid=qid, n_resamples=200)
    both = [metrics.evaluate(y, x, "auc", qid=qid, per_query=True)["auc"] for x in (s, t)]
    counted = ~np.isnan(both[0])
    assert found.n_queries == counted.sum() < 30
    assert found.mean == pytest.approx(both[0][counted].mean())
    assert found.other_mean == pytest.approx(both[1][counted].mean())
    assert found.difference == pytest.approx(found.mean - found.other_mean)
    assert found.low < found.difference < found.high
    assert found == compare_values(*both, 200, 0.95, 0)
    swapped = metrics.compare_scores(y, t, s, "auc", qid=qid, n_resamples=200)
    assert swapped.difference == -found.difference
    assert metrics.compare_scores(y, s, t, "auc", qid=qid, n_resamples=200) == found
    other = metrics.compare_scores(y, s, t, "auc", qid=qid, n_resamples=200, random_state=1)
    assert other.low != found.low
