"""Openers: RowBlocks from Parquet and arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from pairrank._validation import check_number
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.memory_plan import INTERPRETER_BYTES
from pairrank.blocks.sources import BLOCK_BYTES, ArraySource, Source
from pairrank.io.rows import IN_BLOCKS

MEMORY_LIMIT = 1e9
_LEAST_BLOCK = 1 << 16


class Openers(ABC):
    """The class methods of RowBlocks that open Parquet files and arrays."""

    @classmethod
    def from_parquet(
        cls,
        data: Any,
        *,
        label: str | None = None,
        qid: str | None = None,
        weight: str | None = None,
        winner_weight: str | None = None,
        loser_weight: str | None = None,
        features: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        drop_text: bool = False,
        batch_rows: int | None = None,
        dtype: Any = None,
        filesystem: Any = None,
        memory_limit: float = MEMORY_LIMIT,
    ) -> Self:
        """Return blocks of Parquet files, of which only the columns needed are read.

        Parameters
        ----------
        data : str, path-like, sequence of them, or pyarrow.dataset.Dataset
            A file, a pattern such as "rows/\\*.parquet", a folder or files.
        label, qid, weight, winner_weight, loser_weight : str, optional
            The columns of labels, queries and row weights.
        features : sequence of str, optional
            The feature columns, in this order; None: all other columns.
        drop : sequence of str
            Columns that are not features.
        drop_text : bool
            Whether columns of text are left out as features; False refuses them.
        batch_rows : int, optional
            The rows of a block; None: 64 MiB of them, or less if `memory_limit` has little room.
        dtype : float64 or float32, optional
            The dtype of X; None: float32 if all features are, else float64.
        filesystem : filesystem of pyarrow or fsspec, optional
            Where the files are; None: on this machine, or where their URI says.
        memory_limit : float
            As in the constructor.

        Returns
        -------
        RowBlocks

        Raises
        ------
        FileAccessError
            If there is no such file.
        FileFormatError
            If a file is not Parquet, or a column is unknown.
        """
        from pairrank.io.parquet_blocks import ParquetBlocks

        _check_rows_of_block(batch_rows)
        columns = (label, qid, weight, winner_weight, loser_weight)
        source = ParquetBlocks(
            data,
            dict(zip(IN_BLOCKS, columns, strict=True)),
            features=features,
            drop=drop,
            drop_text=drop_text,
            batch_rows=batch_rows,
            dtype=dtype,
            filesystem=filesystem,
            block_bytes=_block_bytes(memory_limit),
        )
        return cls._of(source, memory_limit)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        winner_weight: Any = None,
        loser_weight: Any = None,
        batch_rows: int | None = None,
        memory_limit: float = MEMORY_LIMIT,
    ) -> Self:
        """Return blocks of anything with a shape and slices of rows.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            Such as np.memmap, an array of zarr or h5py, ndarray or CSR.
        y, qid, sample_weight, winner_weight, loser_weight : array of shape (n_rows,), optional
            With slices too.
        batch_rows : int, optional
            The rows of a block; None: 64 MiB of them, or less if `memory_limit` has little room.
        memory_limit : float
            As in the constructor.

        Returns
        -------
        RowBlocks
        """
        _check_rows_of_block(batch_rows)
        arrays = RowBlock(X, y, qid, sample_weight, winner_weight, loser_weight)
        source = ArraySource(arrays, batch_rows, _block_bytes(memory_limit))
        return cls._of(source, memory_limit)

    @classmethod
    def _of(cls, source: Source, memory_limit: float) -> Self:
        blocks = cls.__new__(cls)
        blocks._set(source, memory_limit)
        return blocks

    @abstractmethod
    def _set(self, source: Source, memory_limit: float) -> None:
        """Take the source and the memory limit as those of this object."""


def _block_bytes(memory_limit: float) -> int:
    """Return the bytes of X in a block, at most an eighth of the room for blocks."""
    check_number(memory_limit, "memory_limit")
    return max(_LEAST_BLOCK, int(min(BLOCK_BYTES, (memory_limit - INTERPRETER_BYTES) / 8)))


def _check_rows_of_block(batch_rows: Any) -> None:
    if batch_rows is not None:
        check_number(batch_rows, "batch_rows", integer=True)
