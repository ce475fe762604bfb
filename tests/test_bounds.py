"""Compiled code on random hostile input; `make test-portable` runs it with every index checked.

NUMBA_BOUNDSCHECK=1 has numba check indices in code that is compiled then, not in code from a cache.
"""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config

from pairrank.compiled._jit import compiled
from pairrank.exceptions import PairrankError, PairrankWarning
from pairrank.io import read_rows
from pairrank.losses import Hinge, HuberisedHinge, Logistic, Probit, Raykar, SquaredHinge, Tube
from pairrank.metrics import kendall_tau, mean_ndcg, pairwise_accuracy
from pairrank.pair_sums import bind, cells
from pairrank.preferences import Differences, Levels
from strategies import KINDS, problems, scores_of

pytestmark = pytest.mark.numeric

ROUTES = {
    Logistic(): ("auto", "boxes", "direct"),
    Probit(): ("auto", "boxes", "beaulieu", "direct"),
    Raykar(): ("auto",),
    Hinge(): ("auto", "cells", "sorted", "selection_tree", "level_counting", "direct"),
    SquaredHinge(): ("auto", "cells", "sorted", "selection_tree", "level_counting", "direct"),
    HuberisedHinge(): ("cells",),
}
SUMS = [(loss, route) for loss, routes in ROUTES.items() for route in routes]


@compiled
def read(x, at):
    return x[at]


@pytest.mark.skipif(not config.BOUNDSCHECK, reason="needs NUMBA_BOUNDSCHECK=1")
def test_a_planted_index_out_of_bounds_is_found():
    read(np.zeros(8), 7)
    for at in (8, 12, -9):
        with pytest.raises(IndexError, match="out"):
            read(np.zeros(8), at)


def levels_of(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        return Levels.build(
            problem.y, problem.qid, graph=problem.graph, sample_weight=problem.weight
        )


@pytest.fixture
def small_queries_have_cells(monkeypatch):
    """Let cells serve queries of any size, with bands of a few rows."""
    for name, value in {"LEAST_ROWS": 2, "ROWS_PER_BAND": 3}.items():
        monkeypatch.setattr(cells, name, value)


@pytest.mark.usefixtures("small_queries_have_cells")
@pytest.mark.parametrize(("loss", "route"), SUMS)
@given(problem=problems(max_rows=400), seed=st.integers(0, 2**32 - 1))
def test_pair_sums_stay_within_their_arrays(loss, route, problem, seed):
    bound = bind(loss, levels_of(problem), pair_sum=route)
    generator = np.random.default_rng(seed)
    for each in (scores_of(kind, problem.y.size, generator) for kind in KINDS):
        value, gradient, _, curvature = bound.at(each)[:4]
        assert value >= 0.0
        assert gradient.shape == each.shape
        if not isinstance(loss, Hinge):
            assert np.isfinite(curvature().matvec(problem.v)).all()


@pytest.mark.parametrize("tube", [Tube(0.0, 1), Tube(0.5, 2)])
@given(problem=problems(max_rows=400, graphs=("full",)))
def test_tubes_and_metrics_stay_within_their_arrays(tube, problem):
    rows = {"qid": problem.qid, "sample_weight": problem.weight}
    bound = bind(tube, Differences.build(problem.y, problem.qid, sample_weight=problem.weight))
    assert bound.at(problem.scores).value >= 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PairrankWarning)
        for metric in (pairwise_accuracy, kendall_tau, mean_ndcg):
            with contextlib.suppress(PairrankError):
                metric(problem.y, problem.scores, **rows)


@given(text=st.text("0123456789.:-+eE# \n\tqidnaf", max_size=60).map(str.encode))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(PairrankError):
        read_rows(io.BytesIO(text))
