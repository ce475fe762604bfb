"""Cells with roles, beside exact sums of small queries, and in several tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loss_table import LOSSES, assert_within, random_problem, with_events
from pairrank.pair_sums import bind, cells
from pairrank.preferences import OrderGraph
from strategies import Problem, problems, problems_with_roles
from sum_table import double_loop, levels_of, sum_of

pytestmark = pytest.mark.numeric

SIZES = (20, 130, 1, 12, 100, 15)
"""Of 40 rows on, a query has cells."""
GRAPHS = {
    "full": "full",
    "chain": "chain",
    "two further": OrderGraph([(low * 1.0, low + 2.0) for low in range(38)]),
}


@pytest.mark.parametrize("n_levels", [4, 20])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", ["squared_hinge", "hinge of margin 0.3"])
def test_small_and_large_queries_add_up(name, graph, n_levels, monkeypatch):
    """Every query has a scale of its own; some have bands of levels."""
    for constant, value in {"LEAST_ROWS": 40, "ROWS_PER_BAND": 3}.items():
        monkeypatch.setattr(cells, constant, value)
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
    small = np.isin(qid, np.flatnonzero(np.array(SIZES) < 40))
    assert (off[small] <= 1e-12 * wanted.gradient_size[small]).all()
    if LOSSES[name].loss.smooth:
        product = np.abs(found.curvature().matvec(v) - wanted.product)
        assert (product[small] <= 1e-12 * wanted.product_size[small]).all()
        diagonal = np.abs(found.curvature().diagonal() - wanted.diagonal)
        assert (diagonal[small] <= 1e-12 * wanted.diagonal[small]).all()
        assert np.linalg.norm(product) <= 0.05 * np.linalg.norm(wanted.product)


@pytest.fixture
def every_query_is_large(monkeypatch):
    """Let cells serve queries of any size, with bands of a few rows."""
    for constant, value in {"LEAST_ROWS": 2, "ROWS_PER_BAND": 3, "SMALL_TABLE": 1 << 20}.items():
        monkeypatch.setattr(cells, constant, value)


def assert_stated_error(found, wanted):
    rounding = 1e-12 * wanted.value_size
    assert abs(found.value - wanted.value) <= found.error + rounding
    off = np.abs(found.gradient - wanted.gradient).sum()
    assert off <= found.gradient_error + 1e-12 * wanted.gradient_size.sum()


@pytest.mark.usefixtures("every_query_is_large")
@pytest.mark.parametrize("name", ["squared_hinge", "hinge", "hinge of margin 0.3"])
@given(
    problem=st.one_of(problems(), problems_with_roles()),
    reduction=st.sampled_from(("sum", "rows", "query")),
)
def test_cells_state_their_error_for_every_problem(name, problem, reduction):
    scores = problem.scores
    if not np.abs(scores).max(initial=0.0) < 1e100:
        problem = problem._replace(scores=scores / np.abs(scores).max())
    # A slope of 1 at a kink may be counted in or out by rounding.
    problem = problem._replace(scores=problem.scores + 1e-9 * np.arange(scores.size))
    levels = levels_of(problem, reduction)
    bound = sum_of(name, "cells", levels)
    wanted = double_loop(problem, LOSSES[name].definition, levels)
    assert_stated_error(bound.at(problem.scores), wanted)


@pytest.mark.usefixtures("every_query_is_large")
@pytest.mark.parametrize("n_levels", [2, 300])
@pytest.mark.parametrize("name", ["squared_hinge", "hinge", "modified_huber"])
def test_cells_are_sharpened_to_the_exact_sum(name, n_levels):
    problem = with_events(random_problem(300, n_levels, queries=3, weighted=True))
    levels = levels_of(problem, "rows")
    bound = sum_of(name, "cells", levels)
    wanted = double_loop(problem, LOSSES[name].definition, levels)
    found = bound.at(problem.scores)
    assert found.error > 0.0
    assert_stated_error(found, wanted)
    if LOSSES[name].loss.smooth:
        curvature = found.curvature()
        off = curvature.matvec(problem.v) - wanted.product
        assert np.linalg.norm(off) <= 0.05 * np.linalg.norm(wanted.product)
        off = curvature.diagonal() - wanted.diagonal
        assert np.linalg.norm(off) <= 0.05 * np.linalg.norm(wanted.diagonal)
    errors = [found.error]
    while bound.sharpen():
        errors.append(bound.at(problem.scores).error)
    assert len(errors) == (4 if LOSSES[name].loss.smooth else 3)
    assert max(errors[1:]) < errors[0]
    exact = bound.at(problem.scores)
    assert exact.error == 0.0
    assert_within(exact.gradient, wanted.gradient, 1e-12 * wanted.gradient_size)
