"""The parts of a crossing sum: which rows of a block each has, and what each must provide."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import BlockLayout

_STRIP = 256
"""So many weights are added one by one; the sums of strips are added in pairs."""


class OwnRows(NamedTuple):
    """The rows of a block that one part of a crossing sum has; fields as in `BlockLayout`."""

    scores: FloatArray
    query: NDArray[np.int32]
    level: NDArray[np.int32]
    label: FloatArray
    weight: FloatArray
    n_additions: int = 0
    """The rounded additions in each weight, where a row stands for several."""


class Part(Protocol):
    """A sum over some of the crossing queries; small, sent to every block."""

    def summary(self, index: int, rows: OwnRows) -> Any:
        """Return what others must know of these rows, with a method `merged(other)`."""

    def finish(self, merged: Any) -> PartTable:
        """Return value, errors and gradients."""

    def sharpen(self) -> bool:
        """Allow a smaller error from now on; False where it cannot be smaller."""


class PartTable(Protocol):
    """A finished part at some scores."""

    @property
    def value(self) -> float:
        """The sum."""

    @property
    def error(self) -> float:
        """Bound on the error of the value."""

    @property
    def gradient_error(self) -> float:
        """Bound on the sum over rows of the errors of the gradients."""

    def gradient(self, index: int, rows: OwnRows) -> FloatArray:
        """Return the rows' gradients."""

    def curvature(self) -> PartCurvature:
        """Return the Hessian of this part."""


class PartCurvature(Protocol):
    """The Hessian of a part at the scores of a table."""

    def summary(self, index: int, rows: OwnRows, values: FloatArray) -> Any:
        """Return what others must know of the values, with a method `merged(other)`."""

    def finish(self, merged: Any) -> PartProduct:
        """Return what gives each row its entry of the product."""


class PartProduct(Protocol):
    """A product of a part's Hessian."""

    def product(self, index: int, rows: OwnRows, values: FloatArray) -> FloatArray:
        """Return the rows' entries."""


def rows_at(layout: BlockLayout, scores: FloatArray, places: slice) -> OwnRows:
    """Return the crossing rows of a block at some places among them."""
    ends = np.clip(layout.start, places.start, places.stop)
    sizes = ends[1:] - ends[:-1]
    return OwnRows(
        np.ascontiguousarray(scores[places]),
        np.repeat(layout.query, sizes),
        layout.level[places] if layout.level.size else layout.level,
        layout.label[places] if layout.label.size else layout.label,
        layout.weight[:, places],
    )


def has_one_score(rows: OwnRows) -> bool:
    """Whether all rows of few levels have the same score, as where weights are zero."""
    scores = rows.scores
    if not (rows.level.size and scores.size) or scores[0] != scores[-1]:
        return False
    return bool(scores.min() == scores.max())


def grouped(rows: OwnRows) -> OwnRows:
    """Return a row for each level, of one query and one score, with the weight of its rows."""
    counts = np.bincount(rows.level)
    level = np.flatnonzero(counts).astype(np.int32)
    if not len(rows.weight):
        return _like(rows, level, counts[np.newaxis, level].astype(np.float64))
    strip = max(_STRIP, counts.size)
    n_strips = -(-rows.level.size // strip)
    place = rows.level.astype(np.intp) * n_strips + np.arange(rows.level.size) // strip
    size = counts.size * n_strips
    sums = [np.bincount(place, side, size).reshape(-1, n_strips).sum(1) for side in rows.weight]
    # numpy adds up to eight runs of sixteen numbers one by one, and then in pairs
    n_additions = strip + 24 + n_strips.bit_length()
    return _like(rows, level, np.array(sums)[:, level])._replace(n_additions=n_additions)


def gradient_of_levels(table: PartTable, index: int, rows: OwnRows) -> FloatArray:
    """Return the gradients of rows of one query and one score, from one row for each level."""
    n_levels, n_sides = int(rows.level.max()) + 1, max(1, len(rows.weight))
    level = np.arange(n_levels, dtype=np.int32)

    def by_row(side: int) -> FloatArray:
        ones = np.zeros((n_sides, n_levels))
        ones[side] = 1.0
        found = table.gradient(index, _like(rows, level, ones)).take(rows.level)
        if len(rows.weight):
            found *= rows.weight[side]
        return found

    result = by_row(0)
    for side in range(1, n_sides):
        result += by_row(side)
    return result


def _like(rows: OwnRows, level: NDArray[np.int32], weight: FloatArray) -> OwnRows:
    """Return rows of the same query and score."""
    return OwnRows(
        np.full(level.size, rows.scores[0]),
        np.full(level.size, rows.query[0]),
        level,
        rows.label[:0],
        weight,
    )
