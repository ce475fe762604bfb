"""Sums of squares: offsets, rows without weight, and the normal equations."""

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
from strategies import problems

pytestmark = pytest.mark.numeric


@given(seed=st.integers(0, 2**32 - 1))
def test_the_normal_matrix_of_comparisons_is_their_curvature(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2, 40))
    i = rng.integers(0, n_rows, 60)
    j = (i + rng.integers(1, n_rows, 60)) % n_rows
    pairs = Pairs(i, j, rng.exponential(size=60), rng.integers(-2, 3, 60) * 0.7, n_rows=n_rows)
    scaled = pairs.bound(n_rows, reduction="rows", ties=False)
    expected = bind(Square(), scaled).at(rng.normal(size=n_rows)).curvature().matmat(np.eye(n_rows))
    found = primal_matrix(Design(np.eye(n_rows)), scaled)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


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
    differences = Differences.build(problem.y, problem.qid, sample_weight=problem.weight)
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
