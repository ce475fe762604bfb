"""The errors of sums over blocks: those of whole and crossing queries, added up."""

from __future__ import annotations

import numpy as np
import pytest

from memory_passes import cut_rows
from pairrank.blocks.catalog import describe
from pairrank.blocks.layouts import prepare
from pairrank.blocks.problem import BlockProblem
from pairrank.losses import Logistic
from pairrank.objective import PairObjective
from pairrank.preferences import Levels

pytestmark = pytest.mark.numeric

N_ROWS, EPS = 900, 1e-3


@pytest.mark.parametrize("route", ["whole", "crossing"])
def test_a_point_states_the_errors_of_all_its_queries(route):
    """Queries of 300 rows are summed within eps of their weight: so is the whole."""
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(N_ROWS, 3)), rng.integers(0, 4, N_ROWS) * 1.0, np.arange(3)
    qid = np.repeat(qid, N_ROWS // 3)
    borders = [300, 600] if route == "whole" else [300, 450]
    passes = cut_rows(X, y, borders, qid=qid)
    prepared = prepare(passes, describe(passes), Logistic(), reduction="sum")
    assert bool(prepared.crossing) == (route == "crossing")
    problem = BlockProblem(passes, prepared, Logistic(), factor=0.5, eps=EPS)
    weight = Levels.build(y, qid).total_weight
    objective, w = PairObjective(problem), rng.normal(size=3)
    d = np.subtract.outer(X @ w, X @ w)
    joined = np.greater.outer(y, y) & np.equal.outer(qid, qid)
    exact = 0.5 * np.logaddexp(0.0, -d)[joined].sum()
    for eps in (EPS, 1e-2 * EPS, 1e-4 * EPS):
        point = objective.at(w)
        assert point.value_error == pytest.approx(0.5 * eps * weight, rel=1e-12)
        off = 0.5 * problem.sample.absolute_share * point.value_error * 2.0
        assert point.gradient_error == pytest.approx(off, rel=1e-12)
        assert abs(point.value - exact) <= point.value_error
        assert objective.sharpen()
