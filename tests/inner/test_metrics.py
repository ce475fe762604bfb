"""Metrics inside: tests of two models, and the log-loss of each query."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test

from judged_rows import FirstFeature
from pairrank import PairwiseClassifier
from pairrank.metrics.tables import EXACT_UP_TO, compare_values


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


pytestmark = pytest.mark.numeric


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("power", [-20, -400, -900])
def test_probabilities_do_not_depend_on_the_unit_of_small_scores(method, power):
    generator = np.random.default_rng(0)
    scores = generator.uniform(-1.0, 1.0, 200)
    codes = (scores + generator.normal(size=200) > 0).astype(float)
    wanted, found = (
        PairwiseClassifier(FirstFeature(), method=method).fit(X, codes).predict_proba(X)
        for X in (scores[:, None], np.ldexp(scores, power)[:, None])
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert np.ptp(found) > 0.2
