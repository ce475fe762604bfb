"""Tiles of near rows: every pair is at its distance times the stride, no row is in two places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairrank.losses import Logistic, Probit
from pairrank.pair_sums import bind
from pairrank.pair_sums.near_pairs import (
    Partners,
    partners_by_edges,
    partners_in_queries,
    ranges_of,
)
from pairrank.pair_sums.near_tiles import ROWS_A_TILE, Tiles, tiles_of
from pairrank.preferences import Levels

pytestmark = pytest.mark.numeric


def pairs_of_tiles(tiles: Tiles) -> list[tuple[int, int]]:
    """Return the places in the layout of every pair, tile by tile."""
    pairs = []
    for first, last, stop, stride in tiles.bounds:
        for i in range(first, last):
            for distance in range(*tiles.distances[:, i]):
                j = i + distance * stride
                assert j < stop
                pairs.append((int(tiles.place[i]), int(tiles.place[j])))
    return pairs


def pairs_of_partners(levels: Levels, partners: Partners) -> list[tuple[int, int]]:
    ranges = ranges_of(levels, partners, np.ones(1))
    place = np.arange(ranges.rows.start, ranges.rows.stop)
    return [
        (int(i), int(i + distance))
        for i, *ends in zip(place, *ranges.distances, strict=True)
        for distance in range(*ends)
    ]


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(2, 3000),
    n_queries=st.integers(1, 400),
    n_levels=st.integers(2, 9),
    chain=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_tiles_have_every_pair_once_at_its_distance(seed, n_rows, n_queries, n_levels, chain):
    generator = np.random.default_rng(seed)
    y = generator.integers(0, n_rows if chain else n_levels, n_rows) * 1.0
    qid = generator.integers(0, n_queries, n_rows)
    levels = Levels.build(y, qid, graph="chain" if chain else "full")
    if chain:
        partners, _ = partners_by_edges(levels, levels.edges, 12)
    else:
        small = np.flatnonzero(np.diff(levels.query_start) <= 40)
        partners = partners_in_queries(levels, small)
    if not partners.begin.any():
        return
    tiles = tiles_of(ranges_of(levels, partners, np.ones(1)))
    assert sorted(pairs_of_tiles(tiles)) == sorted(pairs_of_partners(levels, partners))
    paired = tiles.place[tiles.distances[1] > 0]
    assert np.unique(paired).size == paired.size
    assert (np.diff(tiles.bounds[:, :2], axis=1) <= ROWS_A_TILE).all()
    assert (tiles.bounds[1:, 0] == tiles.bounds[:-1, 1]).all()


def test_queries_of_equal_size_share_tiles_without_repeated_rows():
    sizes = np.repeat([3, 10, 7], [100, 300, 200])
    levels = Levels.build(
        np.concatenate([np.arange(size) * 1.0 for size in sizes]), np.repeat(np.arange(600), sizes)
    )
    partners = partners_in_queries(levels, np.arange(600))
    tiles = tiles_of(ranges_of(levels, partners, np.ones(1)))
    most = sum(ROWS_A_TILE // size for size in (3, 7)) * 7
    assert levels.n_rows <= tiles.place.size <= levels.n_rows + most
    assert len(tiles.bounds) <= levels.n_rows // (ROWS_A_TILE // 2) + 3
    assert np.unique(tiles.place).size == levels.n_rows


@pytest.mark.parametrize("loss", [Logistic(), Probit()])
def test_small_queries_are_summed_in_lanes_and_large_ones_by_jobs(loss):
    sizes = np.repeat([10, 900], [50, 2])
    y = np.random.default_rng(0).integers(0, 5, sizes.sum()) * 1.0
    levels = Levels.build(y, np.repeat(np.arange(52), sizes))
    lanes, jobs = bind(loss, levels, pair_sum="direct")._parts[0].parts
    assert lanes.tiles.bounds.tolist() == [[0, 500, 500, 50]]
    assert len(jobs.jobs) == 2
