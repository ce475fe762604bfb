"""Labels, queries and weights of blocks, kept in little memory between passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank.blocks._contracts import RowBlock

_NARROWER = {"f": (np.int8, np.int16, np.int32, np.float32), "i": (np.int8, np.int16, np.int32)}


class _Column:
    """An array in the narrowest type that holds its values, and by runs of equal values if few."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.dtype, self.size = values.dtype, values.size
        changes = values[1:] != values[:-1]
        self.starts = None
        if np.count_nonzero(changes) < values.size // 4:
            self.starts = np.concatenate([[0], np.flatnonzero(changes) + 1]).astype(np.int32)
            values = values[self.starts]
        self.values = _narrowed(values)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + (0 if self.starts is None else self.starts.nbytes)

    def restored(self) -> NDArray[Any]:
        values = self.values.astype(self.dtype)
        if self.starts is None:
            return values
        return np.repeat(values, np.diff(self.starts, append=self.size))


class _Columns:
    """The columns of an array of two dimensions."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.columns = [_Column(column) for column in values.T]

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns)

    def restored(self) -> NDArray[Any]:
        return np.column_stack([column.restored() for column in self.columns])


def _kept(values: NDArray[Any]) -> _Column | _Columns:
    return _Column(values) if values.ndim == 1 else _Columns(values)


class KeptRows:
    """What a block has besides X; `rows()` restores it to the bit."""

    def __init__(self, block: RowBlock) -> None:
        self.n_rows = block.X.shape[0]
        self._columns = [None if part is None else _kept(part) for part in block[1:]]

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        return sum(column.nbytes for column in self._columns if column is not None)

    def rows(self) -> RowBlock:
        """Return the block without X."""
        parts = (None if each is None else each.restored() for each in self._columns)
        return RowBlock(None, *parts)


def _narrowed(values: NDArray[Any]) -> NDArray[Any]:
    for dtype in _NARROWER.get(values.dtype.kind, ()):
        if np.dtype(dtype).itemsize >= values.dtype.itemsize:
            break
        with np.errstate(invalid="ignore", over="ignore"):
            narrow = values.astype(dtype)
        if np.array_equal(narrow, values):
            return narrow
    return values.copy()
