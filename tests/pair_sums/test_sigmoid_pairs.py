"""Sums pair by pair equal the double loop, and bands and the pairs within them are all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import definitions
from pairrank.compiled.sigmoid import LOGISTIC, PROBIT
from pairrank.pair_sums import bands, sigmoid_pairs
from pairrank.pair_sums.bands import make_bands
from pairrank.pair_sums.sigmoid_pairs import Jobs, SigmoidPairs, jobs_of_queries
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


def pairs_of(jobs: Jobs) -> set[tuple[int, int]]:
    """Return the layout's places of every pair (winner, loser)."""
    pairs = []
    for first, last in jobs.groups:
        for group in range(first, last):
            runs = [(jobs.group_start[first], jobs.group_start[group])]
            if len(jobs.runs):
                runs = jobs.runs[slice(*jobs.run_start[group : group + 2])]
            for i in range(*jobs.group_start[group : group + 2]):
                pairs += [(i, j) for low, high in runs for j in range(low, high)]
    assert len(set(pairs)) == len(pairs)
    assert len(pairs) == jobs.pairs.sum()
    return set(pairs)


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
    pairs_at_once=st.sampled_from([20, 1 << 27]),
)
@settings(max_examples=60, deadline=None)
def test_sums_equal_the_double_loop(
    kind, graph, seed, n_rows, n_levels, scores, weighted, pairs_at_once
):
    levels = problem(seed, n_rows, n_levels, graph, weighted=weighted).reduced("query")
    jobs = jobs_of_queries(levels, np.arange(levels.n_queries))
    assert pairs_of(jobs) == every_pair(levels)
    generator = np.random.default_rng(seed)
    at, v = scores_of(scores, n_rows, generator), generator.normal(size=n_rows)
    scale = np.repeat(
        np.broadcast_to(levels.pair_scale, levels.n_queries), np.diff(levels.query_start)
    )
    value, *wanted, size, moved = slow(levels, kind, every_pair(levels), scale, at, v)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sigmoid_pairs, "PAIRS_AT_ONCE", pairs_at_once)
        found = SigmoidPairs(levels, kind, jobs)
    results = np.zeros((4, n_rows))
    assert abs(found.value_and_gradient(at, results[0]) - value) <= ROUNDING * (size.sum() + value)
    (second,), (first,) = found.derivatives(2, at), found.derivatives(1, at)
    second.product(v, results[1])
    second.diagonal(results[2])
    first.product(v, results[3])
    for result, expected, weight in zip(results, wanted, (size, moved, size, moved), strict=True):
        assert (np.abs(result - expected) <= ROUNDING * weight).all()


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("least_rows", [1, 2, 7, 30])
@pytest.mark.filterwarnings("ignore")
@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(4, 60), n_levels=st.integers(2, 40))
@settings(max_examples=30, deadline=None)
def test_pairs_of_bands_and_within_them_are_all_pairs(graph, least_rows, seed, n_rows, n_levels):
    levels = problem(seed, n_rows, n_levels, graph, weighted=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bands, "LARGE_EDGE", least_rows)
        made = make_bands(levels, np.arange(levels.n_queries), least_rows)
    left = pairs_of(made.within)
    if graph == "full":
        among = pairs_of(made.between)
    else:
        low, start = made.links[:2]
        among = {
            (i, j)
            for high in range(start.size - 1)
            for lower in low[start[high] : start[high + 1]]
            for i in range(*made.start[high : high + 2])
            for j in range(*made.start[lower : lower + 2])
        }
    assert not left & among
    assert left | among == every_pair(levels)


@pytest.mark.parametrize("least_rows", [1, 5, 32])
def test_bands_have_enough_rows_but_beside_large_levels(least_rows):
    sizes = np.random.default_rng(0).integers(1, 60, 200)
    levels = Levels.build(np.repeat(np.arange(200.0), sizes))
    made = make_bands(levels, np.array([0]), least_rows)
    rows, groups = np.diff(made.start), made.within.groups
    small = np.diff(levels.group_start[groups]).ravel()
    assert (small < 2 * least_rows).all()
    assert rows.sum() == sizes.sum()
    assert rows.size <= 200
