"""Cell sums of large queries beside exact sums of small ones: scales, weights and graphs."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.pair_sums import bind, cell_plan
from pairrank.preferences import OrderGraph
from strategies import Problem
from sum_table import LOSSES, double_loop, levels_of

pytestmark = pytest.mark.numeric

SIZES = (30, 200, 1, 12, 150, 25)
"""Of 100 rows on, a query has cells."""
GRAPHS = {
    "full": "full",
    "chain": "chain",
    "two further": OrderGraph([(low * 1.0, low + 2.0) for low in range(38)]),
}


@pytest.mark.parametrize("n_levels", [4, 40])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", ["squared_hinge", "hinge of margin 0.3"])
def test_small_and_large_queries_add_up(name, graph, n_levels, monkeypatch):
    """Every query has a scale of its own; some have bands of levels."""
    for constant, value in {"LEAST_ROWS": 100, "ROWS_PER_LEVEL": 0, "FEW_LEVELS": 8}.items():
        monkeypatch.setattr(cell_plan, constant, value)
    for constant in ("CELLS_PER_ROW", "CELLS_PER_ROW_OF_BANDS"):
        monkeypatch.setattr(cell_plan, constant, 10_000)
    rng = np.random.default_rng(n_levels)
    n = sum(SIZES)
    order = rng.permutation(n)
    y, scores, v = rng.integers(0, n_levels, n) * 1.0, rng.normal(size=n), rng.normal(size=n)
    qid, weight = np.repeat(np.arange(len(SIZES)), SIZES)[order], rng.exponential(size=n)
    problem = Problem(y, qid, GRAPHS[graph], weight, scores, v)
    levels = levels_of(problem, "query")
    assert np.unique(levels.pair_scale).size > 4
    bound = bind(LOSSES[name].loss, levels, pair_sum="cells")
    found, wanted = bound.at(scores), double_loop(problem, LOSSES[name].definition, levels)
    assert 0.0 < found.error <= 1e-2 * wanted.value
    assert abs(found.value - wanted.value) <= found.error + 1e-12 * wanted.value_size
    off = np.abs(found.gradient - wanted.gradient)
    assert off.sum() <= found.gradient_error + 1e-12 * wanted.gradient_size.sum()
    small = np.isin(qid, np.flatnonzero(np.array(SIZES) < 100))
    assert (off[small] <= 1e-12 * wanted.gradient_size[small]).all()
    if LOSSES[name].loss.smooth:
        product = np.abs(found.curvature().matvec(v) - wanted.product)
        assert (product[small] <= 1e-12 * wanted.product_size[small]).all()
        diagonal = np.abs(found.curvature().diagonal() - wanted.diagonal)
        assert (diagonal[small] <= 1e-12 * wanted.diagonal[small]).all()
        assert np.linalg.norm(product) <= 0.05 * np.linalg.norm(wanted.product)
