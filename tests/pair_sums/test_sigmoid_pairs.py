"""Sums pair by pair equal the double loop, and bands and the pairs within them are all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import definitions
from pairrank.compiled.sigmoid import LOGISTIC, PROBIT
from pairrank.pair_sums.bands import borders_of, within_bands
from pairrank.pair_sums.sigmoid_pairs import SigmoidPairs
from pairrank.preferences import Levels, OrderGraph
from strategies import KINDS, scores_of

pytestmark = pytest.mark.numeric

ROUNDING = 1e-14
"""Of the weight of a row's pairs. Exponents are differences of scores that spread by at most 170 in
a job, or those of a pair; beyond 64 they are those of pairs whose S is 0 or 1 to a rounding."""
DEFINITIONS = {LOGISTIC: definitions.logistic, PROBIT: definitions.probit}
NONE = np.empty(0)
GRAPHS = {
    "full": "full",
    "chain": "chain",
    "graph": OrderGraph([(0, 1), (0, 2), (1, 4), (2, 4), (5, 3), (0, 4), (6, 0), (7, 0), (3, 9)]),
}


def every_pair(levels: Levels) -> set[tuple[int, int]]:
    sizes = np.diff(levels.group_start)
    group = np.repeat(np.arange(sizes.size), sizes)
    query = np.repeat(np.arange(levels.n_queries), np.diff(levels.query_start))
    joined = (query[:, np.newaxis] == query) & (group[:, np.newaxis] > group)
    if levels.edges is not None:
        joined = np.zeros_like(joined)
        for low, high in levels.edges:
            joined |= (group[:, np.newaxis] == high) & (group == low)
    return set(zip(*np.nonzero(joined), strict=True))


def problem(seed: int, n_rows: int, n_levels: int, graph: str, *, weighted: bool) -> Levels:
    generator = np.random.default_rng(seed)
    y, qid = generator.integers(0, n_levels, n_rows) * 1.0, generator.integers(0, 3, n_rows)
    weight = generator.exponential(size=n_rows) if weighted else None
    return Levels.build(y, qid, graph=GRAPHS[graph], sample_weight=weight)


def slow(levels, kind, pairs, scale, scores, v) -> tuple:
    """Return value, gradient, product, diagonal, influence and the weight of each row's pairs."""
    cost, slope, curvature = (np.vectorize(each, [float]) for each in DEFINITIONS[kind]())
    weight = np.ones(levels.n_rows) if levels.weight is None else levels.weight
    j, i = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    w = scale[i] * weight[i] * weight[j]
    i, j = levels.row_of[i], levels.row_of[j]
    d, dv = scores[j] - scores[i], v[j] - v[i]

    def by_row(at_j, at_i):
        return np.bincount(np.append(j, i), np.append(at_j, at_i), levels.n_rows)

    curvatures, slopes = w * curvature(d), w * slope(d)
    return (
        (w * cost(d)).sum(),
        by_row(slopes, -slopes),
        by_row(curvatures * dv, -curvatures * dv),
        by_row(curvatures, curvatures),
        by_row(slopes * dv, slopes * dv),
        by_row(w, w),
        by_row(w * np.abs(dv), w * np.abs(dv)),
    )


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.filterwarnings("ignore")
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(2, 80),
    n_levels=st.integers(2, 40),
    scores=st.sampled_from(KINDS),
    weighted=st.booleans(),
)
def test_sums_equal_the_double_loop(kind, graph, seed, n_rows, n_levels, scores, weighted):
    levels = problem(seed, n_rows, n_levels, graph, weighted=weighted).reduced("query")
    generator = np.random.default_rng(seed)
    at, v = scores_of(scores, n_rows, generator), generator.normal(size=n_rows)
    scale = np.repeat(
        np.broadcast_to(levels.pair_scale, levels.n_queries), np.diff(levels.query_start)
    )
    value, *wanted, size, moved = slow(levels, kind, every_pair(levels), scale, at, v)
    found, results = SigmoidPairs(levels, kind), np.zeros((4, n_rows))
    summed = (found.costs(at, results[0]) * levels.pair_scale).sum()
    assert abs(summed - value) <= ROUNDING * (size.sum() + value)
    second, first = found.derivative(2, at), found.derivative(1, at)
    second.products(v[np.newaxis], results[1:2])
    second.diagonal(results[2])
    first.products(v[np.newaxis], results[3:4])
    for result, expected, weight in zip(results, wanted, (size, moved, size, moved), strict=True):
        assert (np.abs(result - expected) <= ROUNDING * weight).all()


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("rows", [1, 2, 7, 30])
@pytest.mark.filterwarnings("ignore")
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(4, 60), n_levels=st.integers(2, 40))
def test_pairs_within_bands_are_those_of_their_rows(graph, rows, seed, n_rows, n_levels):
    levels = problem(seed, n_rows, n_levels, graph, weighted=False)
    chosen = np.arange(levels.n_queries) != 1
    borders = borders_of(levels, chosen, rows)
    within = every_pair(within_bands(levels, chosen, borders))
    place = np.arange(levels.row_of.size)
    band = np.searchsorted(levels.group_start[borders], place, side="right")
    query = np.searchsorted(levels.query_start, place, side="right") - 1
    if graph != "full":
        band = np.where(chosen[query], -place, band)
    assert within == {(i, j) for i, j in every_pair(levels) if band[i] == band[j]}


@pytest.mark.parametrize("rows", [1, 5, 32])
def test_bands_of_several_levels_have_a_bounded_number_of_rows(rows):
    sizes = np.random.default_rng(0).integers(1, 60, 200)
    levels = Levels.build(np.repeat(np.arange(200.0), sizes))
    borders = borders_of(levels, np.array([True]), rows)
    found, several = np.diff(levels.group_start[borders]), np.diff(borders) > 1
    assert (2 * found[several] < 3 * rows).all()
    assert found.sum() == sizes.sum()
