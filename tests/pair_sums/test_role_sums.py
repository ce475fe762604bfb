"""Weights by role: every loss and algorithm against the double loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairrank.exceptions import PairrankError
from pairrank.pair_sums import bind, cell_plan, plan
from pairrank.preferences import Levels, Pairs
from strategies import problems_with_roles
from sum_table import (
    EVERY,
    LOSSES,
    assert_sums,
    assert_within,
    double_loop,
    levels_of,
    pairs_of,
    random_problem,
    sum_of,
)

pytestmark = pytest.mark.numeric


@pytest.mark.parametrize(("name", "algorithm"), EVERY)
@given(
    problem=problems_with_roles(),
    reduction=st.sampled_from(("sum", "rows", "query")),
    eps=st.sampled_from((1e-3, 1e-6, 1e-13)),
    rows_per_edge=st.sampled_from((0.0, 100.0, np.inf)),
)
@settings(max_examples=40)
def test_levels_equal_the_double_loop(name, algorithm, problem, reduction, eps, rows_per_edge):
    levels = levels_of(problem, reduction)
    with pytest.MonkeyPatch.context() as patch:
        # Edges that cost nothing: levels are joined by edges. Others: two halves, over and over.
        patch.setattr(plan, "_rows_per_edge", lambda *of: rows_per_edge)
        bound = sum_of(name, algorithm, levels, eps)
    wanted = double_loop(problem, LOSSES[name].definition, levels)
    assert_sums(name, bound, problem.scores, problem.v, wanted)
