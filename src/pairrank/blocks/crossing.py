"""Sums over queries that cross blocks: each block sends moments, and all get one table back."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray, PairLoss, PiecewisePolynomial, Sigmoidal, Squares, Tubes
from pairrank.blocks._contracts import BlockLayout, CrossingRows
from pairrank.blocks.crossing_boxes import CrossingBoxes
from pairrank.blocks.crossing_cells import CrossingCells, extent_of
from pairrank.blocks.squares import SquaredResiduals
from pairrank.exceptions import PairrankError
from pairrank.pair_sums._bound import Links, links_of
from pairrank.pair_sums.plan import check_eps

if TYPE_CHECKING:
    from pairrank.blocks.catalog import Catalog

MOST_LEVELS = 1024
"""A crossing query has at most so many distinct labels."""
MOST_TABLES = 100_000
"""All blocks together send at most so many tables of moments, one for each level of a query."""

Parts = dict[int, Any]


@dataclass(frozen=True, eq=False)
class MomentQuery:
    """A crossing query, whose rows travel as moments per code, the rank of a label in the query.

    `query` is its number among the crossing queries. `edges` (n, 2) are the (low code, high code)
    that the graph joins; None: every higher code is preferred to every lower one. Differences join
    their only code with itself. `scale` multiplies every pair.
    """

    query: int
    n_codes: int
    edges: NDArray[np.int64] | None
    scale: float

    @functools.cached_property
    def links(self) -> Links:
        """The codes below and above each code."""
        return links_of(self.edges, self.n_codes)


class Totals(NamedTuple):
    """The sum over some pairs; 0 of a product with the Hessian."""

    value: float = 0.0
    error: float = 0.0
    """Bound on the error of the value."""
    gradient_error: float = 0.0
    """Bound on the sum over rows of the errors of the gradients."""
    square: float = 0.0
    """The squared norm of the gradient by the scores."""


def crossing_sum(
    loss: PairLoss, queries: tuple[MomentQuery, ...], eps: float = 1e-6
) -> CrossingSum:
    """Return the sum of a loss that has moments over the pairs of queries that cross blocks.

    `queries` are those that have a pair, by ascending number; squares need none. `eps` is as for
    `pairrank.pair_sums.bind`; sums by cells compute their own errors.
    """
    check_eps(eps)
    if isinstance(loss.family, Squares):
        return CrossingSum({0: SquaredResiduals()}, None)
    parts = {at: _by_moments(loss, query, eps) for at, query in enumerate(queries)}
    return CrossingSum(parts, np.array([each.query for each in queries], np.int64))


def _by_moments(loss: PairLoss, query: MomentQuery, eps: float) -> Any:
    family = loss.family
    if isinstance(family, PiecewisePolynomial):
        return CrossingCells(family.terms, query)
    if isinstance(family, Tubes):
        return CrossingCells(((-family.epsilon, family.power, 1.0),), query)
    assert isinstance(family, Sigmoidal)
    return CrossingBoxes(family, query, eps)


@dataclass(frozen=True, eq=False)
class _ByQuery:
    """Parts by number: part k has the query numbers[k]; None: the only part has all queries.

    Other queries have no pair. Scores and values are those of all rows of a block.

    A part is a sum or a product, with `summary(rows)`, `finish(merged)` and, of a sum, `sharpen()`
    and `curvature(merged)`, the part of a product; a summary has `merged(other)`. What is finished
    is a `Finished`. All are sent, so they are small and hold no scores.
    """

    parts: Parts
    numbers: NDArray[np.int64] | None

    def _rows(
        self, scores: FloatArray, layout: BlockLayout, values: FloatArray | None
    ) -> Iterator[tuple[int, slice, CrossingRows]]:
        """Yield the number, the places and the rows of each part in a block."""
        n_queries = layout.query.size
        if self.numbers is None:
            parts = [(0, slice(0, n_queries))] if n_queries else []
        else:
            at = np.searchsorted(self.numbers, layout.query)
            known = np.flatnonzero(np.isin(layout.query, self.numbers)).tolist()
            parts = [(int(at[place]), slice(place, place + 1)) for place in known]
        for k, queries in parts:
            start = layout.start[queries.start : queries.stop + 1]
            own = slice(int(start[0]), int(start[-1]))
            places = layout.rows[own]
            placed = scores[places]
            if layout.label.size:
                with np.errstate(over="ignore", invalid="ignore"):
                    placed -= layout.label[own]
            yield (
                k,
                own,
                CrossingRows(
                    placed,
                    layout.query[queries],
                    start - own.start,
                    layout.code[own],
                    layout.weight[:, own],
                    None if values is None else values[places],
                ),
            )


class CrossingSum(_ByQuery):
    """A loss over crossing queries, or a product with its Hessian, in summary, merge and finish."""

    def summary(
        self, scores: FloatArray, layout: BlockLayout, values: FloatArray | None = None
    ) -> Parts:
        """Return what other blocks must know of a block's crossing rows."""
        rows = self._rows(scores, layout, values)
        return {k: self.parts[k].summary(own) for k, _, own in rows}

    def finish(self, merged: Parts) -> CrossingTable:
        """Return what gives each row its entry, from the merged summary of all blocks."""
        tables = {k: self.parts[k].finish(each) for k, each in sorted(merged.items())}
        return CrossingTable(tables, self.numbers)

    def curvature(self, merged: Parts) -> CrossingSum:
        """Return the Hessian of a smooth loss at the scores of a merged summary."""
        parts = {k: self.parts[k].curvature(each) for k, each in merged.items()}
        return CrossingSum(parts, self.numbers)

    def placed(self, scores: FloatArray, centred: FloatArray) -> CrossingSum:
        """Return the same sum with cells for scores like these; see `extent_of`."""
        extent = extent_of(scores, centred)
        parts = {
            k: part.placed(*extent) if isinstance(part, CrossingCells) else part
            for k, part in self.parts.items()
        }
        return CrossingSum(parts, self.numbers)

    def sharpen(self) -> bool:
        """Sharpen every part; False if none can be sharpened."""
        return any([part.sharpen() for part in self.parts.values()])


def merged_summaries(first: Parts, second: Parts) -> Parts:
    """Return the summaries of two sets of blocks together; writes into the first."""
    for k, part in second.items():
        first[k] = first[k].merged(part) if k in first else part
    return first


class CrossingTable(_ByQuery):
    """A merged sum over crossing queries at some scores, or a product; sent to every block."""

    @property
    def totals(self) -> Totals:
        """The value and bounds on its errors; of a product they are 0."""
        parts = [each[2:] for each in self.parts.values()]
        return Totals(*map(float, np.sum(parts, axis=0))) if parts else Totals()

    def entries(
        self, scores: FloatArray, layout: BlockLayout, values: FloatArray | None = None
    ) -> FloatArray:
        """Return the gradients or products of a block's crossing rows, (n_crossing,)."""
        result = np.zeros(layout.rows.size)
        for k, places, rows in self._rows(scores, layout, values):
            result[places] = self.parts[k].entries(rows)
        return result


def require_moments(loss: PairLoss, catalog: Catalog) -> None:
    """Raise a PairrankError for a loss that crossing queries cannot have."""
    if not isinstance(loss.family, PiecewisePolynomial | Sigmoidal | Squares | Tubes):
        refuse(f"the loss {type(loss).__name__} has no sums over several blocks", catalog)


def require_few_levels(n_levels: int, catalog: Catalog) -> None:
    """Raise a PairrankError for a crossing query of too many distinct labels."""
    if n_levels > MOST_LEVELS:
        refuse(f"a query has more than {MOST_LEVELS} distinct labels; round them to fewer", catalog)


def require_few_tables(
    parts: Sequence[NDArray[np.int32]], n_codes: NDArray[np.int64], n_sides: int, catalog: Catalog
) -> None:
    """Raise a PairrankError where the moments of crossing queries are too many.

    The parts are the numbers of each block's crossing queries; `n_codes` is by number.
    """
    n_of_blocks = sum(int(n_codes[np.unique(part)].sum()) for part in parts)
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
