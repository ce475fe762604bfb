"""Comparing models: cells and tests equal their definitions; an interrupt keeps what is done."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import Ridge
from sklearn.model_selection import ParameterGrid
from sklearn.preprocessing import StandardScaler

from comparison_models import CALLS, Column, Counting, Stopped
from pairrank import QueryKFold, compare
from pairrank.comparison import KNOWN
from pairrank.comparison.models import BoostedRanker, Known, by_query, candidates_of
from pairrank.comparison.tables import corrected_t_test, differences_of, holm
from pairrank.datasets import make_queries
from pairrank.exceptions import MissingLibraryError, PairrankError
from pairrank.metrics import ndcg_score
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
    with_gap = np.insert(values, 1, np.nan)
    assert corrected_t_test(with_gap, ratio) == corrected_t_test(values, ratio)


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


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [-900, 900])
def test_the_t_test_does_not_depend_on_the_unit(power):
    """Squares of the differences would leave the range of float64."""
    differences = np.array([0.5, 0.25, -0.125, 0.75])
    n, *values, p_value = corrected_t_test(differences, 0.25)
    scaled = corrected_t_test(np.ldexp(differences, power), 0.25)
    assert scaled == (n, *np.ldexp(values, power).tolist(), p_value)


@pytest.fixture(scope="module")
def data():
    return make_queries(12, 15, 4, random_state=0)


def run(data, models, **more):
    given = {"X": data.X, "y": data.y, "qid": data.qid, "cv": 3, "inner_cv": 0}
    return compare(models=models, **{**given, "metrics": "ndcg@5", **more})


def slow_ridge(data, alphas, n_splits, n_inner, seed):
    """Return ndcg@5 and the chosen alpha of ridge in each fold, step by step."""
    found = []
    for train, test in QueryKFold(n_splits, shuffle=True, random_state=seed).split(
        data.X, qid=data.qid
    ):
        X, y, qid = data.X[train], data.y[train], data.qid[train]
        means = []
        for alpha in alphas:
            scores = []
            for a, b in QueryKFold(n_inner, shuffle=True, random_state=seed).split(X, qid=qid):
                scaler = StandardScaler().fit(X[a])
                model = Ridge(alpha=alpha).fit(scaler.transform(X[a]), y[a])
                predicted = model.predict(scaler.transform(X[b]))
                scores.append(ndcg_score(y[b], predicted, k=5, qid=qid[b]))
            means.append(np.mean(scores))
        alpha = alphas[int(np.argmax(means))]
        scaler = StandardScaler().fit(X)
        model = Ridge(alpha=alpha).fit(scaler.transform(X), y)
        predicted = model.predict(scaler.transform(data.X[test]))
        value = ndcg_score(data.y[test], predicted, k=5, qid=data.qid[test])
        each = ndcg_score(data.y[test], predicted, k=5, qid=data.qid[test], per_query=True)
        found.append((value, f"alpha={alpha:g}", each))
    return found


def test_cells_equal_their_definition(data):
    result = run(data, "ridge", inner_cv=2, random_state=4)
    slow = slow_ridge(data, KNOWN["ridge"].grid["alpha"], 3, 2, 4)
    assert result.scores["ndcg@5"].tolist() == [value for value, _, _ in slow]
    assert result.scores["params"].tolist() == [params for _, params, _ in slow]
    assert result.summary["ndcg@5"][0] == pytest.approx(np.mean([value for value, _, _ in slow]))
    shown = dict(zip(result.queries["qid"].tolist(), result.queries["ndcg@5"], strict=True))
    assert shown == {query: value for _, _, each in slow for query, value in each.items()}


def test_folds_are_the_units_of_one_query(data):
    result = compare(
        data.X, data.y, models={"a": Ridge(), "b": Column(1)}, cv=4, n_repeats=2, inner_cv=0,
        metrics="pairwise_accuracy",
    )  # fmt: skip
    assert result.settings["units"] == "folds"
    found = result.between("pairwise_accuracy", "a", "b")
    values = result.scores["pairwise_accuracy"].reshape(-1, 2)
    tested = corrected_t_test(values[:, 0] - values[:, 1], 45 / 135)
    assert (found.n_units, found.difference, found.low, found.high, found.p_value) == tested


@pytest.fixture(autouse=True)
def no_calls():
    CALLS.clear()


def test_an_interrupt_keeps_what_is_finished(data):
    partial = run(data, {"fine": Ridge(), "mine": Counting("mine", interrupted_at=2)})
    assert partial.interrupted
    assert partial.summary["n_folds"].tolist() == [2, 1]
    assert partial.best_ == "fine"
    assert partial.differences["n_units"].tolist() == [4]  # the queries of the fold of both


@pytest.mark.parametrize("model", [Counting("first", interrupted_at=1), Stopped()])
def test_an_interrupt_before_the_first_cell_is_raised(data, model):
    with pytest.raises(KeyboardInterrupt):
        run(data, {"first": model})


@pytest.mark.parametrize("name", KNOWN)
def test_known_models_take_every_value_of_their_grid(name):
    (candidate,) = candidates_of(name, "full", 3)
    if candidate.reason:
        pytest.skip(candidate.reason)
    for params in ParameterGrid(dict(candidate.grid)):
        candidate.estimator.set_params(**params)
    assert candidate.estimator.get_params().get("random_state", 3) == 3


@pytest.mark.parametrize(
    ("models", "said"),
    [
        ("", "names none"),
        ([Ridge()], "not a name; give estimators as a mapping"),
        ({"mine": 3}, "must be an estimator or a name"),
        ({"mine": "nothing like it"}, "there is no model"),
        ({}, "names none"),
        ({1: "ridge", "1": "ridge"}, "model '1' is named twice"),
    ],
)
def test_what_is_no_model_is_refused(models, said):
    with pytest.raises(PairrankError, match=said):
        candidates_of(models, "full", 0)


@pytest.mark.parametrize("place", ["pairrank:NotThereYet", "no_such_library:Model"])
def test_a_name_that_is_not_there_becomes_a_reason(place, monkeypatch):
    monkeypatch.setitem(KNOWN, "new", Known(place))
    (candidate,) = candidates_of("new", "full", 0)
    assert candidate.estimator is None
    assert place.split(":")[place.startswith("pairrank")] in candidate.reason


@pytest.mark.parametrize(
    ("labels", "said"),
    [([0.5, 1.0], "whole numbers"), ([-1.0, 1.0], "from 0 to 30"), (["a", "b"], "from 0 to 30")],
)
def test_boosted_rankers_refuse_labels_that_are_not_grades(labels, said):
    with pytest.raises(PairrankError, match=said):
        by_query(labels, None)


def test_a_boosted_ranker_without_its_library_says_what_to_install(data, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
    with pytest.raises(MissingLibraryError, match=r"pairrank\[lightgbm\]"):
        BoostedRanker().fit(data.X, data.y, qid=data.qid)
