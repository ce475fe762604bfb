"""Scores at the borders of cells that blocks share: each has a cell, and reads its own."""

from __future__ import annotations

import numpy as np
import pytest

from pairrank.blocks._contracts import CrossingRows
from pairrank.blocks.crossing_cells import CrossingCells
from pairrank.blocks.groups import CrossingQueries
from pairrank.pair_sums.cells import windowed_grid

pytestmark = pytest.mark.numeric


def rows_of(scores, level):
    """Return rows of one query and level."""
    n, one = scores.size, np.zeros(1, np.int32)
    levels = np.full(n, level, np.int32)
    start, none = np.array([0, n]), np.empty((0, n))
    return CrossingRows(np.arange(n), one, start, none, levels, np.empty(0), scores)


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("cells_beyond", [0, 1, 2])
def test_a_score_just_beyond_the_window_has_a_cell(side, cells_beyond):
    """The window follows from quantiles, which one far score does not move."""
    scores = np.random.default_rng(0).normal(size=2000)
    scores[7] = side * 100.0
    window = windowed_grid(scores, scores.min(), scores.max(), 64.0, 1 << 20)
    border = window.position[window.last if side > 0.0 else window.first]
    scores[7] = (border + side * (1 + cells_beyond)) / window.per_h
    grid = windowed_grid(scores, scores.min(), scores.max(), 64.0, 1 << 20)
    assert grid.position[grid.last if side > 0.0 else grid.first] == border
    assert set(np.floor(scores * grid.per_h).astype(np.int64)) <= set(grid.position)


@pytest.mark.parametrize("least", [-5e-324, -1e-300, -1e-3])
def test_scores_just_below_zero_read_their_gradient_from_wide_cells(least):
    """In units of wide cells they may be -0.0.

    The losers score just below 0, the winners far below, so every pair counts in.
    """
    n = 40
    queries = CrossingQueries(np.array([0, 2]), None, np.ones(1), 1.0 * n**2)
    blocks = [
        rows_of(scores, level)
        for level, scores in enumerate((np.full(n, least), np.linspace(-1e16, -9e15, n)))
    ]
    scores = np.concatenate([rows.scores for rows in blocks])
    part = CrossingCells(((0.0, 1, 1.0),), queries, 0, scores)
    assert part.per_h[0] < 1.0
    first, second = map(part.summary, blocks)
    (value, error, gradient_error), table = part.finish(first.merged(second))
    assert gradient_error <= 1e-10 * n**2
    losers, winners = (part.entries(rows, table) for rows in blocks)
    np.testing.assert_allclose(losers, n, rtol=1e-13)
    np.testing.assert_allclose(winners, -n, rtol=1e-13)
    assert abs(value + n * (blocks[1].scores - least).sum()) <= error
