"""The parts of a crossing sum: which rows of a block each has, and what each must provide."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import BlockLayout


class OwnRows(NamedTuple):
    """The rows of a block that one part of a crossing sum has; fields as in `BlockLayout`."""

    scores: FloatArray
    query: NDArray[np.int32]
    level: NDArray[np.int32]
    label: FloatArray
    weight: FloatArray


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
