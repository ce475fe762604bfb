"""Sums over queries that cross blocks: each block sends moments, and all get one table back."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from pairrank._protocols import FloatArray, PairLoss, PiecewisePolynomial, Sigmoidal, Squares, Tubes
from pairrank.blocks._contracts import CrossingRows
from pairrank.blocks.catalog import Catalog
from pairrank.blocks.crossing_boxes import CrossingBoxes
from pairrank.blocks.crossing_cells import CrossingCells
from pairrank.blocks.groups import CrossingQueries
from pairrank.blocks.squares import CrossingSquares
from pairrank.exceptions import PairrankError
from pairrank.pair_sums.plan import check_eps
from pairrank.pair_sums.profiles import LEAST_EPS

MOST_LEVELS = 1024
"""A crossing query has at most so many distinct labels."""
MOST_TABLES = 100_000
"""All blocks together send at most so many tables of moments, one for each class of a block."""


Summary = dict[int, Any]
"""What has `merged(other)`, by query or of all queries at 0; None where the value is infinite."""


class CrossingSum(Protocol):
    """The sum of a loss over the pairs of crossing queries; sent to all blocks."""

    def summary(self, rows: CrossingRows) -> Summary:
        """Return what other blocks must know of a block's rows."""

    def finish(self, merged: Summary) -> tuple[FloatArray, Any]:
        """Return totals and what gives each row its gradient, from the summary of all blocks.

        The totals are the value, a bound on its error, and one on the sum over rows of the errors
        of the gradients.
        """

    def entries(self, rows: CrossingRows, table: Any) -> FloatArray:
        """Return the gradients of a block's rows; NaN where the value is infinite."""


def crossing_sum(
    loss: PairLoss, queries: CrossingQueries, eps: float, sharpness: int, scores: FloatArray
) -> CrossingSum:
    """Return the sum of a loss that has moments.

    `scores` are some of those that will be summed, from which cells get their width. Each further
    `sharpness` divides eps by 100, or the width of cells by 16; sums by cells compute their own
    errors.
    """
    family = loss.family
    if isinstance(family, Squares):
        return CrossingSquares()
    if isinstance(family, PiecewisePolynomial):
        return CrossingCells(family.terms, queries, sharpness, scores)
    if isinstance(family, Tubes):
        return CrossingCells(((-family.epsilon, family.power, 1.0),), queries, sharpness, scores)
    assert isinstance(family, Sigmoidal)
    return CrossingBoxes(family, queries, sharper_eps(eps, sharpness))


def sharper_eps(eps: float, sharpness: int) -> float:
    """Return eps divided by 100 so many times, but at least the least eps of box sums."""
    check_eps(eps)
    return max(eps * 0.01**sharpness, min(eps, LEAST_EPS))


def merged(first: Summary, second: Summary) -> Summary:
    """Return the summaries of two sets of blocks together; may write into the first."""
    for key, part in second.items():
        known = first.setdefault(key, part)
        if known is not part:
            first[key] = None if known is None or part is None else known.merged(part)
    return first


def require_moments(loss: PairLoss, n_levels: int, n_tables: int, catalog: Catalog) -> None:
    """Raise a PairrankError for what crossing queries cannot have.

    `n_levels` is the most distinct labels of a query, `n_tables` the number of tables of moments.
    """
    if not isinstance(loss.family, PiecewisePolynomial | Sigmoidal | Squares | Tubes):
        _refuse(f"the loss {type(loss).__name__} has no sums over several blocks", catalog)
    if n_levels > MOST_LEVELS:
        reason = f"a query has more than {MOST_LEVELS} distinct labels; round them to fewer"
        _refuse(reason, catalog)
    if n_tables > MOST_TABLES and not isinstance(loss.family, Squares):
        _refuse(f"{n_tables:,} tables of moments would travel in each evaluation", catalog)


def _refuse(reason: str, catalog: Catalog) -> NoReturn:
    size = catalog.n_rows * catalog.width * catalog.sample.rows.X.dtype.itemsize
    raise PairrankError(
        f"{catalog.crossing.size:,} queries have rows in several blocks, and {reason}. Sort the "
        "rows by query, so that blocks can be cut where queries end, or fit on rows in memory, "
        f"which needs about {2.0 * size / 1e9:.2g} GB"
    )
