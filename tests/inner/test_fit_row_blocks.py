"""`fit` on RowBlocks: arguments, attributes, callbacks, validation, interrupts and errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from block_sources import blocks_of, offset_rows
from pairrank import RankSVM
from pairrank.blocks import RowBlocks
from pairrank.exceptions import PairrankError


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
    monkeypatch.setattr("pairrank.blocks.local_passes.LocalPasses._cache", lambda *_: None)
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
    monkeypatch.setattr("pairrank.blocks.local_passes.LocalPasses._cache", lambda *_: None)
    monkeypatch.setattr("pairrank.blocks.catalog.SAMPLE_ROWS", 100)
    blocks = RowBlocks(Failing(rows, 5, KeyboardInterrupt()))
    with pytest.warns(UserWarning, match="interrupted"):
        ranker = RankSVM(tol=1e-8).fit(blocks)
    assert ranker.status_ == "interrupted"
    assert ranker.coef_.any()
    assert ranker.n_iter_ == len(ranker.history_) - 1
