"""Crossing queries: how each travels as moments, and which are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import PairLoss, PiecewisePolynomial, Sigmoidal, Squares, Tubes
from pairrank.exceptions import PairrankError

if TYPE_CHECKING:
    from pairrank.blocks.catalog import Catalog

IntArray = NDArray[np.int64]

MOST_LEVELS = 1024
"""A crossing query has at most so many distinct labels."""
MOST_TABLES = 100_000
"""All blocks together send at most so many tables of moments, one for each level of a query."""


@dataclass(frozen=True, eq=False)
class MomentQuery:
    """A crossing query, whose rows travel as moments per level.

    `query` is its number among the crossing queries, `n_rows` and `n_blocks` the rows and blocks of
    it. `levels` holds the ranks of its labels among the labels of all crossing rows, ascending; a
    *code* is a place in it. For differences it is empty. `edges` (n, 2) are the (low code, high
    code) that the graph joins; None: every higher code is preferred to every lower one. `scale`
    multiplies every pair: the reduction's factor, for tubes 1/n_q with n_q the query's weight.
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


def require_moments(loss: PairLoss, catalog: Catalog) -> None:
    """Raise a PairrankError for a loss that crossing queries cannot have."""
    if not isinstance(loss.family, PiecewisePolynomial | Sigmoidal | Squares | Tubes):
        refuse(f"the loss {type(loss).__name__} has no sums over several blocks", catalog)


def require_few_levels(n_levels: int, catalog: Catalog) -> None:
    """Raise a PairrankError for a crossing query of too many distinct labels."""
    if n_levels > MOST_LEVELS:
        refuse(f"a query has more than {MOST_LEVELS} distinct labels; round them to fewer", catalog)


def require_few_tables(queries: Sequence[MomentQuery], n_sides: int, catalog: Catalog) -> None:
    """Raise a PairrankError where the moments of crossing queries are too many."""
    n_tables = sum((query.n_blocks + 1) * query.n_codes * n_sides for query in queries)
    if n_tables > MOST_TABLES:
        refuse(f"{n_tables:,} tables of moments would travel in each evaluation", catalog)


def refuse(reason: str, catalog: Catalog) -> None:
    """Raise the PairrankError of crossing queries that cannot be summed."""
    size = catalog.n_rows * catalog.width * np.dtype(catalog.dtype).itemsize
    raise PairrankError(
        f"{catalog.n_crossing:,} queries have rows in several blocks, and {reason}. Sort the rows "
        "by query and cut blocks where queries end, or fit on rows in memory, which needs about "
        f"{2.0 * size / 1e9:.2g} GB"
    )
