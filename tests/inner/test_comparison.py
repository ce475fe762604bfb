"""Comparisons inside: tests, p-values and cells equal their definitions; interrupts; units."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import permutation_test
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from comparison_models import Column
from pairrank import PairwiseClassifier, QueryKFold, compare
from pairrank.comparison import KNOWN
from pairrank.comparison.tables import corrected_t_test, holm
from pairrank.metrics import ndcg_score
from pairrank.metrics.tables import EXACT_UP_TO, compare_values

pytestmark = pytest.mark.numeric


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


def test_without_shared_rows_the_corrected_t_test_is_the_paired_one():
    values = np.random.default_rng(0).normal(0.1, 1.0, 12)
    n, *found = corrected_t_test(values, 0.0)
    plain = stats.ttest_1samp(values, 0.0)
    wanted = [values.mean(), *plain.confidence_interval(0.95), plain.pvalue]
    assert n == 12
    np.testing.assert_allclose(found, wanted, rtol=1e-12)  # operations on numbers of like size


def test_shared_rows_widen_the_interval():
    values, ratio = np.array([0.02, 0.05, 0.01, 0.04]), 0.25
    variance = sum((v - 0.03) ** 2 for v in values) / 3
    t = 0.03 / math.sqrt((1 / 4 + ratio) * variance)
    assert corrected_t_test(values, ratio)[4] == pytest.approx(2 * stats.t.sf(t, 3), rel=1e-12)


def run(data, models, **more):
    given = {"X": data.X, "y": data.y, "qid": data.qid, "cv": 3, "inner_cv": 0}
    return compare(models=models, **{**given, "metrics": "ndcg@5", **more})


def judged(data, alpha, train, test, **more):
    """Return ndcg@5 of ridge that learns some rows, in the test rows."""
    model = make_pipeline(StandardScaler(), Ridge(alpha=alpha)).fit(data.X[train], data.y[train])
    return ndcg_score(data.y[test], model.predict(data.X[test]), k=5, qid=data.qid[test], **more)


def slow_ridge(data, alphas, n_splits, n_inner, seed):
    """Return ndcg@5, the chosen alpha and the values of queries of ridge in each fold."""
    found = []
    outer, inner = (QueryKFold(n, shuffle=True, random_state=seed) for n in (n_splits, n_inner))
    for train, test in outer.split(data.X, qid=data.qid):
        folds = list(inner.split(data.X[train], qid=data.qid[train]))
        means = [
            np.mean([judged(data, alpha, train[a], train[b]) for a, b in folds]) for alpha in alphas
        ]
        alpha = alphas[int(np.argmax(means))]
        each = judged(data, alpha, train, test, per_query=True)
        found.append((judged(data, alpha, train, test), f"alpha={alpha:g}", each))
    return found


def test_cells_equal_their_definition(data):
    result = run(data, "ridge", inner_cv=2, random_state=4)
    slow = slow_ridge(data, KNOWN["ridge"].grid["alpha"], 3, 2, 4)
    assert result.scores["ndcg@5"].tolist() == [value for value, _, _ in slow]
    assert result.scores["params"].tolist() == [params for _, params, _ in slow]
    assert result.summary["ndcg@5"][0] == pytest.approx(np.mean([value for value, _, _ in slow]))
    shown = dict(zip(result.queries["qid"].tolist(), result.queries["ndcg@5"], strict=True))
    assert shown == {query: value for _, _, each in slow for query, value in each.items()}


def test_an_interrupt_keeps_what_is_finished(data, monkeypatch):
    fits = []

    def interrupted_at_the_second(self, X, y):
        fits.append(y)
        if len(fits) == 2:
            raise KeyboardInterrupt
        return self

    monkeypatch.setattr(Column, "fit", interrupted_at_the_second)
    partial = run(data, {"fine": Ridge(), "mine": Column()})
    assert partial.interrupted
    assert partial.summary["n_folds"].tolist() == [2, 1]
    assert partial.best_ == "fine"
    assert partial.differences["n_units"].tolist() == [4]  # the queries of the fold of both


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


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("power", [-20, -400, -900])
def test_probabilities_do_not_depend_on_the_unit_of_small_scores(method, power):
    generator = np.random.default_rng(0)
    scores = generator.uniform(-1.0, 1.0, 200)
    codes = (scores + generator.normal(size=200) > 0).astype(float)
    wanted, found = (
        PairwiseClassifier(Column(), method=method).fit(X, codes).predict_proba(X)
        for X in (scores[:, None], np.ldexp(scores, power)[:, None])
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert np.ptp(found) > 0.2
