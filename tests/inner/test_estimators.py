"""Estimators inside: pivots, memory, curvature after sharpening, blocks whose reading fails."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from block_sources import blocks_of, offset_rows
from pairrank import RankSVM
from pairrank.blocks import RowBlocks
from pairrank.exceptions import PairrankError
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


@pytest.fixture(scope="module")
def rows():
    return offset_rows()


class Failing:
    """Blocks whose reading fails from the pass `first` on, and changes nothing else."""

    def __init__(self, rows, first, error):
        self.rows, self.first, self.error, self.n_passes = rows, first, error, 0

    def __call__(self):
        self.n_passes += 1
        for start in range(0, 900, 300):
            part = slice(start, start + 300)
            if self.n_passes >= self.first and start == 600:
                if isinstance(self.error, BaseException):
                    raise self.error
                yield (self.rows[0][part] * 2, self.rows[1][part], self.rows[2][part])
            else:
                yield tuple(each[part] for each in self.rows)


@pytest.mark.parametrize("error", [OSError("the disk is gone"), "changed"], ids=["lost", "changed"])
def test_an_error_of_a_later_pass_keeps_the_weights(rows, error, monkeypatch):
    monkeypatch.setattr("pairrank.blocks.local_passes.LocalPasses._caches", False)
    monkeypatch.setattr("pairrank.blocks.catalog.SAMPLE_ROWS", 100)
    exact = RankSVM(tol=1e-8).fit(*rows[:2], qid=rows[2])
    ranker = RankSVM(tol=1e-8, warm_start=True)
    with pytest.raises((OSError, PairrankError)) as caught:
        ranker.fit(RowBlocks(Failing(rows, 6, error)))
    assert not hasattr(ranker, "coef_")
    assert_array_equal(caught.value.partial_coef_, ranker.partial_coef_)
    assert np.abs(ranker.partial_coef_ - exact.coef_).max() > 1e-8
    resumed = ranker.fit(blocks_of(rows))
    assert not hasattr(resumed, "partial_coef_")
    at_zero = 900.0  # the squared hinge of each pair is 1, and the pairs weigh as many as rows
    assert exact.objective_ < resumed.history_[0].value < at_zero
    assert_allclose(resumed.coef_, exact.coef_, rtol=1e-6)


def test_an_interrupt_keeps_the_weights(rows, monkeypatch):
    monkeypatch.setattr("pairrank.blocks.local_passes.LocalPasses._caches", False)
    monkeypatch.setattr("pairrank.blocks.catalog.SAMPLE_ROWS", 100)
    blocks = RowBlocks(Failing(rows, 5, KeyboardInterrupt()))
    with pytest.warns(UserWarning, match="interrupted"):
        ranker = RankSVM(tol=1e-8).fit(blocks)
    assert ranker.status_ == "interrupted"
    assert ranker.coef_.any()
    assert ranker.n_iter_ == len(ranker.history_) - 1
