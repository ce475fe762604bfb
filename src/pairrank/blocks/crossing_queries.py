"""Crossing queries: which travel as moments, how, and how many bytes that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import (
    FloatArray,
    LossFamily,
    PairLoss,
    PiecewisePolynomial,
    Sigmoidal,
    Squares,
    Tubes,
)
from pairrank.pair_sums.cell_grid import cells_per_margin
from pairrank.pair_sums.cell_tables import is_smooth
from pairrank.preferences import Differences, Levels
from pairrank.preferences.order_graph import Graph

IntArray = NDArray[np.int64]

SCORE_BYTES = 8
_HOPS = 4
"""A row's score goes to the worker that merges and to the client, its gradient goes the same way
back."""
_MARGINS, _WITHOUT_MARGIN = 6, 12
"""About so many margins hold the scores of a fitted query. Where no margin is positive, about so
many of the `MARGINS_PER_SPREAD` that set the width of cells have cells that hold scores."""
_CELL_BYTES = 3 * SCORE_BYTES
"""Of the moments of a cell on the way to the client, and of its polynomial on the way back."""
_BOX_BYTES = 15 * 10 * SCORE_BYTES
"""Of about 15 boxes of about 10 numbers, each way."""
FEW_LEVELS = 256
"""The scores of queries of more levels are exchanged: their moments would be larger."""
_SQUARE_BYTES = 48
"""Of a query's number (twice), weight, mean (in two parts) and sum of squares, each way."""


@dataclass(frozen=True, eq=False)
class MomentQuery:
    """A crossing query whose rows travel as moments per level.

    `query` is its number among the crossing queries, `n_rows` and `n_blocks` the rows and blocks of
    it. `levels` holds the ranks of its labels among the labels of all blocks, ascending; a *code*
    is a place in it. For differences it is empty. `edges` (n, 2) are the (low code, high code) that
    the graph joins; None: every higher code is preferred to every lower one. `scale` multiplies
    every pair: the reduction's factor, for tubes 1/n_q with n_q the query's weight.
    """

    query: int
    n_rows: int
    n_blocks: int
    levels: NDArray[np.int32]
    edges: IntArray | None = None
    scale: float = 1.0

    @property
    def n_codes(self) -> int:
        """The number of codes, 1 for differences."""
        return max(1, self.levels.size)


@dataclass(frozen=True, eq=False)
class CrossingQueries:
    """The queries that have rows in several blocks, as a catalog of the blocks knows them.

    `moments` are those that travel as moments, by ascending number. The others send their rows'
    scores. Squares send sums of all queries, so they need neither.

    `exchanged` are the preferences over the rows of the others, in the order of the blocks and then
    of `BlockLayout.rows`, scaled by their reduction; None where there are no such rows. They stay
    where they are made: see `exchanged_levels`.
    """

    n_queries: int
    moments: tuple[MomentQuery, ...] = ()
    exchanged: Levels | Differences | None = None

    @property
    def numbers(self) -> IntArray:
        """The numbers of the queries that travel as moments, ascending."""
        return np.array([each.query for each in self.moments], dtype=np.int64)


def exchanged_levels(
    labels: NDArray,
    query: NDArray[np.int32],
    weight: FloatArray,
    scale: FloatArray,
    *,
    graph: Graph = "full",
) -> Levels:
    """Return the preferences over exchanged rows, for `CrossingQueries`.

    `labels` and `query` (n,), and `weight` (S, n) as in `BlockLayout`, are of the exchanged rows of
    all blocks in order; `scale` (n_queries,) has the factor on the pairs of each crossing query.
    """
    from dataclasses import replace

    sides = {0: (), 1: ("sample_weight",), 2: ("winner_weight", "loser_weight")}[len(weight)]
    given = {name: np.ascontiguousarray(w) for name, w in zip(sides, weight, strict=True)}
    levels = Levels.build(labels, query, graph=graph, **given)
    first = levels.row_of[levels.query_start[:-1]]
    return replace(levels, pair_scale=np.ascontiguousarray(scale[query[first]], dtype=np.float64))


def travels_as_moments(
    loss: PairLoss, n_rows: int, n_blocks: int, n_levels: int = 1, n_sides: int = 1
) -> bool:
    """Whether a crossing query's moments are fewer bytes per pass than its rows' scores.

    `n_levels` is 1 for differences; `n_sides` is 2 with weights by role. False for losses without
    moments and for more than 256 levels. For squares, whose moments are always few, True.
    """
    bytes_of = moment_bytes(loss.family, n_blocks, n_levels, n_sides)
    return bytes_of is not None and bytes_of < row_bytes(n_rows)


def row_bytes(n_rows: int) -> int:
    """Return the bytes per pass of exchanged rows: scores up, gradients down, in two hops each."""
    return _HOPS * SCORE_BYTES * n_rows


def moment_bytes(
    family: LossFamily, n_blocks: int, n_levels: int = 1, n_sides: int = 1
) -> int | None:
    """Return about the bytes per pass of a query's moments, both ways; None where it has none.

    Each block sends its moments to the worker that merges, which sends one table to the client; the
    client's table goes the same way back. The bytes are those of the first evaluations: `sharpen`
    makes cells narrower.
    """
    if isinstance(family, Squares):
        return 2 * _SQUARE_BYTES * (n_blocks + 1)
    tables = (n_blocks + 1) * n_levels * n_sides
    if n_levels > FEW_LEVELS:
        return None
    if isinstance(family, PiecewisePolynomial):
        margin = max(margin for margin, _, _ in family.terms)
        return tables * 2 * _cell_bytes(margin, is_smooth(family.terms))
    if isinstance(family, Tubes):
        return tables * 2 * _cell_bytes(-family.epsilon, family.power == 2)
    if isinstance(family, Sigmoidal):
        return tables * 2 * _BOX_BYTES
    return None


def _cell_bytes(margin: float, smooth: bool) -> int:
    """Return about the bytes of a level's cells; `margin` is the largest one."""
    return (_MARGINS if margin > 0.0 else _WITHOUT_MARGIN) * cells_per_margin(smooth) * _CELL_BYTES
