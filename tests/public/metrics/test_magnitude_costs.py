"""Cortes' costs of pairs as metrics, against their definitions as double loops."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank.exceptions import PairrankError
from pairrank.metrics import hinge_magnitude_cost, hinge_rank_cost, m1d, msd, tube_cost
from strategies import problems

pytestmark = pytest.mark.numeric

COSTS = [
    partial(cost, **options, n=n)
    for cost, options in (
        (hinge_rank_cost, {}),
        (hinge_magnitude_cost, {}),
        (tube_cost, {"epsilon": 0.3}),
    )
    for n in (1, 2)
] + [partial(m1d), partial(msd)]
NAMES = [f"{cost.func.__name__} {cost.keywords}" for cost in COSTS]


def power_of(metric):
    return metric.keywords.get("n", 2 if metric.func is msd else 1)


def cost_of(metric, y, s):
    """Return the matrix of the costs of all ordered pairs."""
    apart, wanted = s - s[:, None], y - y[:, None]
    if metric.func in (tube_cost, m1d, msd):
        epsilon = metric.keywords.get("epsilon", 0.0)
        return np.maximum(np.abs(apart - wanted) - epsilon, 0.0) ** power_of(metric)
    far = apart if metric.func is hinge_rank_cost else apart - wanted
    misranked = np.sign(apart) * np.sign(wanted) < 0
    return np.where(misranked, np.abs(far) ** power_of(metric), 0.0)


def defined(metric, problem, average):
    """Return the mean by the double loop, query by query, and the mean size of the pairs."""
    y, s = problem.y, problem.scores
    weight = np.ones(y.size) if problem.weight is None else problem.weight
    qid = np.zeros(y.size, dtype=int) if problem.qid is None else problem.qid
    means, sizes, totals = {}, [], []
    for query in np.unique(qid[weight > 0]):
        rows = (qid == query) & (weight > 0)
        w = np.outer(weight[rows], weight[rows])
        origin = s[rows][np.abs(s[rows]).argmin()]
        size = np.abs(s[rows] - origin) + np.abs(y[rows] - y[rows][0]) + 0.3
        size = (size + size[:, None]) ** power_of(metric)
        totals.append(w.sum())
        means[query] = (w * cost_of(metric, y[rows], s[rows])).sum() / totals[-1]
        sizes.append((w * size).sum() / totals[-1])
    by = totals if average == "pairs" else None
    return means, np.average(list(means.values()), weights=by), np.max(sizes)


@pytest.mark.parametrize("average", ["pairs", "queries"])
@pytest.mark.parametrize("metric", COSTS, ids=NAMES)
@given(problem=problems(graphs=("full",)).filter(lambda p: p.weight is None or p.weight.any()))
def test_costs_are_means_over_all_ordered_pairs(metric, average, problem):
    asked = dict(qid=problem.qid, sample_weight=problem.weight, average=average)
    means, mean, size = defined(metric, problem, average)
    found = metric(problem.y, problem.scores, **asked)
    assert found == pytest.approx(mean, rel=1e-12, abs=1e-14 * size)
    per_query = metric(problem.y, problem.scores, per_query=True, **asked)
    assert len(per_query) == len(means)
    for query, value in per_query.items():
        wanted = means[0 if query is None else query]
        assert value == pytest.approx(wanted, rel=1e-12, abs=1e-14 * size)


@pytest.mark.parametrize("metric", COSTS, ids=NAMES)
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(2, 300))
def test_many_rows_with_ties_agree_with_the_double_loop(metric, seed, n_rows):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, generator.integers(1, 9), n_rows) * 0.5
    s = np.round(generator.normal(size=n_rows), int(generator.integers(1, 9)))
    wanted = cost_of(metric, y, s).mean()
    assert metric(y, s) == pytest.approx(wanted, rel=1e-12, abs=1e-15)
    shuffled = generator.permutation(n_rows)
    assert metric(y[shuffled], s[shuffled]) == pytest.approx(wanted, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("metric", COSTS, ids=NAMES)
def test_the_unit_of_weights_does_not_matter(metric):
    generator = np.random.default_rng(0)
    y, s = 1e60 * generator.normal(size=(2, 30))
    qid, weight = np.arange(30) % 4, generator.uniform(1.0, 9.0, 30)
    wanted = metric(y, s, qid=qid, sample_weight=weight)
    for unit in (1e-99, 1e99):
        found = metric(y, s, qid=qid, sample_weight=unit * weight)
        assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("metric", COSTS, ids=NAMES)
def test_an_offset_costs_no_digits_and_huge_scores_no_warning(metric):
    generator = np.random.default_rng(0)
    y, s = generator.normal(size=(2, 60))
    for labels, scores in ((y, s + 1e7), (y + 1e7, s)):
        wanted = cost_of(metric, labels, scores).mean()
        assert metric(labels, scores) == pytest.approx(wanted, rel=1e-12)
    huge = [0.0, 1e150, -1e150, 1.0]
    assert np.isfinite(metric([0.0, 1.0, 2.0, 0.0], huge))
    value = metric([0.0, 1.0, 2.0, 0.0], np.multiply(huge, 1e150))
    assert value == math.inf if power_of(metric) == 2 else 1e299 < value < 1e301


@pytest.mark.parametrize("metric", [hinge_rank_cost, hinge_magnitude_cost, tube_cost])
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"n": 3}, r"n must be one of 1, 2 \(got 3\)"),
        ({"n": True}, "n must be a whole number"),
        ({"average": "edges"}, "average must be one of"),
    ],
)
def test_bad_arguments_of_costs_are_refused(metric, options, complaint):
    with pytest.raises(PairrankError, match=complaint):
        metric([0, 1], [0.0, 1.0], **options)
    with pytest.raises(PairrankError, match="epsilon must be at least 0"):
        tube_cost([0, 1], [0.0, 1.0], epsilon=-0.5)
