"""The errors of sums over blocks: those of whole, gathered and crossing queries, added up."""

from __future__ import annotations

import numpy as np
import pytest

from memory_passes import cut_rows
from pairrank.blocks import layouts
from pairrank.blocks.catalog import describe
from pairrank.blocks.layouts import prepare
from pairrank.blocks.objective import BlockObjective
from pairrank.estimators import _block_descent
from pairrank.losses import Logistic
from pairrank.preferences import Levels

pytestmark = pytest.mark.numeric

N_ROWS, EPS = 900, 1e-3


@pytest.mark.parametrize("route", ["whole", "gathered", "exchanged"])
def test_a_point_states_the_errors_of_all_its_queries(route, monkeypatch):
    """Queries of 300 rows are summed within eps of their weight: so is the whole."""
    monkeypatch.setattr(_block_descent, "FEW_ROWS", 0)
    if route == "exchanged":
        monkeypatch.setattr(layouts, "GATHERED_ENTRIES", 0)
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(N_ROWS, 3)), rng.integers(0, 4, N_ROWS) * 1.0, np.arange(3)
    qid = np.repeat(qid, N_ROWS // 3)
    borders = [300, 600] if route == "whole" else [300, 450]
    passes = cut_rows(X, y, borders, qid=qid)
    prepared = prepare(passes, describe(passes), Logistic(), reduction="sum")
    problem = _block_descent.block_problem(
        passes, prepared, Logistic(), penalty=1.0, factor=0.5, algorithm="auto", eps=EPS
    )
    assert (problem.gathered is not None) == (route == "gathered")
    assert (problem.crossing is not None) == (route == "exchanged")
    weight = Levels.build(y, qid).total_weight
    objective, w = BlockObjective(problem), rng.normal(size=3)
    d = np.subtract.outer(X @ w, X @ w)
    joined = np.greater.outer(y, y) & np.equal.outer(qid, qid)
    exact = 0.5 * np.logaddexp(0.0, -d)[joined].sum()
    for eps in (EPS, 1e-2 * EPS, 1e-4 * EPS):
        point = objective.at(w)
        assert point.value_error == pytest.approx(0.5 * eps * weight, rel=1e-12)
        off = 0.5 * objective._absolute_share * point.value_error * 2.0
        assert point.gradient_error == pytest.approx(off, rel=1e-12)
        assert abs(point.value - exact) <= point.value_error
        assert objective.sharpen()
