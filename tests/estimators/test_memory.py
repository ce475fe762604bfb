"""Memory of fits: what is of no more use is released; bytes per row of large fits."""

import gc
import weakref

import numpy as np
import pytest

from pairrank.losses import Hinge, SquaredHinge
from pairrank.objective import PairObjective, Problem
from pairrank.pair_sums import bind
from pairrank.preferences import Levels


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


def _cell_sum(loss, n_rows=30_000):
    y = np.random.default_rng(0).integers(0, 3, n_rows)
    return bind(loss, Levels.build(y), pair_sum="cells"), y


def test_a_cell_sum_that_became_exact_keeps_no_codes_of_cells():
    total, y = _cell_sum(Hinge())
    scores = y + np.random.default_rng(1).standard_normal(y.size)
    found = total.at(scores)
    code = weakref.ref(total.units[0].code)
    while total.sharpen():
        pass
    assert code() is None
    assert found.value == pytest.approx(total.at(scores).value, abs=2 * found.error)


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
