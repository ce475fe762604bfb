"""Holm's correction, the corrected t test, and which pairs of models are tested."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pairrank.comparison.tables import corrected_t_test, differences_of, holm
from pairrank.metrics.tables import compare_values

P_VALUES = st.lists(st.one_of(st.floats(0, 1), st.just(math.nan)), max_size=12)


def slow_holm(p_values):
    """Return adjusted p-values by the definition: the largest product among smaller p-values."""
    known = sorted(p for p in p_values if not math.isnan(p))
    products = [p * (len(known) - place) for place, p in enumerate(known)]
    found = []
    for p in p_values:
        below = [product for q, product in zip(known, products, strict=True) if q <= p]
        found.append(math.nan if math.isnan(p) else min(1.0, max(below)))
    return found


@given(P_VALUES)
def test_holm_equals_its_definition(p_values):
    found = holm(np.array(p_values, dtype=np.float64))
    np.testing.assert_array_equal(found, slow_holm(p_values))


@given(P_VALUES)
def test_adjusted_p_values_are_never_smaller(p_values):
    given = np.array(p_values, dtype=np.float64)
    known = ~np.isnan(given)
    adjusted = holm(given)
    assert (adjusted[known] >= given[known]).all()
    assert (adjusted[known] <= 1).all()


def test_without_shared_rows_the_corrected_t_test_is_the_paired_one():
    values = np.random.default_rng(0).normal(0.1, 1.0, 12)
    n, mean, low, high, p_value = corrected_t_test(values, 0.0)
    plain = stats.ttest_1samp(values, 0.0)
    interval = plain.confidence_interval(0.95)
    assert n == 12
    np.testing.assert_allclose(
        [mean, low, high, p_value],
        [values.mean(), interval.low, interval.high, plain.pvalue],
        rtol=1e-12,  # a dozen operations on numbers of like size
    )


def test_the_corrected_t_test_follows_its_formula():
    values, ratio = np.array([0.02, 0.05, 0.01, 0.04]), 0.25
    variance = sum((v - 0.03) ** 2 for v in values) / 3
    t = 0.03 / math.sqrt((1 / 4 + ratio) * variance)
    _, _, low, high, p_value = corrected_t_test(values, ratio)
    assert p_value == pytest.approx(2 * stats.t.sf(t, 3), rel=1e-12)
    assert (low + high) / 2 == pytest.approx(0.03, rel=1e-12)


def test_folds_that_do_not_count_are_left_out():
    known = np.array([0.1, 0.3, 0.2])
    with_gap = np.array([0.1, np.nan, 0.3, 0.2])
    assert corrected_t_test(with_gap, 0.5) == corrected_t_test(known, 0.5)


@pytest.mark.parametrize(("values", "p_value"), [([0.0] * 3, 1.0), ([0.1] * 2, 0.0)])
def test_differences_without_variance(values, p_value):
    assert corrected_t_test(np.array(values), 0.5)[4] == p_value


@pytest.mark.parametrize("values", [[], [0.1], [math.nan, 0.1], [math.inf, 0.1]])
def test_fewer_than_two_units_give_no_p_value(values):
    assert math.isnan(corrected_t_test(np.array(values), 0.5)[4])
    by_query = {"a": np.array(values), "b": np.zeros(len(values))}
    (found,) = differences_of("map", by_query, baseline=None, ratio=None, n_resamples=9, seed=0)
    assert math.isnan(found.p_value)
    assert math.isnan(found.adjusted_p_value)


def three_models():
    rng = np.random.default_rng(1)
    return {name: rng.random(30) + shift for name, shift in (("a", 0.3), ("b", 0.1), ("c", 0.0))}


def test_queries_are_tested_as_two_models_are():
    values = three_models()
    found = differences_of("map", values, baseline=None, ratio=None, n_resamples=199, seed=5)
    assert [(each.model, each.other) for each in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    for each in found:
        two = compare_values(values[each.model], values[each.other], 199, 0.95, 5)
        assert (each.difference, each.low, each.high) == (two.difference, two.low, two.high)
        assert (each.p_value, each.n_units) == (two.p_value, two.n_queries)
    adjusted = slow_holm([each.p_value for each in found])
    assert [each.adjusted_p_value for each in found] == adjusted


def test_a_baseline_is_compared_with_every_other_model_only():
    found = differences_of(
        "map", three_models(), baseline="b", ratio=0.5, n_resamples=9, seed=0
    )  # fmt: skip
    assert [(each.model, each.other) for each in found] == [("a", "b"), ("c", "b")]
    assert found[0].adjusted_p_value == min(1.0, 2 * found[0].p_value)


def test_a_baseline_without_values_leaves_nothing_to_test():
    found = differences_of(
        "map", three_models(), baseline="gone", ratio=0.5, n_resamples=9, seed=0
    )  # fmt: skip
    assert found == []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [-900, 900])
def test_the_t_test_does_not_depend_on_the_unit(power):
    """Squares of the differences would leave the range of float64."""
    differences = np.array([0.5, 0.25, -0.125, 0.75])
    n, *values, p_value = corrected_t_test(differences, 0.25)
    scaled = corrected_t_test(np.ldexp(differences, power), 0.25)
    assert scaled == (n, *np.ldexp(values, power).tolist(), p_value)
