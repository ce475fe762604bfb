"""Labels, queries and weights of blocks, kept in little memory between passes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank.blocks._contracts import RowBlock

_NARROWER = {"f": (np.int8, np.int16, np.int32, np.float32), "i": (np.int8, np.int16, np.int32)}


class KeptRows:
    """What a block has besides X, in the narrowest types that hold it."""

    def __init__(self, block: RowBlock) -> None:
        self.n_rows = block.X.shape[0]
        self._dtypes = [None if part is None else part.dtype for part in block[1:]]
        self._parts = [None if part is None else _narrowed(part) for part in block[1:]]

    @property
    def nbytes(self) -> int:
        """The bytes in memory."""
        return sum(part.nbytes for part in self._parts if part is not None)

    def rows(self) -> RowBlock:
        """Return the block without X, as it was."""
        each = zip(self._parts, self._dtypes, strict=True)
        return RowBlock(None, *(None if part is None else part.astype(own) for part, own in each))


def _narrowed(values: NDArray[Any]) -> NDArray[Any]:
    for dtype in _NARROWER.get(values.dtype.kind, ()):
        if np.dtype(dtype).itemsize >= values.dtype.itemsize:
            break
        with np.errstate(invalid="ignore", over="ignore"):
            narrow = values.astype(dtype)
        if np.array_equal(narrow, values):
            return narrow
    return values.copy()
