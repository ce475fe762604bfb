"""What travels: bytes of summaries and tables, and the choice between moments and rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairrank.blocks._contracts import BlockLayout
from pairrank.blocks.crossing_packing import pack, pack_cells, unpack, unpack_cells
from pairrank.blocks.crossing_parts import places_of_parts
from pairrank.blocks.crossing_queries import (
    CrossingQueries,
    MomentQuery,
    moment_bytes,
    row_bytes,
    travels_as_moments,
)
from pairrank.blocks.crossing_sum import crossing_sum
from pairrank.losses import Exponential, Hinge, Logistic, Probit, Square, SquaredHinge, Tube

LOSSES = {
    "squared hinge": SquaredHinge(),
    "hinge": Hinge(),
    "no margin": Hinge(0.0),
    "logistic": Logistic(),
    "tube": Tube(0.1, 2),
    "square": Square(),
}


def one_block(loss, n_rows, rng):
    """Return a block of a query of 5 levels: its layout and scores."""
    y = rng.integers(0, 5, n_rows).astype(np.int32)
    of_levels = not isinstance(loss, Tube | Square)
    nothing = np.empty(0, dtype=np.int32)
    layout = BlockLayout(
        n_rows, None, np.arange(n_rows, dtype=np.int32), np.zeros(n_rows, dtype=np.int32),
        y if of_levels else nothing, np.empty(0) if of_levels else 1.0 * y, np.empty((0, n_rows)),
    )  # fmt: skip
    return layout, rng.normal(size=n_rows) + 0.3 * y


def bytes_of(loss, n_rows, n_blocks=4):
    """Return the bytes of all summaries, and of the merged table."""
    rng = np.random.default_rng(0)
    n_levels = 0 if isinstance(loss, Tube | Square) else 5
    query = MomentQuery(0, n_rows, n_blocks, np.arange(n_levels, dtype=np.int32))
    total = crossing_sum(loss, CrossingQueries(1, (query,)))
    up, merged = 0, None
    for index in range(n_blocks):
        layout, scores = one_block(loss, n_rows // n_blocks, rng)
        summary = total.summary(index, scores, layout)
        up += len(pickle.dumps(summary))
        merged = summary if merged is None else total.merge(merged, summary)
    return up, len(pickle.dumps(total.finish(merged).of_block(0)))


@pytest.mark.parametrize("name", LOSSES)
def test_a_query_sends_as_many_bytes_for_many_rows_as_for_few(name):
    few, many = bytes_of(LOSSES[name], 10**5), bytes_of(LOSSES[name], 10**7)
    # Without a margin cells are made wider by a factor of 2 where more of them hold scores.
    factor = 2.0 if name in ("no margin", "tube") else 1.0
    for first, second in zip(few, many, strict=True):
        assert first / (1.1 * factor) <= second <= 1.1 * factor * first


@pytest.mark.parametrize("n_blocks", [2, 8])
@pytest.mark.parametrize("name", [name for name in LOSSES if name != "square"])
def test_the_estimate_of_bytes_is_what_is_sent(name, n_blocks):
    """Widths are powers of 2, and scores of one query are wider than those of another."""
    loss = LOSSES[name]
    n_levels = 1 if isinstance(loss, Tube) else 5
    up, down = bytes_of(loss, 10**5, n_blocks)
    sent = up * (1.0 + 1.0 / n_blocks) + down * (n_blocks + 1)  # The merged one is as large.
    estimate = moment_bytes(loss.family, n_blocks, n_levels)
    assert sent / 2.0 <= estimate <= 2.0 * sent


def test_moments_travel_where_they_are_fewer_bytes_than_rows():
    loss = SquaredHinge()
    limit = moment_bytes(loss.family, 4, 5, 2) // row_bytes(1)
    assert not travels_as_moments(loss, limit, 4, 5, 2)
    assert travels_as_moments(loss, limit + 1, 4, 5, 2)
    assert not travels_as_moments(Hinge(), 3 * limit, 4, 5, 2)  # Four times as many cells.
    assert travels_as_moments(Hinge(), 5 * limit, 4, 5, 2)
    assert travels_as_moments(Logistic(), limit, 4, 5, 2)
    assert not travels_as_moments(Probit(), 100, 4, 5)
    assert not travels_as_moments(loss, 10**9, 4, 257)
    assert not travels_as_moments(Exponential(), 10**9, 2, 2)
    assert travels_as_moments(Tube(), 10**7, 4)


@pytest.mark.parametrize(
    ("name", "n_blocks"), [("squared hinge", 8), ("hinge", 3), ("logistic", 8)]
)
def test_a_query_of_5_levels_travels_as_moments_from_100000_rows_on(name, n_blocks):
    loss = LOSSES[name]
    assert travels_as_moments(loss, 100_000, n_blocks, 5)
    up, down = bytes_of(loss, 100_000, n_blocks)
    assert (1.0 + 1.0 / n_blocks) * up + (n_blocks + 1) * down < row_bytes(100_000)


def test_rows_far_away_do_not_stretch_the_table():
    rng = np.random.default_rng(0)
    query = MomentQuery(0, 10**5, 2, np.arange(5, dtype=np.int32))
    for loss in (SquaredHinge(), Logistic(), Hinge(0.0)):
        total = crossing_sum(loss, CrossingQueries(1, (query,)))
        layout, scores = one_block(loss, 10**5, rng)
        near = len(pickle.dumps(total.summary(0, scores, layout)))
        scores[::10_000] = 10.0 ** np.arange(10)
        far = len(pickle.dumps(total.summary(0, scores, layout)))
        assert far <= 1.02 * near + 10 * 5 * 20 * 8  # A cell or a box per row: 5 levels' moments.


@given(seed=st.integers(0, 2**32 - 1))
def test_every_row_has_one_part(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 30))
    query = rng.integers(0, 6, n).astype(np.int32)
    query = np.sort(query) if rng.random() < 0.5 else query
    numbers = np.flatnonzero(rng.random(6) < 0.5)
    found = np.full(n, -1)
    for part, places in places_of_parts(query, numbers).items():
        assert (found[places] == -1).all()
        found[places] = part
    for number, part in zip(query, found, strict=True):
        assert part == (1 + list(numbers).index(number) if number in numbers else 0)


@given(seed=st.integers(0, 2**32 - 1), share=st.sampled_from((0.0, 0.1, 0.5, 1.0)))
def test_tables_come_back_as_they_were_packed(seed, share):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(2, 3, 40, 3)) * (rng.random((2, 3, 40, 1)) < share)
    packed = pack(table, 3)
    np.testing.assert_array_equal(unpack(packed), table)
    assert len(pickle.dumps(packed)) <= len(pickle.dumps(table)) + 200
    position = np.unique(rng.integers(-20, 20, 30)) * int(rng.integers(1, 3))
    np.testing.assert_array_equal(unpack_cells(pack_cells(position)), position)
    np.testing.assert_array_equal(unpack_cells(pack_cells(position[:0])), position[:0])
