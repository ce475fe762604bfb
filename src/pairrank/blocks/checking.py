"""The checks of blocks as a source yields them: each on its own, and against those before."""

from __future__ import annotations

import contextlib
import functools
import zlib
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from pairrank._validation import (
    ALIGNED,
    check_features,
    check_labels,
    check_weights,
)
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.sources import Source, as_row_block, has_rows
from pairrank.exceptions import PairrankError

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

_END: Any = object()
_WORDS = 1021
_CHECKS: dict[str, Any] = {
    "y": check_labels,
    **ALIGNED,
    "sample_weight": functools.partial(check_weights, all_zero=True),
}
"""The checks of a block's labels, queries and weights; all weights of a block may be 0."""


class Checks:
    """Checks blocks one after another; the first block fixes what the others must have.

    Dense blocks must have the same number of features. CSR blocks of fewer features are padded with
    zeros. Labels, queries and weights are of one kind in all blocks, or missing in all.

    `n_features` is the number of features, if it is not the source's; `scaler` standardises X.
    """

    def __init__(
        self, source: Source, n_features: int | None = None, scaler: StandardScaler | None = None
    ) -> None:
        self.source = source
        self._scaler = scaler
        self._columns: Any = BaseEstimator()
        self._kinds: dict[str, str] = {}
        self.n_features: Any = source.n_features if n_features is None else n_features
        """The number of features; None until a block is checked or the source knows it."""

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features, if the source or its frames name them."""
        names = self.source.feature_names
        found = getattr(self._columns, "feature_names_in_", None) if names is None else names
        return None if found is None else list(map(str, found))

    def read(
        self, start: int = 0, *, labelled: bool = True
    ) -> Generator[tuple[int, RowBlock], None, None]:
        """Yield the number and the checked rows of each block with rows, from number `start` on."""
        number = start
        with contextlib.closing(self.source.read(start, labelled=labelled)) as blocks:
            while True:
                with naming(f"block {number} of {self.source.name}"):
                    block = next(blocks, _END)
                    checked = None if block is _END else self._check(block, labelled)
                if checked is None:
                    return
                if checked.X.shape[0]:
                    yield number, checked
                del block, checked
                number += 1

    def _check(self, block: Any, labelled: bool) -> RowBlock:
        given = as_row_block(block)
        if not has_rows(given):
            return RowBlock(np.empty((0, 1)))
        X = self._padded(given.X)
        is_first = not hasattr(self._columns, "n_features_in_")
        X = check_features(self._columns, X, reset=is_first)
        self.n_features = X.shape[1]
        names = self.source.feature_names
        if names is not None and len(names) != X.shape[1]:
            raise PairrankError(f"feature_names has {len(names)} names for {X.shape[1]} features")
        if self._scaler is not None:
            X = self._scaler.transform(X)
        if not labelled:
            return RowBlock(X)
        rows = RowBlock(X, **checked_parts(given, X.shape[0]))
        kinds = kinds_of(rows)
        self._kinds = self._kinds or kinds
        check_kinds(kinds, self._kinds)
        return rows

    def _padded(self, X: Any) -> Any:
        """Return sparse rows with the features that this block leaves out at the end."""
        shape = np.shape(X)
        if self.n_features is None or len(shape) != 2 or shape[1] == self.n_features:
            return X
        if not sparse.issparse(X) or shape[1] > self.n_features:
            remedy = "; pass n_features, the largest number" if sparse.issparse(X) else ""
            raise PairrankError(
                f"X has {shape[1]} features, though {self.n_features} are expected{remedy}"
            )
        X = X.tocsr()
        return sparse.csr_array((X.data, X.indices, X.indptr), shape=(shape[0], self.n_features))


@contextlib.contextmanager
def naming(place: str) -> Iterator[None]:
    """Put the place of some rows in front of an error's message."""
    try:
        yield
    except PairrankError as error:
        raise type(error)(f"{place}: {error}") from error
    except Exception as error:
        error.add_note(f"while {place} was read")
        raise


def digest_of(X: Any) -> int:
    """Return a checksum of the values, the shape and the format of a block.

    The words are added up in runs of 1,021, each run multiplied by an odd number of its own, so
    that rows that change places change the sums. The CRC-32 of these sums and of the words left
    over takes a quarter of the time of that of all words.
    """
    transposed = not sparse.issparse(X) and X.flags.f_contiguous and not X.flags.c_contiguous
    parts = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X.T if transposed else X]
    digest = zlib.crc32(repr((X.shape, X.dtype.str, len(parts))).encode())
    for part in parts:
        values = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
        size = values.size - values.size % (8 * _WORDS)
        runs = values[:size].view(np.uint64).reshape(-1, _WORDS)
        sums = np.einsum("i,ij->j", np.arange(1, 2 * len(runs), 2, dtype=np.uint64), runs)
        digest = zlib.crc32(values[size:].data, zlib.crc32(sums.data, digest))
    return digest


def checked_parts(given: RowBlock, n_rows: int) -> dict[str, Any]:
    """Return the labels, queries and weights of a block that are given, checked."""
    parts = {name: part for name, part in given._asdict().items() if part is not None}
    return {name: _CHECKS[name](part, n_rows) for name, part in parts.items() if name in _CHECKS}


def kinds_of(block: RowBlock) -> dict[str, str]:
    """Return what each array of a block holds: "numbers", "text" and so on; X: "dense"."""
    known = {"U": "text", "S": "bytes", "O": "objects"}
    parts = {name: part for name, part in block._asdict().items() if part is not None}
    X = {"X": "sparse" if sparse.issparse(parts.pop("X")) else "dense"} if "X" in parts else {}
    return X | {name: known.get(part.dtype.kind, "numbers") for name, part in parts.items()}


def check_kinds(kinds: dict[str, str], known: dict[str, str]) -> None:
    """Raise a PairrankError where a block holds other kinds than the blocks before."""
    for name in sorted(known.keys() | kinds.keys()):
        now, before = kinds.get(name, "missing"), known.get(name, "missing")
        if now != before:
            raise PairrankError(
                f"{name} is {now}, and {before} in the blocks before: all blocks need the same"
            )
