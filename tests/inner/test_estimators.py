"""Estimators inside: pivots, memory, and curvature after sharpening."""

from __future__ import annotations

import gc
import weakref

import numpy as np

from pairrank.losses import SquaredHinge
from pairrank.objective import PairObjective, Problem
from pairrank.pair_sums import bind
from pairrank.preferences import Levels
from pairrank.solvers.direct import dual_inverse, primal_inverse


def test_a_pivot_is_singular_by_its_size_and_not_by_its_sign():
    unit = np.finfo(np.float64).eps
    for pivot, is_solved in ((unit, False), (-unit, False), (0.0, False), (64 * unit, True)):
        matrix = np.array([[1.0, 1.0], [1.0, 1.0 + pivot]])
        assert (primal_inverse(matrix, 1e-300) is not None) == is_solved
    assert primal_inverse(np.array([[1.0, 1.0], [1.0, 1.0 + 64 * unit]]), 1e-300, 10_000) is None
    assert dual_inverse(np.eye(2), 0.5 * unit) is None
    assert dual_inverse(np.eye(2), 2 * unit) is not None


def test_an_objective_is_freed_without_the_garbage_collector():
    X, y = np.eye(4), np.arange(4.0)
    gc.disable()
    try:
        objective = PairObjective(Problem(X, Levels.build(y), SquaredHinge()))
        objective.at(np.zeros(4)), objective.at(np.ones(4))
        known = weakref.ref(objective)
        del objective
        assert known() is None
    finally:
        gc.enable()


def test_a_curvature_asked_for_after_sharpening_is_that_of_its_own_evaluation():
    y = np.random.default_rng(0).integers(0, 3, 30_000)
    qid = np.repeat([0, 1], [25_000, 5_000])  # the small query is summed exactly, beside the cells
    total = bind(SquaredHinge(), Levels.build(y, qid), pair_sum="cells")
    scores = y + np.random.default_rng(1).standard_normal(y.size)
    v = np.random.default_rng(2).standard_normal(y.size)
    expected = total.at(scores).curvature().matvec(v)
    found = total.at(scores)
    while total.sharpen():
        pass
    np.testing.assert_array_equal(found.curvature().matvec(v), expected)
