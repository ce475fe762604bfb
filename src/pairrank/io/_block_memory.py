"""Memory of dense blocks, which is used again once no one holds a block."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_MOST = 3
"""A pass holds so many blocks at a time: the one in use, the next one, and the one being filled."""


class BlockMemory:
    """Lends arrays for X of at most `n_rows` rows, in Fortran order.

    New memory must be cleared by the operating system, which takes longer than a copy of a block.
    """

    def __init__(self, n_rows: int, n_features: int, dtype: np.dtype[Any]) -> None:
        self._size, self._n_features, self._dtype = n_rows * n_features, n_features, dtype
        self._lent: list[NDArray[Any]] = []

    def take(self, n_rows: int) -> NDArray[Any]:
        """Return an array (n_rows, n_features) of any content, in memory that is not in use.

        Memory is in use as long as an array of it exists, such as a block that stays in memory.
        """
        free = [place for place in range(len(self._lent)) if self._is_free(place)]
        memory = self._lent.pop(free[0]) if free else np.empty(self._size, dtype=self._dtype)
        self._lent = [*self._lent, memory][-_MOST:]
        return memory[: n_rows * self._n_features].reshape(self._n_features, n_rows).T

    def _is_free(self, place: int) -> bool:
        """Whether the list has the only reference: an array refers to the memory it is part of."""
        return sys.getrefcount(self._lent[place]) <= _REFERENCES


def _references() -> int:
    """Return what `sys.getrefcount` gives for an element that only its list refers to."""
    elements = [np.empty(0)]
    return sys.getrefcount(elements[0])


_REFERENCES = _references()


class StartedBlock:
    """A block that is being filled with rows, from row `first` of the source on."""

    def __init__(self, first: int, X: NDArray[Any]) -> None:
        self.first, self.X = first, X
        self.n_rows, self.n_filled = X.shape[0], 0
        self.others: list[Any] = []
        """The other columns of the rows so far, as tables."""
        self.next: StartedBlock | None = None
        """The next block, if some of its rows are known already."""


class Share(NamedTuple):
    """Some rows that a block takes, which are its rows from `start` on."""

    block: StartedBlock
    start: int
    rows: slice

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.rows.stop - self.rows.start)

    @property
    def features(self) -> NDArray[Any]:
        """The part of X that they fill."""
        return self.block.X[self.start : self.start + self.n_rows]
