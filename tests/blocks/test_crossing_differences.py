"""Squares and tubes over queries that cross blocks against the sum in memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks_definition import Crossed, cut_differences
from pairrank.blocks._contracts import CrossingRows
from pairrank.blocks.crossing import MomentQuery, crossing_sum
from pairrank.blocks.crossing_cells import CrossingCells, extent_of
from pairrank.losses import Square, Tube
from pairrank.pair_sums import bind
from pairrank.pair_sums.cells import CELLS_PER_MARGIN, MARGINS_PER_SPREAD
from pairrank.preferences import Differences
from strategies import Problem, problems

pytestmark = pytest.mark.numeric

TUBES = {
    "n = 1": Tube(0.1, 1),
    "n = 2": Tube(0.1, 2),
    "no epsilon": Tube(0.0, 1),
    "wide": Tube(2.0, 2),
}
WITH_ITSELF = np.zeros((1, 2), dtype=np.int64)
FITS = 2.0**40
"""Scores up to this fit every grid of these losses."""
UNIT = float(np.finfo(float).eps)
seeds = st.integers(0, 2**32 - 1)


class EveryDifference:
    """Every ordered pair of a query, one by one."""

    def __init__(self, problem):
        y, n = problem.y, problem.y.size
        qid = np.zeros(n, dtype=int) if problem.qid is None else problem.qid
        weight = np.ones(n) if problem.weight is None else problem.weight
        self.i, self.j = np.nonzero(qid[:, None] == qid[None, :])
        total = np.array([weight[qid == own].sum() for own in qid])
        halves = np.where(total > 0.0, 2.0 * total, 1.0)
        self.weight = weight[self.i] * weight[self.j] / halves[self.i]
        self.wanted = y[self.i] - y[self.j]
        self.d = problem.scores[self.i] - problem.scores[self.j]
        self.n_rows = n

    def value(self, loss):
        return float((self.weight * loss.phi(self.d, self.wanted)).sum())

    def slopes(self, loss):
        return self.weight * loss.phi(self.d, self.wanted, order=1)

    def gradient(self, loss):
        slopes, n = self.slopes(loss), self.n_rows
        return np.bincount(self.i, slopes, n) - np.bincount(self.j, slopes, n)


def kept_of(problem):
    """Return the problem without rows of weight 0, which are in no layout."""
    if problem.weight is None or not problem.weight.any():
        return problem._replace(weight=None)
    kept = problem.weight > 0
    return Problem(*(each[kept] if isinstance(each, np.ndarray) else each for each in problem))


def summed(loss, problem, seed):
    rng = np.random.default_rng(seed)
    differences = Differences.build(problem.y, problem.qid, sample_weight=problem.weight)
    n_blocks = int(rng.integers(1, 7))
    cut = cut_differences(differences, n_blocks, rng)
    queries = tuple(
        MomentQuery(q, 1, WITH_ITSELF, 1.0 / weight)
        for q, weight in enumerate(differences.query_weight.tolist())
    )
    return Crossed(crossing_sum(loss, queries), cut), differences


@pytest.mark.parametrize("other", [[0.0], [0.3, 0.3], [-1e7], [0.1, 1e9], [-1e8, 0.5, 1e9]])
def test_rows_outside_of_the_sample_have_cells_of_their_own(other):
    """The width of cells follows from a sample; a few scores anywhere add a few cells."""
    scores = np.random.default_rng(0).normal(size=20_000)
    part = CrossingCells(((-0.25, 2, 1.0),), MomentQuery(0, 1, WITH_ITSELF, 1.0))
    part = part.placed(*extent_of(scores[::10], scores[::10]))
    limit = 4 * MARGINS_PER_SPREAD * CELLS_PER_MARGIN
    assert limit / 4 <= np.ptp(np.quantile(scores, [0.001, 0.999])) * part.per_h <= limit
    merged = None
    for own in (scores, np.array(other)):
        start, query = np.array([0, own.size]), np.zeros(1, np.int32)
        code = np.zeros(own.size, np.int32)
        rows = CrossingRows(own, query, start, code, np.empty((0, own.size)))
        found = part.summary(rows)
        merged = found if merged is None else merged.merged(found)
    cell, count = np.unique(np.floor(np.append(scores, other) * part.per_h), return_counts=True)
    used = merged.sums[0, 0, :, 0] > 0
    np.testing.assert_array_equal(merged.position[used], cell)
    np.testing.assert_array_equal(merged.sums[0, 0, used, 0], count)
    assert merged.position.size <= 2 * limit


@given(problem=problems(), seed=seeds)
def test_squares_are_those_of_the_sum_in_memory(problem, seed):
    problem = kept_of(problem)
    sums, differences = summed(Square(), problem, seed)
    wanted = bind(Square(), differences).at(problem.scores)
    found, gradient = sums.at(problem.scores)
    if not np.isfinite(wanted.value):
        assert not np.isfinite(found.value)
        return
    assert (found.error, found.gradient_error) == (0.0, 0.0)
    # Of the scores' size, to which means are rounded; offsets of features are subtracted before.
    weight = 1.0 if problem.weight is None else problem.weight
    size = max(float(np.abs(problem.scores).max()), float(np.ptp(problem.y)), 1e-140)
    allowed = 100.0 * UNIT * size
    np.testing.assert_array_less(
        np.abs(gradient - wanted.gradient) * np.ones(gradient.size),
        np.maximum(weight * allowed * 2.0, 1e-290),
    )
    total = float(np.sum(weight * np.ones(gradient.size)))
    assert abs(found.value - wanted.value) <= max(total * allowed * size, 1e-280)
    product = sums.product(problem.scores, problem.v)
    wanted_product = wanted.curvature().matvec(problem.v)
    most = 100.0 * UNIT * np.abs(problem.v).max() * np.max(weight)
    assert np.abs(product - wanted_product).max() <= max(2.0 * most, 1e-290)


@pytest.mark.parametrize("name", TUBES)
@given(problem=problems(), seed=seeds)
def test_stated_errors_of_tubes_by_cells_hold(name, problem, seed):
    problem = kept_of(problem)
    loss, every = TUBES[name], EveryDifference(problem)
    sums, _ = summed(loss, problem, seed)
    found, gradient = sums.at(problem.scores)
    if not np.isfinite(found.value):
        assert np.abs(problem.scores).max() > FITS
        return
    largest = np.abs(problem.scores).max() + np.abs(problem.y).max()
    cells = sum(part.position.size for part in found.parts.values())
    rounding = 4.0 * (every.n_rows + cells + 4096) * UNIT
    # Scores less labels are rounded, by which every difference may be off.
    off = 8.0 * UNIT * largest
    miss = np.abs(every.wanted - every.d)
    slopes = loss.n * np.where(miss + off > loss.epsilon, (miss + off) ** (loss.n - 1), 0.0)
    size = float((every.weight * (miss**loss.n + slopes * off)).sum())
    allowed = found.error + rounding * size + float((every.weight * slopes).sum()) * off
    assert abs(found.value - every.value(loss)) <= allowed
    kink = every.weight[np.abs(miss - loss.epsilon) <= off] if loss.n == 1 else off * every.weight
    allowed = found.gradient_error + 2.0 * rounding * float((every.weight * slopes).sum())
    assert np.abs(gradient - every.gradient(loss)).sum() <= allowed + 4.0 * float(kink.sum())


def test_sharpened_tubes_state_a_relative_error_of_1e_9():
    rng = np.random.default_rng(0)
    n = 5000
    y, loss = rng.normal(size=n), Tube(0.1, 2)
    problem = Problem(y, None, "full", None, 0.5 * y + rng.normal(size=n), y)
    sums, differences = summed(loss, problem, 2)
    wanted = bind(loss, differences, pair_sum="sorted").at(problem.scores)
    while sums.sum.sharpen():
        pass
    found, gradient = sums.at(problem.scores)
    size = np.abs(wanted.gradient).sum()
    assert found.gradient_error <= 1e-9 * size
    assert np.abs(gradient - wanted.gradient).sum() <= found.gradient_error + 1e-11 * size
    assert abs(found.value - wanted.value) <= found.error + 1e-12 * wanted.value


def test_products_of_squared_tubes_by_two_passes():
    rng = np.random.default_rng(0)
    n = 2000
    y, v, loss = rng.normal(size=n), rng.normal(size=n), Tube(0.3, 2)
    weight = rng.uniform(0.5, 2.0, n)
    problem = Problem(y, np.arange(n) % 2, "full", weight, rng.normal(size=n), v)
    sums, differences = summed(loss, problem, 2)
    wanted = bind(loss, differences, pair_sum="sorted").at(problem.scores).curvature().matvec(v)
    product = sums.product(problem.scores, v)
    assert np.abs(product - wanted).sum() <= 5e-3 * np.abs(wanted).sum()
