"""Sums of tubes and squares over differences and comparisons, and normal equations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairrank import Pairs
from pairrank.design import Design
from pairrank.exceptions import PairrankError
from pairrank.losses import Square, Tube
from pairrank.objective import dual_matrix, primal_matrix
from pairrank.pair_sums import bind, cells
from pairrank.pair_sums import sorted as sorted_sums
from pairrank.preferences import Differences
from strategies import problems

pytestmark = pytest.mark.numeric

EPS = np.finfo(float).eps
TUBES = [Tube(epsilon, n) for epsilon in (0.0, 0.5) for n in (1, 2)]
LOSSES = [*TUBES, Square()]


class Listed(NamedTuple):
    """Every pair: its rows, weight, wanted difference, and the size its rounding refers to."""

    i: np.ndarray
    j: np.ndarray
    weight: np.ndarray
    wanted: np.ndarray
    size: np.ndarray


def listed_differences(y, qid, weight, scores) -> Listed:
    """List all ordered pairs of every query; scores round relative to the least of their query."""
    n_rows = y.size
    qid = np.zeros(n_rows) if qid is None else qid
    weight = np.ones(n_rows) if weight is None else weight
    i, j = np.nonzero((qid[:, None] == qid) & (weight[:, None] * weight > 0))
    half = np.array([0.5 / max(weight[qid == query].sum(), 1e-300) for query in qid])
    far = np.zeros(n_rows)
    for query in np.unique(qid):
        kept = np.flatnonzero((qid == query) & (weight > 0))
        if kept.size:
            origin = scores[kept[np.abs(scores[kept]).argmin()]]
            far[kept] = np.abs(scores[kept] - origin) + np.abs(y[kept] - y[kept[0]])
    return Listed(i, j, half[i] * weight[i] * weight[j], y[i] - y[j], far[i] + far[j])


def listed_comparisons(pairs: Pairs, scores) -> Listed:
    weight = np.ones(pairs.n_pairs) if pairs.weight is None else pairs.weight
    wanted = np.ones(pairs.n_pairs) if pairs.magnitude is None else pairs.magnitude
    size_of_pair = np.abs(scores[pairs.i] - scores[pairs.j]) + np.abs(wanted)
    return Listed(pairs.i, pairs.j, pairs.pair_scale * weight, wanted, size_of_pair)


def summed(listed, values, n_rows, sign):
    """Add each pair's value to its first row, and sign times it to its second."""
    result = np.bincount(listed.i, values, n_rows)
    return result + sign * np.bincount(listed.j, values, n_rows)


def check(loss, pair_sum, listed, scores, v):
    """Compare value, gradient and Hessian with sums of phi; pairs at the kink may go either way.

    Each of a pair's products may lose half of the smallest number to underflow.
    """
    n_rows, few = scores.size, 20 * scores.size * EPS
    epsilon, power = getattr(loss, "epsilon", 0.0), getattr(loss, "n", 2)
    lost = 4 * listed.i.size * np.finfo(float).smallest_subnormal
    d = scores[listed.i] - scores[listed.j]
    size_of_pair = listed.size + epsilon
    at_kink = isinstance(loss, Tube) & (
        np.abs(np.abs(listed.wanted - d) - epsilon) <= 8 * EPS * size_of_pair
    )
    value, gradient = pair_sum.at(scores)[:2]
    wanted = (listed.weight * loss.phi(d, listed.wanted)).sum()
    assert abs(value - wanted) <= few * (listed.weight * size_of_pair**power).sum() + lost
    slopes = summed(listed, listed.weight * loss.phi(d, listed.wanted, order=1), n_rows, -1.0)
    unsure = listed.weight * (at_kink if power == 1 else 0.0)
    size = listed.weight * (1.0 if power == 1 else size_of_pair)
    allowed = summed(listed, 2 * few * size + unsure, n_rows, 1.0) + lost
    assert (np.abs(gradient - slopes) <= allowed).all()
    assert pair_sum.error == 0.0
    assert not pair_sum.sharpen()
    if power == 1:
        with pytest.raises(PairrankError, match="no curvature"):
            pair_sum.at(scores).curvature()
        return
    curvatures = listed.weight * loss.phi(d, listed.wanted, order=2)
    curvature = pair_sum.at(scores).curvature()
    pair_sum.at(scores[::-1].copy())
    product, diagonal = curvature.matvec(v), curvature.diagonal()
    expected = summed(listed, curvatures * (v[listed.i] - v[listed.j]), n_rows, -1.0)
    span = np.abs(v[listed.i]) + np.abs(v[listed.j])
    size = listed.weight * (4 * few + 2 * at_kink)
    assert (np.abs(product - expected) <= summed(listed, size * span, n_rows, 1.0)).all()
    apart = np.where(listed.i == listed.j, 0.0, curvatures)
    expected = summed(listed, apart, n_rows, 1.0)
    assert (np.abs(diagonal - expected) <= summed(listed, size, n_rows, 1.0)).all()
    both = curvature.matmat(np.vstack((v, np.ones(n_rows))))
    np.testing.assert_array_equal(both[0], product)
    assert (np.abs(both[1]) <= summed(listed, size, n_rows, 1.0)).all()


def differences_of(problem):
    return Differences.build(problem.y, problem.qid, sample_weight=problem.weight)


@pytest.mark.parametrize("small_query", [0, sorted_sums.SMALL_QUERY])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(problem=problems(graphs=("full",)))
def test_differences_give_the_sum_over_every_pair(loss, small_query, problem):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_sums, "SMALL_QUERY", small_query)
        pair_sum = bind(loss, differences_of(problem))
    listed = listed_differences(problem.y, problem.qid, problem.weight, problem.scores)
    if isinstance(loss, Square):  # means of queries round relative to scores and labels
        size = np.abs(problem.scores) + np.abs(problem.y)
        listed = listed._replace(size=listed.size + size[listed.i] + size[listed.j])
    check(loss, pair_sum, listed, problem.scores, problem.v)


@pytest.fixture
def every_query_is_large(monkeypatch):
    monkeypatch.setattr(cells, "LEAST_ROWS", 2)
    monkeypatch.setattr(cells, "SMALL_TABLE", 1 << 20)


@pytest.mark.usefixtures("every_query_is_large")
@pytest.mark.parametrize("tube", TUBES, ids=repr)
@given(problem=problems(graphs=("full",)))
def test_cells_give_the_sum_over_every_difference_to_their_stated_error(tube, problem):
    pair_sum = bind(tube, differences_of(problem), pair_sum="cells")
    listed = listed_differences(problem.y, problem.qid, problem.weight, problem.scores)
    check_stated_errors(tube, pair_sum, listed, problem.scores)
    while pair_sum.sharpen():
        check_stated_errors(tube, pair_sum, listed, problem.scores)
    check(tube, pair_sum, listed, problem.scores, problem.v)


def check_stated_errors(tube, pair_sum, listed, scores):
    """Compare value and gradient with sums of phi, to the errors that the sum tells."""
    few = 20 * (scores.size + 4096) * EPS
    d = scores[listed.i] - scores[listed.j]
    size_of_pair = listed.size + tube.epsilon
    found = pair_sum.at(scores)
    wanted = (listed.weight * tube.phi(d, listed.wanted)).sum()
    lost = 4 * listed.i.size * np.finfo(float).smallest_subnormal
    allowed = found.error + few * (listed.weight * size_of_pair**tube.n).sum() + lost
    assert abs(found.value - wanted) <= allowed
    slopes = summed(listed, listed.weight * tube.phi(d, listed.wanted, order=1), scores.size, -1.0)
    at_kink = np.abs(np.abs(listed.wanted - d) - tube.epsilon) <= 8 * EPS * size_of_pair
    size = 1.0 if tube.n == 1 else size_of_pair
    unsure = listed.weight * (2 * few * size + (at_kink if tube.n == 1 else 0.0))
    off = np.abs(found.gradient - slopes).sum()
    assert off <= found.gradient_error + 2.0 * unsure.sum() + lost


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(problem=problems(graphs=("full",)).filter(lambda p: p.y.size > 1), seed=st.integers(0, 99))
def test_comparisons_give_the_sum_over_each_of_them(loss, problem, seed):
    generator = np.random.default_rng(seed)
    n_rows, n_pairs = problem.y.size, int(generator.integers(1, 60))
    i = generator.integers(0, n_rows, n_pairs)
    j = (i + generator.integers(1, n_rows, n_pairs)) % n_rows
    weight = generator.exponential(size=n_pairs) if seed % 2 else None
    magnitude = generator.integers(-2, 3, n_pairs) * 0.7 if seed % 3 else None
    pairs = Pairs(i, j, weight, magnitude, n_rows=n_rows)
    bound = pairs.bound(n_rows, sample_weight=problem.weight, reduction="rows", ties=False)
    for each in (pairs, bound):
        listed = listed_comparisons(each, problem.scores)
        check(loss, bind(loss, each), listed, problem.scores, problem.v)


@pytest.mark.parametrize("loss", [Tube(0.1, 1), Tube(0.1, 2), Square()], ids=repr)
@pytest.mark.parametrize("one_query", [True, False])
def test_a_large_offset_of_labels_and_scores_costs_no_digits(loss, one_query):
    generator = np.random.default_rng(0)
    y = generator.integers(0, 5, 400) * 0.25
    qid = np.zeros(400, dtype=int) if one_query else generator.integers(0, 3, 400)
    offset = 1e7 * (1 + qid)
    shifted = generator.normal(size=400) - 3 * offset
    scores = shifted + 3 * offset
    plain = bind(loss, Differences.build(y, qid)).at(scores)
    far = bind(loss, Differences.build(y + offset, qid)).at(shifted)
    assert far[0] == pytest.approx(plain[0], rel=1e-12 if loss == Square() else 1e-14)
    np.testing.assert_allclose(far[1], plain[1], atol=1e-12)


@pytest.mark.parametrize("n", [1, 2])
def test_rows_that_weigh_nothing_are_absent_whatever_they_hold(n):
    generator = np.random.default_rng(0)
    y, scores, weight = generator.normal(size=(3, 60)) ** 2
    weight[::3], y[::3], scores[::3] = 0.0, 1e300, -1e300
    kept = weight > 0
    pair_sum = bind(Tube(0.2, n), Differences.build(y, sample_weight=weight))
    without = bind(Tube(0.2, n), Differences.build(y[kept], sample_weight=weight[kept]))
    value, gradient = pair_sum.at(scores)[:2]
    expected = without.at(scores[kept])
    assert value == expected[0]
    np.testing.assert_array_equal(gradient[kept], expected[1])
    assert not gradient[~kept].any()


@pytest.mark.parametrize("many", [False, True])
def test_what_is_huge_is_finite_or_infinite_without_a_warning(many):
    qid = np.arange(4) // 4 if many else None
    differences = Differences.build(np.arange(4.0), qid)
    pairs = Pairs([0, 2], [1, 3], n_rows=4)
    for preferences in (differences, pairs):
        linear = bind(Tube(0.1, 1), preferences)
        value, gradient = linear.at(np.array([1e300, 0.0, -1e300, 1e300]))[:2]
        assert np.isfinite(value)
        assert value > 1e299
        assert np.isfinite(gradient).all()
        squared = bind(Tube(0.1, 2), preferences)
        value, gradient = squared.at(np.array([1e150, 0.0, -1e150, 0.0]))[:2]
        assert np.isfinite(value)
        assert squared.at(np.array([1e200, 0.0, -1e308, 1e308]))[0] == np.inf
        assert linear.at(np.array([np.inf, 0.0, 0.0, 0.0]))[0] == np.inf


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
