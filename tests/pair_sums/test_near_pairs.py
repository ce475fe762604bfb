"""Sums over near rows of the layout: equal to the double loop, wherever tiles and blocks end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import definitions
from pairrank.compiled.sigmoid import LOGISTIC, PROBIT
from pairrank.losses import Logistic
from pairrank.pair_sums import bind, sigmoid_offsets
from pairrank.pair_sums.exact_pairs import sum_of_edges, sum_of_ties
from pairrank.pair_sums.near_pairs import (
    LARGEST_OFFSETS,
    Partners,
    partners_by_edges,
    partners_in_groups,
    partners_in_queries,
)
from pairrank.pair_sums.sigmoid_offsets import OffsetSum
from pairrank.preferences import Levels
from strategies import KINDS, scores_of

pytestmark = pytest.mark.numeric

ROUNDING = 1e-14
"""Of the weight of a row's pairs. Exponents are differences of scores that spread by at most 64 in
a tile, or those of a pair, so they round by 64 * 2^-53 = 7e-15. Two of them change S by at most a
quarter of the sum, and S itself rounds by a few 2^-53."""
DEFINITIONS = {LOGISTIC: definitions.logistic, PROBIT: definitions.probit}
NONE = np.empty(0)


def pairs_of(levels: Levels, partners: Partners) -> np.ndarray:
    """Return the layout's places of every pair, (n_pairs, 2): the preferred row comes second."""
    pairs = []
    for at, (begin, end) in enumerate(zip(partners.begin, partners.end, strict=True)):
        group = partners.first + at
        for i in range(levels.group_start[group], levels.group_start[group + 1]):
            pairs += [(i, j) for j in range(max(begin, i + 1), end)]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def slow(levels, kind, pairs, scale, scores, v) -> tuple:
    """Return value, gradient, product, diagonal, influence and the weight of each row's pairs."""
    cost, slope, curvature = (np.vectorize(each, [float]) for each in DEFINITIONS[kind]())
    weight = np.ones(levels.n_rows) if levels.weight is None else levels.weight
    i, j = pairs.T
    w = scale[i] * weight[i] * weight[j]
    i, j = levels.row_of[i], levels.row_of[j]
    d, dv = scores[j] - scores[i], v[j] - v[i]

    def by_row(at_j, at_i):
        both = np.append(j, i), np.append(at_j, at_i)
        return np.bincount(both[0], both[1], levels.n_rows)

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


def assert_equal(levels, kind, found: OffsetSum, pairs, scale, scores, v) -> None:
    value, gradient, product, diagonal, influence, size, moved = slow(
        levels, kind, pairs, scale, scores, v
    )
    results = np.zeros((4, levels.n_rows))
    sums = found.add(1, scores, NONE, results[0])
    found.add(2, scores, v, results[1])
    found.add(2, scores, NONE, results[2])
    found.add(1, scores, v, results[3])
    assert abs(sums - value) <= ROUNDING * (size.sum() + value)
    wanted = (gradient, product, diagonal, influence)
    for result, expected, weight in zip(results, wanted, (size, moved, size, moved), strict=True):
        assert (np.abs(result - expected) <= ROUNDING * weight).all()


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(2, 80),
    n_levels=st.integers(1, 40),
    scores=st.sampled_from(KINDS),
    weighted=st.booleans(),
    how=st.sampled_from(["queries", "ties", "edges"]),
    by_query=st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_sums_of_near_rows_equal_the_double_loop(
    kind, seed, n_rows, n_levels, scores, weighted, how, by_query
):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, n_levels, n_rows) * 1.0
    qid = generator.integers(0, 4, n_rows)
    weight = generator.exponential(size=n_rows) if weighted else None
    levels = Levels.build(y, qid, graph="chain" if how == "edges" else "full", sample_weight=weight)
    if not levels.n_pairs and how != "ties":
        return
    if how == "queries":
        partners = partners_in_queries(levels, np.arange(0, levels.n_queries, 2))
    elif how == "ties":
        groups = np.flatnonzero(np.diff(levels.group_start) > 1)
        if not groups.size:
            return
        partners = partners_in_groups(levels, groups)
    else:
        partners, _ = partners_by_edges(levels, levels.edges, 12)
    of_queries = generator.exponential(size=levels.n_queries) if by_query else np.full(4, 0.3)
    of_groups = np.repeat(of_queries[: levels.n_queries], np.diff(levels.query_group))
    own = of_groups[partners.first : partners.first + partners.begin.size]
    found = OffsetSum(levels, kind, partners, own if by_query else own[:1])
    of_rows = np.repeat(of_groups, np.diff(levels.group_start))
    at, v = scores_of(scores, n_rows, generator), generator.normal(size=n_rows)
    assert_equal(levels, kind, found, pairs_of(levels, partners), of_rows, at, v)


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
@pytest.mark.parametrize("graph", ["full", "chain"])
@pytest.mark.parametrize("rows_a_block", [64, 700, 1 << 14])
def test_tiles_and_blocks_may_end_anywhere(kind, graph, rows_a_block, monkeypatch):
    monkeypatch.setattr(sigmoid_offsets, "ROWS_A_BLOCK", rows_a_block)
    generator = np.random.default_rng(1)
    n_rows = 2100
    y = generator.integers(0, 5 if graph == "full" else 300, n_rows) * 1.0
    qid = np.sort(generator.integers(0, 200, n_rows)) if graph == "full" else None
    levels = Levels.build(y, qid, graph=graph)
    if graph == "full":
        partners = partners_in_queries(levels, np.arange(levels.n_queries))
    else:
        partners, _ = partners_by_edges(levels, levels.edges, 24)
    found = OffsetSum(levels, kind, partners, np.ones(1))
    pairs = pairs_of(levels, partners)
    assert len(found.blocks) > 1 or graph == "chain" or rows_a_block > n_rows
    tiles, block_of = found.tiles, np.full(n_rows, -1)
    for number, block in enumerate(found.blocks):
        begin, end = tiles.bounds[block.start, 0], tiles.bounds[block.stop - 1, 1]
        block_of[tiles.place[begin:end]] = number
    assert (block_of[pairs] >= 0).all()
    assert (block_of[pairs[:, 0]] == block_of[pairs[:, 1]]).all()
    at, v = generator.normal(size=(2, n_rows))
    assert_equal(levels, kind, found, pairs, np.ones(n_rows), at, v)


def test_edges_are_near_if_they_lead_to_successive_later_groups():
    levels = Levels.build(np.repeat(np.arange(6.0), [1, 1, 2, 30, 1, 1]), graph="chain")
    edges = np.array([(0, 1), (0, 2), (1, 2), (1, 4), (2, 3), (3, 4), (4, 5), (5, 0)])
    partners, near = partners_by_edges(levels, edges, 12)
    assert near.tolist() == [True, True, False, False, False, False, True, False]
    assert partners.first == 0
    assert partners.begin.tolist() == [1, 0, 0, 0, 35, 0]
    assert partners.end.tolist() == [4, 0, 0, 0, 36, 0]
    assert partners_by_edges(levels, edges[:0], 12)[1].size == 0


@pytest.mark.parametrize("kind", [LOGISTIC, PROBIT])
def test_ties_and_edges_of_both_sizes_add_up(kind):
    """Groups and edges that are near are summed by offsets, the others by jobs: none twice."""
    generator = np.random.default_rng(2)
    sizes = generator.integers(1, 3 * LARGEST_OFFSETS[kind], 60)
    levels = Levels.build(np.repeat(np.arange(60.0), sizes), graph="chain")
    at, v = generator.normal(size=(2, levels.n_rows))
    everything = Partners(0, levels.group_start[:-1], levels.group_start[1:])
    ties = sum_of_ties(levels, kind, 0.5, np.arange(60))
    half = np.full(levels.n_rows, 0.5)
    assert len(ties.parts) == 2
    assert_equal(levels, kind, ties, pairs_of(levels, everything), half, at, v)
    above = Partners(0, levels.group_start[1:-1], levels.group_start[2:])
    edges = sum_of_edges(levels, 0, kind, 0.5, levels.edges)
    assert len(edges.parts) == 2
    assert_equal(levels, kind, edges, pairs_of(levels, above), half, at, v)


def test_a_chain_of_single_rows_is_summed_by_offsets_of_one():
    levels = Levels.build(np.arange(5000.0), graph="chain")
    (part,) = bind(Logistic(), levels)._parts
    (offsets,) = part.parts
    assert offsets.tiles.distances.max(axis=1).tolist() == [1, 2]
    assert (offsets.tiles.bounds[:, 3] == 1).all()
