"""MPRank and SVRank as their users meet them: optimum, solvers, kernels, inputs, model files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from pairrank import Kernel, MPRank, SVRank
from pairrank.pair_sums import cell_plan

pytestmark = pytest.mark.numeric
ALL = [MPRank(), MPRank(n=1), SVRank(), SVRank(n=2)]


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_tubes_by_cells_end_at_the_optimum_of_the_exact_sum(n, tol, kernel, rows, monkeypatch):
    X, y, qid = rows
    ranker = SVRank(1.0, epsilon=0.3, n=n, tol=tol, kernel=Kernel(kernel, method="exact"))
    exact = clone(ranker).fit(X, y, qid=qid).history_[-1]
    monkeypatch.setattr(cell_plan, "LEAST_ROWS", 2)
    monkeypatch.setattr(cell_plan, "SMALL_TABLE", 1 << 20)
    found = clone(ranker).fit(X, y, qid=qid).history_[-1]
    assert found.value == pytest.approx(exact.value, rel=2 * tol)
    if n == 1:
        assert found.gap <= tol * found.value
        assert found.value - found.gap <= exact.value * (1 + 1e-12)


def named(ranker):
    return f"{type(ranker).__name__} n={ranker.n} {ranker.solver}"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = np.round(X @ [2, -1, 0.5, 0] + rng.normal(size=200), 1)
    return X, y, rng.integers(0, 8, 200)


@pytest.mark.parametrize("ranker", ALL[1:], ids=named)
def test_an_interrupt_while_the_start_is_found_ends_the_fit(rows, ranker, monkeypatch):
    from pairrank.solvers import direct

    def interrupt(*_):
        raise KeyboardInterrupt

    X, y, qid = rows
    monkeypatch.setattr(direct._Run, "_refined", interrupt)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        left = clone(ranker).fit(X, y, qid=qid)
    assert (left.status_, left.n_iter_) == ("interrupted", 0)
