"""Sources of row blocks: functions that return iterators, and arrays read by slices of rows."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from pairrank._validation import ALIGNED, check_number
from pairrank.blocks._contracts import RowBlock
from pairrank.exceptions import InputTypeError, PairrankError

BLOCK_BYTES = 1 << 26
"""Blocks have about so many bytes of X, unless the user says how many rows they have."""


class Source(Protocol):
    """Where blocks come from; each call of `read` starts a new pass over them."""

    @property
    def name(self) -> str:
        """What messages call the source."""

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The names of the features, if they are known."""

    @property
    def n_features(self) -> int | None:
        """The number of features; None: as many as the first block has."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known before they are read."""

    def read(self, start: int, *, labelled: bool) -> Generator[Any, None, None]:
        """Yield the blocks from number `start` on, each a tuple as a RowBlock is.

        Where `labelled` is False, a source may leave out all but X.
        """


class FactorySource:
    """Blocks of an iterator that a function of the user makes anew for each pass."""

    def __init__(
        self,
        factory: Callable[[], Any],
        n_features: int | None,
        feature_names: Sequence[str] | None,
    ) -> None:
        if not callable(factory):
            what = "an iterator, which ends" if hasattr(factory, "__next__") else "no function"
            raise InputTypeError(
                f"RowBlocks takes a function, and {type(factory).__name__} is {what}: a fit reads "
                "the rows many times; pass a function that returns a new iterator at each call, "
                "such as the generator function itself, without ()"
            )
        if n_features is not None:
            check_number(n_features, "n_features", integer=True)
        self.name = getattr(factory, "__name__", type(factory).__name__)
        self.n_features, self.feature_names = n_features, feature_names
        self.n_rows = None
        self._factory = factory
        self._last: Any = self

    def read(self, start: int, *, labelled: bool) -> Generator[Any, None, None]:
        """Yield the blocks of a new iterator."""
        made = self._factory()
        if not hasattr(made, "__iter__") or made is self._last:
            what = "the same iterator twice" if made is self._last else type(made).__name__
            raise InputTypeError(
                f"{self.name} has returned {what}: it must return a new iterator of blocks at each "
                "call, as a generator function does"
            )
        blocks = iter(made)
        self._last = blocks
        try:
            for number, block in enumerate(blocks):
                if number >= start:
                    yield block
                del block
        finally:
            getattr(blocks, "close", bool)()


class ArraySource:
    """Slices of rows of arrays, on disk or in memory."""

    name = "arrays"
    feature_names = None

    def __init__(
        self, arrays: RowBlock, batch_rows: int | None, block_bytes: int = BLOCK_BYTES
    ) -> None:
        X = arrays.X.tocsr() if sparse.issparse(arrays.X) else arrays.X
        shape = getattr(X, "shape", ())
        if len(shape) != 2 or not hasattr(X, "__getitem__"):
            raise InputTypeError(
                f"X must have two dimensions and slices of rows, got {type(X).__name__} of shape "
                f"{tuple(shape)}"
            )
        self.n_rows, self.n_features = map(int, shape)
        for name in ("y", *ALIGNED):
            part = getattr(arrays, name)
            if part is not None and (length := _length(part, name)) != self.n_rows:
                raise PairrankError(f"{name} has {length} entries for {self.n_rows} rows of X")
        self._arrays = arrays._replace(X=X)
        item_bytes = getattr(getattr(X, "dtype", None), "itemsize", 8)
        self._batch_rows = batch_rows or max(1, block_bytes // max(1, self.n_features * item_bytes))

    def read(self, start: int, *, labelled: bool) -> Generator[RowBlock, None, None]:
        """Yield slices of the arrays."""
        size = self._batch_rows
        for first in range(start * size, self.n_rows, size):
            rows = slice(first, min(first + size, self.n_rows))
            parts = [None if part is None else part[rows] for part in self._arrays[1:]]
            yield RowBlock(self._arrays.X[rows], *(parts if labelled else ()))


class MappedSource:
    """Blocks whose X a function replaces."""

    n_features = None
    feature_names = None

    def __init__(self, source: Source, function: Callable[[Any], Any]) -> None:
        if not callable(function):
            raise InputTypeError(f"map takes a function of X, got {type(function).__name__}")
        self.name, self.n_rows = source.name, source.n_rows
        self._source, self._function = source, function

    def read(self, start: int, *, labelled: bool) -> Generator[RowBlock, None, None]:
        """Yield the blocks with other features; those without rows as they are."""
        with contextlib.closing(self._source.read(start, labelled=labelled)) as blocks:
            for block in blocks:
                rows = as_row_block(block)
                yield rows._replace(X=self._function(rows.X)) if has_rows(rows) else rows
                del block, rows


def as_row_block(block: Any) -> RowBlock:
    """Return a tuple of a source as a RowBlock; anything else is X."""
    if block is None or (isinstance(block, list) and any(np.ndim(part) > 1 for part in block)):
        raise InputTypeError(
            f"a block is of type {type(block).__name__}; yield a tuple (X, y, qid, ...)"
        )
    if not isinstance(block, tuple):
        return RowBlock(block)
    if not 1 <= len(block) <= len(RowBlock._fields):
        raise PairrankError(
            f"a block is a tuple of {len(block)} elements; give ({', '.join(RowBlock._fields)}) or "
            "its first elements"
        )
    return RowBlock(*block)


def has_rows(block: RowBlock) -> bool:
    """Whether a block that is not yet checked has a row."""
    return np.shape(block.X)[:1] != (0,)


def _length(part: Any, name: str) -> int:
    """Return the number of entries of an array or a list; arrays of zarr have no `len`."""
    if shape := getattr(part, "shape", ()):
        return int(shape[0])
    if not hasattr(part, "__len__") or hasattr(part, "shape"):
        raise InputTypeError(f"{name} must be an array, got {type(part).__name__}")
    return len(part)
