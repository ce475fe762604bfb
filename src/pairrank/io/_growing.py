"""An array that grows at its end, without a second copy of what it holds."""

from __future__ import annotations

from typing import Any

import numpy as np


class GrowingArray:
    """A one-dimensional array that takes parts, in O(1) an element.

    It grows by a quarter through `ndarray.resize`: for large arrays the system moves pages and
    copies nothing.
    """

    def __init__(self, dtype: Any) -> None:
        self._array = np.empty(1024, dtype=dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, part: np.ndarray[Any, Any]) -> None:
        """Copy `part` to the end, cast to the array's dtype."""
        end = self._size + len(part)
        if end > len(self._array):
            self._array.resize(end + end // 4, refcheck=False)
        self._array[self._size : end] = part
        self._size = end

    def take(self) -> np.ndarray[Any, Any]:
        """Return what it holds, cut to its size; it is empty afterwards."""
        array = self._array
        array.resize(self._size, refcheck=False)
        self._array = np.empty(0, dtype=array.dtype)
        self._size = 0
        return array
