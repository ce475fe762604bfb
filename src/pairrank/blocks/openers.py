"""Openers: RowBlocks from Parquet, CSV, svmlight text, and arrays."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np

from pairrank._validation import check_number
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.memory_plan import INTERPRETER_BYTES
from pairrank.blocks.sources import BLOCK_BYTES, ArraySource, Source
from pairrank.io.rows import IN_BLOCKS

MEMORY_LIMIT = 1e9
_LEAST_BLOCK = 1 << 16


class Openers(ABC):
    """The class methods of RowBlocks that open files and arrays."""

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
    def from_csv(
        cls,
        paths: Any,
        *,
        cache: str | os.PathLike[str],
        label: str | None = None,
        qid: str | None = None,
        weight: str | None = None,
        winner_weight: str | None = None,
        loser_weight: str | None = None,
        features: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        drop_text: bool = False,
        batch_rows: int | None = None,
        dtype: Any = np.float64,
        memory_limit: float = MEMORY_LIMIT,
        callback: Callable[[int, int, int], object] | None = None,
    ) -> Self:
        """Return blocks of CSV files, which are parsed once into a folder of Parquet files.

        The folder is used again as long as the files keep their sizes and digests, and the columns
        are the same. The text is never in memory as a whole.

        Parameters
        ----------
        paths : str, path-like or sequence of them
            Files of UTF-8 text with a header, also compressed. Rows with the same query are one
            query, in any file.
        cache : str or path-like
            A folder for the Parquet files, at most about as large as the text; it is made if there
            is none.
        label, qid, weight, winner_weight, loser_weight : str, optional
            The columns of labels, queries and row weights.
        features : sequence of str, optional
            The feature columns, in this order; None: all other columns of the first file.
        drop : sequence of str
            Columns that are not features.
        drop_text : bool
            Whether columns of text are left out as features; False refuses them. A column is text
            if the first 100 rows have more words than numbers.
        batch_rows : int, optional
            The rows of a block; None: 64 MiB of them, or less if `memory_limit` has little room.
        dtype : float64 or float32
            The dtype of X.
        memory_limit : float
            As in the constructor.
        callback : callable, optional
            Called while text is parsed, as in `pairrank.io.read_rows`.

        Returns
        -------
        RowBlocks

        Raises
        ------
        FileFormatError
            If a cell or a column is not valid, or the cache is damaged.
        FileAccessError
            If a file cannot be read, or the folder cannot be written.
        """
        from pairrank.io.csv_blocks import CsvBlocks

        _check_rows_of_block(batch_rows)
        columns = (label, qid, weight, winner_weight, loser_weight)
        source = CsvBlocks(
            paths,
            cache,
            dict(zip(IN_BLOCKS, columns, strict=True)),
            features=features,
            drop=drop,
            drop_text=drop_text,
            batch_rows=batch_rows,
            dtype=dtype,
            block_bytes=_block_bytes(memory_limit),
            callback=callback,
        )
        return cls._of(source, memory_limit)

    @classmethod
    def from_svmlight(
        cls,
        paths: Any,
        *,
        cache: str | os.PathLike[str],
        zero_based: bool | Literal["auto"] = "auto",
        n_features: int | None = None,
        dtype: Any = np.float64,
        memory_limit: float = MEMORY_LIMIT,
        callback: Callable[[int, int, int], object] | None = None,
    ) -> Self:
        """Return blocks of svmlight text, which is parsed once into a folder of arrays.

        The folder is used again as long as the files keep their sizes and digests; arrays that are
        damaged are an error. The text is never in memory as a whole.

        Parameters
        ----------
        paths : str, path-like or sequence of them
            Files, also compressed. Rows with the same qid are one query, in any file.
        cache : str or path-like
            A folder for the arrays, about as large as the text; it is made if there is none.
        zero_based : bool or "auto"
            Whether indices count from 0. "auto": from 0 if there is an index 0, else from 1.
        n_features : int, optional
            The number of features; None: as many as the files have.
        dtype : float64 or float32
            The dtype of X.
        memory_limit : float
            As in the constructor.
        callback : callable, optional
            Called while text is parsed, as in `pairrank.io.read_svmlight`.

        Returns
        -------
        RowBlocks

        Raises
        ------
        FileFormatError
            If a line is not valid, or the cache is damaged.
        FileAccessError
            If a file cannot be read, or the folder cannot be written.
        """
        from pairrank.io.svmlight_cache import SvmlightBlocks

        source = SvmlightBlocks(
            paths,
            cache,
            zero_based=zero_based,
            n_features=n_features,
            dtype=dtype,
            block_bytes=_block_bytes(memory_limit),
            callback=callback,
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
    """Return the bytes of X in a block: a power of 2, about an eighth of the room for blocks.

    A power of 2, so that a small change of the limit does not convert text again.
    """
    check_number(memory_limit, "memory_limit")
    room = max(_LEAST_BLOCK, int(min(BLOCK_BYTES, (memory_limit - INTERPRETER_BYTES) / 8)))
    return min(BLOCK_BYTES, 1 << room.bit_length() - 1)


def _check_rows_of_block(batch_rows: Any) -> None:
    if batch_rows is not None:
        check_number(batch_rows, "batch_rows", integer=True)
