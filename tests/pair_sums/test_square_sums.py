"""Sums of squares over differences and comparisons, against their definition pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairrank import Pairs
from pairrank.design import Design
from pairrank.losses import Square
from pairrank.objective import dual_matrix, primal_matrix
from pairrank.pair_sums import bind
from pairrank.preferences import Differences
from strategies import Problem, problems

pytestmark = pytest.mark.numeric

EPS = 1e-15


def listed_differences(problem: Problem):
    """Return (i, j, weight/(2 n_q), wanted) of every ordered pair of every query."""
    n_rows = problem.y.size
    qid = np.zeros(n_rows) if problem.qid is None else problem.qid
    weight = np.ones(n_rows) if problem.weight is None else problem.weight
    listed = []
    for i in range(n_rows):
        half = 0.5 / max(weight[qid == qid[i]].sum(), 1e-300)
        for j in np.flatnonzero((qid == qid[i]) & (weight[i] * weight > 0)):
            listed.append((i, j, half * weight[i] * weight[j], problem.y[i] - problem.y[j]))
    return listed


def listed_comparisons(pairs: Pairs):
    weight = np.ones(pairs.n_pairs) if pairs.weight is None else pairs.weight
    wanted = np.ones(pairs.n_pairs) if pairs.magnitude is None else pairs.magnitude
    return list(zip(pairs.i, pairs.j, pairs.pair_scale * weight, wanted, strict=True))


def sum_of(listed, scores, loss, y):
    """Return value and gradient of the listed pairs, and the sums of their absolute parts."""
    value = value_size = 0.0
    gradient, size = np.zeros(scores.size), np.zeros(scores.size)
    for i, j, weight, wanted in listed:
        d = scores[i] - scores[j]
        value += weight * float(loss.phi(d, wanted))
        slope = weight * float(loss.phi(d, wanted, order=1))
        gradient[i] += slope
        gradient[j] -= slope
        span = abs(scores[i]) + abs(scores[j]) + abs(wanted) + abs(y[i]) + abs(y[j])
        value_size += weight * span**2
        size[[i, j]] += 2 * weight * span
    return value, gradient, value_size, size


def product_of(listed, v):
    product, size = np.zeros(v.size), np.zeros(v.size)
    for i, j, weight, _ in listed:
        product[i] += 2 * weight * (v[i] - v[j])
        product[j] -= 2 * weight * (v[i] - v[j])
        size[[i, j]] += 2 * weight * (abs(v[i]) + abs(v[j]))
    return product, size


def bound_differences(problem: Problem) -> Differences:
    return Differences.build(problem.y, problem.qid, sample_weight=problem.weight)


@st.composite
def comparisons(draw):
    """Draw scores, a vector and comparisons of any kind among a few rows."""
    problem = draw(problems(graphs=("full",)).filter(lambda p: p.y.size > 1))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows, n_pairs = problem.y.size, draw(st.integers(1, 60))
    i = generator.integers(0, n_rows, n_pairs)
    j = (i + generator.integers(1, n_rows, n_pairs)) % n_rows
    weight = generator.exponential(size=n_pairs) if draw(st.booleans()) else None
    magnitude = generator.integers(-2, 3, n_pairs) * 0.7 if draw(st.booleans()) else None
    return problem, Pairs(i, j, weight, magnitude, n_rows=n_rows)


def check(pair_sum, listed, problem):
    with np.errstate(over="ignore", invalid="ignore"):
        value, gradient, value_size, size = sum_of(listed, problem.scores, Square(), problem.y)
        product, product_size = product_of(listed, problem.v)
    found, slope = pair_sum.at(problem.scores)[:2]
    n_rows = problem.scores.size
    assert abs(found - value) <= 50 * n_rows * EPS * value_size
    assert (np.abs(slope - gradient) <= 50 * n_rows * EPS * size.max()).all()
    curvature = pair_sum.at(problem.scores).curvature()
    assert (np.abs(curvature.matvec(problem.v) - product) <= 50 * EPS * product_size.max()).all()
    diagonal = [product_of(listed, unit)[0][row] for row, unit in enumerate(np.eye(n_rows))]
    np.testing.assert_allclose(curvature.diagonal(), diagonal, rtol=1e-12, atol=1e-13)
    both = np.vstack((problem.v, np.arange(n_rows)))
    np.testing.assert_array_equal(curvature.matmat(both)[0], curvature.matvec(problem.v))
    assert pair_sum.error == 0.0
    assert not pair_sum.sharpen()


@given(problems(graphs=("full",)))
def test_the_centred_residual_is_the_sum_over_every_difference(problem):
    check(bind(Square(), bound_differences(problem)), listed_differences(problem), problem)


@given(comparisons())
def test_the_incidences_are_the_sum_over_every_comparison(drawn):
    problem, pairs = drawn
    check(bind(Square(), pairs), listed_comparisons(pairs), problem)
    scaled = pairs.bound(pairs.n_rows, reduction="rows", ties=False)
    if scaled.pair_weight:
        check(bind(Square(), scaled), listed_comparisons(scaled), problem)
        of_rows = Design(np.eye(pairs.n_rows))
        curvature = bind(Square(), scaled).at(problem.scores).curvature()
        expected = curvature.matmat(np.eye(pairs.n_rows))
        np.testing.assert_allclose(primal_matrix(of_rows, scaled), expected, rtol=1e-9, atol=1e-12)


def test_a_large_offset_of_labels_and_scores_costs_no_digits():
    generator = np.random.default_rng(0)
    y, scores = generator.integers(0, 5, 4000) * 0.25, generator.integers(0, 64, 4000) / 64
    qid = generator.integers(0, 3, 4000)
    plain = bind(Square(), Differences.build(y, qid)).at(scores)
    offset = 1e7 * (1 + qid)
    shifted = Differences.build(y + offset, qid)
    value, gradient = bind(Square(), shifted).at(scores - 3 * offset)[:2]
    assert value == pytest.approx(plain[0], rel=1e-12)
    np.testing.assert_allclose(gradient, plain[1], atol=1e-12)


@pytest.mark.parametrize("far", [0.0, 1e7])
@pytest.mark.parametrize("one_query", [True, False])
def test_rows_that_weigh_nothing_do_not_bring_an_offset_back(one_query, far):
    generator = np.random.default_rng(0)
    weight, qid = np.repeat([1.0, 0.0], 35), np.repeat([0, 1], 35) * (not one_query)
    differences = Differences.build(np.zeros(70), qid, sample_weight=weight)
    for _ in range(10):
        values = generator.integers(0, 64, 70) / 64
        shifted = differences.centred(values + np.repeat([1e7, far], 35))
        np.testing.assert_allclose(shifted[:35], values[:35] - values[:35].mean(), atol=1e-14)


@pytest.mark.parametrize("block", [3, 1 << 21])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, np.asfortranarray])
@given(problem=problems(graphs=("full",)))
def test_the_normal_matrices_are_the_curvature_between_columns(form, block, problem):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(problem.y.size, 4))
    qid = np.zeros(problem.y.size) if problem.qid is None else problem.qid
    offset = 1e7 * (1 + qid[:, None]) if form is np.asarray else 0.0
    shifted = X + offset
    X = shifted - offset  # exact: what the addition has left of X
    differences = bound_differences(problem)
    curvature = bind(Square(), differences).at(problem.scores).curvature()
    design = Design(form(shifted))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pairrank.objective.normal_equations._BLOCK_ENTRIES", block)
        primal, dual = primal_matrix(design, differences), dual_matrix(design, differences)
    # A row of the curvature, 2 w (x - mean), adds terms of up to 4 w times the largest x. Every
    # number is a sum over rows, columns or both, made from numbers rounded at most eight times.
    weight = np.ones(problem.y.size) if differences.weight is None else differences.weight
    largest = np.abs(X).max()
    rounding = (sum(X.shape) + 8) * np.finfo(np.float64).eps
    by_columns = X.T @ curvature.matmat(X.T).T
    bound = rounding * 4 * weight.sum() * largest**2
    np.testing.assert_allclose(primal, by_columns, rtol=0, atol=bound)
    by_rows = curvature.matmat(curvature.matmat(X @ X.T).T)
    bound = 2 * rounding * (4 * weight.max() * largest) ** 2 * X.shape[1]
    np.testing.assert_allclose(
        curvature.matmat(curvature.matmat(dual).T), by_rows, rtol=0, atol=bound
    )
