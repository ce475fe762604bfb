"""Crossing queries by exchanged rows: scores travel to the client, gradients travel back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pairrank._protocols import FloatArray, MultipleCurvature, PairLoss
from pairrank.blocks.crossing_parts import OwnRows
from pairrank.exceptions import PairrankError
from pairrank.pair_sums import bind
from pairrank.preferences import Differences, Levels


@dataclass(eq=False)
class ByBlock:
    """One number per exchanged row of some blocks, by the block's number."""

    values: dict[int, FloatArray]

    def merged(self, other: ByBlock) -> ByBlock:
        """Return the numbers of both sets of blocks."""
        return ByBlock({**self.values, **other.values})

    def joined(self, n_rows: int) -> FloatArray:
        """Return all numbers in the order of the blocks; there must be `n_rows`."""
        ordered = [self.values[index] for index in sorted(self.values)]
        joined = np.concatenate(ordered) if ordered else np.empty(0)
        if joined.size != n_rows:
            raise PairrankError(
                f"the blocks sent {joined.size} rows of crossing queries, but their preferences "
                f"were made of {n_rows}: the rows have changed since the first pass"
            )
        return joined

    def split(self, joined: FloatArray) -> dict[int, FloatArray]:
        """Return parts of an array like that of `joined`, by block."""
        numbers = sorted(self.values)
        ends = np.cumsum([self.values[index].size for index in numbers])
        return dict(zip(numbers, np.split(joined, ends[:-1]), strict=True))


class RowExchange:
    """The sum over exchanged rows: that of `pairrank.pair_sums.bind`, on the client.

    Copies that were pickled have no preferences: blocks do not need them.
    """

    def __init__(self, loss: PairLoss, preferences: Levels | Differences, eps: float) -> None:
        self.loss, self.eps = loss, eps
        self.preferences: Levels | Differences | None = preferences

    def __getstate__(self) -> dict[str, Any]:
        return {"loss": self.loss, "eps": self.eps, "preferences": None}

    @functools.cached_property
    def _bound(self) -> Any:
        if self.preferences is None:
            raise PairrankError("exchanged rows are summed where their preferences were made")
        return bind(self.loss, self.preferences, eps=self.eps)

    @property
    def _n_rows(self) -> int:
        return 0 if self.preferences is None else self.preferences.n_rows

    def summary(self, index: int, rows: OwnRows) -> ByBlock:
        """Return the scores."""
        return ByBlock({index: rows.scores})

    def finish(self, merged: ByBlock) -> RowTable:
        """Return the sum at the scores of all blocks; O(rows), as in memory."""
        bound = self._bound
        found = bound.at(merged.joined(self._n_rows))
        return RowTable(
            merged.split(found.gradient),
            found.value,
            found.error,
            found.gradient_error,
            found.curvature,
        )

    def sharpen(self) -> bool:
        """Sharpen the sum."""
        return bool(self._bound.sharpen())


@dataclass(frozen=True, eq=False)
class RowTable:
    """The gradients of exchanged rows, by block."""

    gradients: dict[int, FloatArray]
    value: float
    error: float
    gradient_error: float
    made: Callable[[], MultipleCurvature] | None = field(default=None, repr=False)
    """Makes the Hessian, on the client."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "made": None}

    def of_block(self, index: int) -> RowTable:
        """Return the gradients of one block."""
        own = {index: self.gradients[index]} if index in self.gradients else {}
        return RowTable(own, self.value, self.error, self.gradient_error)

    def gradient(self, index: int, rows: OwnRows) -> FloatArray:
        """Return the gradients of a block's exchanged rows."""
        return self.gradients[index]

    def curvature(self) -> RowCurvature:
        """Return the Hessian."""
        assert self.made is not None
        return RowCurvature(self.made())


class RowCurvature:
    """The Hessian over exchanged rows; copies that were pickled only send values."""

    def __init__(self, curvature: MultipleCurvature) -> None:
        self._curvature: MultipleCurvature | None = curvature

    def __getstate__(self) -> dict[str, Any]:
        return {"_curvature": None}

    def summary(self, index: int, rows: OwnRows, values: FloatArray) -> ByBlock:
        """Return the values."""
        return ByBlock({index: values})

    def finish(self, merged: ByBlock) -> RowProduct:
        """Return the product."""
        assert self._curvature is not None
        n_rows = sum(each.size for each in merged.values.values())
        return RowProduct(merged.split(self._curvature.matvec(merged.joined(n_rows))))


@dataclass(frozen=True, eq=False)
class RowProduct:
    """The entries of a product at exchanged rows, by block."""

    entries: dict[int, FloatArray]

    def of_block(self, index: int) -> RowProduct:
        """Return the entries of one block."""
        return RowProduct({index: self.entries[index]} if index in self.entries else {})

    def product(self, index: int, rows: OwnRows, values: FloatArray) -> FloatArray:
        """Return the entries of a block's exchanged rows."""
        return self.entries[index]
