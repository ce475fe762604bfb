"""Crossing queries: how each travels as moments, what a part of their sum is, what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, PairLoss, PiecewisePolynomial, Sigmoidal, Squares, Tubes
from pairrank.exceptions import PairrankError

if TYPE_CHECKING:
    from pairrank.blocks.catalog import Catalog

MOST_LEVELS = 1024
"""A crossing query has at most so many distinct labels."""
MOST_TABLES = 100_000
"""All blocks together send at most so many tables of moments, one for each level of a query."""


@dataclass(frozen=True, eq=False)
class MomentQuery:
    """A crossing query, whose rows travel as moments per level.

    `query` is its number among the crossing queries. `levels` holds the ranks of its labels among
    the labels of all crossing rows, ascending; a *code* is a place in it. For differences it is
    empty. `edges` (n, 2) are the (low code, high code) that the graph joins; None: every higher
    code is preferred to every lower one. `scale` multiplies every pair: the reduction's factor, for
    tubes 1/n_q with n_q the query's weight.
    """

    query: int
    levels: NDArray[np.int32]
    edges: NDArray[np.int64] | None = None
    scale: float = 1.0

    @property
    def n_codes(self) -> int:
        """The number of codes, 1 for differences."""
        return max(1, self.levels.size)

    def codes(self, rows: OwnRows) -> NDArray[np.int32]:
        """Return the codes of rows of the query."""
        if not self.levels.size:
            return np.zeros(rows.scores.size, dtype=np.int32)
        if int(self.levels[-1]) == self.levels.size - 1:
            return rows.level
        return np.searchsorted(self.levels, rows.level).astype(np.int32)


class OwnRows(NamedTuple):
    """The crossing rows of a block that a part has; fields as in `BlockLayout`."""

    scores: FloatArray
    start: NDArray[np.int64]
    """Where each query begins, and the end."""
    query: NDArray[np.int32]
    level: NDArray[np.int32]
    label: FloatArray
    weight: FloatArray
    values: FloatArray | None = None
    """What a Hessian is multiplied by."""


class Part(Protocol):
    """A sum over some of the crossing queries, or a product with its Hessian; sent to all blocks.

    A summary has a method `merged(other)`. A finished part, a *table*, has `entries(rows)`, the
    gradient of these rows or their product; that of a sum also has `value`, `error`,
    `gradient_error` and `curvature()`, the part of a product.
    """

    def summary(self, rows: OwnRows) -> Any:
        """Return what others must know of these rows."""

    def finish(self, merged: Any) -> Any:
        """Return the table."""


def require_moments(loss: PairLoss, catalog: Catalog) -> None:
    """Raise a PairrankError for a loss that crossing queries cannot have."""
    if not isinstance(loss.family, PiecewisePolynomial | Sigmoidal | Squares | Tubes):
        refuse(f"the loss {type(loss).__name__} has no sums over several blocks", catalog)


def require_few_levels(n_levels: int, catalog: Catalog) -> None:
    """Raise a PairrankError for a crossing query of too many distinct labels."""
    if n_levels > MOST_LEVELS:
        refuse(f"a query has more than {MOST_LEVELS} distinct labels; round them to fewer", catalog)


def require_few_tables(
    parts: Sequence[Any], n_codes: NDArray[np.int64], n_sides: int, catalog: Catalog
) -> None:
    """Raise a PairrankError where the moments of crossing queries are too many.

    Each part has the numbers of a block's crossing queries, in an array `query`; `n_codes` is by
    number.
    """
    n_of_blocks = sum(int(n_codes[np.unique(part.query)].sum()) for part in parts)
    n_tables = n_sides * (n_of_blocks + int(n_codes.sum()))
    if n_tables > MOST_TABLES:
        refuse(f"{n_tables:,} tables of moments would travel in each evaluation", catalog)


def refuse(reason: str, catalog: Catalog) -> None:
    """Raise the PairrankError of crossing queries that cannot be summed."""
    size = catalog.n_rows * catalog.width * np.dtype(catalog.dtype).itemsize
    raise PairrankError(
        f"{catalog.n_crossing:,} queries have rows in several blocks, and {reason}. Sort the rows "
        "by query, so that blocks can be cut where queries end, or fit on rows in memory, which "
        f"needs about {2.0 * size / 1e9:.2g} GB"
    )
