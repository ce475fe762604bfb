"""RowBlocks: rows that are read block by block, in place of X in fit, predict and score."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from pairrank._protocols import FloatArray
from pairrank._validation import check_number
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.local_passes import LocalPasses, ReadingHook
from pairrank.blocks.sources import (
    BLOCK_BYTES,
    ArraySource,
    FactorySource,
    MappedSource,
    Source,
)
from pairrank.exceptions import PairrankError

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

MEMORY_LIMIT = 1e9


class RowBlocks:
    """Rows that need not fit into memory: blocks of rows, read again in each pass of a fit.

    `fit`, `predict` and `score` take it in place of X; it holds labels, queries and weights too. A
    fit gives the same answer as on the same rows in memory. A thread reads the next block while one
    is used. See also `from_parquet`, `from_svmlight` and `from_arrays`.

    Parameters
    ----------
    factory : callable
        A function that returns a new iterator of blocks at each call, such as a generator function.
        A block is a tuple (X, y, qid, sample_weight, winner_weight, loser_weight), the last ones
        may be left out or None. X is dense, CSR or a frame. Blocks must be the same in each call,
        and must not reuse the memory of the block before.
    n_features : int, optional
        The number of features; None: as many as the first block has. CSR blocks may have fewer.
    feature_names : sequence of str, optional
        The names of the features; None: those of the first block, if it is a frame.
    memory_limit : float
        The most bytes of memory that a fit is planned to use, 3e8 for Python and its libraries
        included. Blocks for which there is room stay in memory, so that later passes read less.

    Raises
    ------
    ValueError
        If `factory` is not a function, as a generator is not.

    Notes
    -----
    Memory holds two blocks, about 12 bytes per row for the layout of queries and labels, and labels
    and weights in the narrowest type that holds them.

    Examples
    --------
    >>> import numpy as np
    >>> def blocks():
    ...     for seed in range(3):
    ...         X = np.random.default_rng(seed).normal(size=(50, 2))
    ...         yield X, X[:, 0] > 0
    >>> rows = RowBlocks(blocks)
    """

    def __init__(
        self,
        factory: Callable[[], Any],
        *,
        n_features: int | None = None,
        feature_names: Sequence[str] | None = None,
        memory_limit: float = MEMORY_LIMIT,
    ) -> None:
        source = FactorySource(factory, n_features, feature_names)
        self._set(source, memory_limit)

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
            The rows of a block; None: 64 MiB of them.
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
        columns = {
            "label": label,
            "qid": qid,
            "weight": weight,
            "winner_weight": winner_weight,
            "loser_weight": loser_weight,
        }
        source = ParquetBlocks(
            data,
            columns,
            features=features,
            drop=drop,
            drop_text=drop_text,
            batch_rows=batch_rows,
            dtype=dtype,
            filesystem=filesystem,
            block_bytes=BLOCK_BYTES,
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
            block_bytes=BLOCK_BYTES,
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
            The rows of a block; None: 64 MiB of them.
        memory_limit : float
            As in the constructor.

        Returns
        -------
        RowBlocks
        """
        _check_rows_of_block(batch_rows)
        arrays = RowBlock(X, y, qid, sample_weight, winner_weight, loser_weight)
        return cls._of(ArraySource(arrays, batch_rows), memory_limit)

    @classmethod
    def _of(cls, source: Source, memory_limit: float) -> Self:
        blocks = cls.__new__(cls)
        blocks._set(source, memory_limit)
        return blocks

    def _set(self, source: Source, memory_limit: float) -> None:
        check_number(memory_limit, "memory_limit")
        self._source, self.memory_limit = source, float(memory_limit)
        self._scaler: StandardScaler | None = None
        self._report: ReadingHook | None = None

    def map(self, function: Callable[[Any], Any]) -> Self:
        """Return blocks whose X is `function(X)`; labels, queries and weights stay as they are.

        Parameters
        ----------
        function : callable
            From the X of a block, as the source delivers it, to a dense matrix, CSR or a frame with
            as many rows. The same function must prepare the rows of predictions.

        Returns
        -------
        RowBlocks
        """
        if self._scaler is not None:
            raise PairrankError("standardized() must come last: map the blocks first")
        mapped = copy.copy(self)
        mapped._source = MappedSource(self._source, function)
        return mapped

    def standardized(self) -> Self:
        """Return blocks whose features have mean 0 and standard deviation 1; reads them once.

        A fit folds the scales into `coef_`, so that the model predicts on raw rows; its scores
        differ from those of standardised rows by a constant, which changes no order. Sparse X is
        scaled, but not centred. Row weights are ignored. `predict` and `score` take the raw rows.

        Returns
        -------
        RowBlocks
        """
        if self._scaler is not None:
            raise PairrankError("the blocks are standardised already: call standardized() once")
        from pairrank.blocks.scoring import scaler_of

        standardized = copy.copy(self)
        standardized._scaler = scaler_of(self._source, self._report)
        return standardized

    def reporting(self, report: ReadingHook | None) -> Self:
        """Return the same blocks; `report` is called with a `Reading` after each block of a pass.

        Parameters
        ----------
        report : callable or None

        Returns
        -------
        RowBlocks
        """
        blocks = copy.copy(self)
        blocks._report = report
        return blocks

    def passes(self) -> LocalPasses:
        """Return new passes over the blocks.

        Returns
        -------
        LocalPasses
        """
        return LocalPasses(self._source, self.memory_limit, self._report, self._scaler)

    def labels(self) -> RowBlock:
        """Return labels, queries and weights of all rows, with X None; reads the blocks once.

        Returns
        -------
        RowBlock
            A named tuple of arrays: y, qid, sample_weight, winner_weight, loser_weight.
        """
        from pairrank.blocks.scoring import labels_of

        return labels_of(self._source, self._report)

    def raw_coef(self, coef: FloatArray) -> FloatArray:
        """Return the weights of raw features for those of the features that passes give.

        Parameters
        ----------
        coef : ndarray of shape (n_features,)

        Returns
        -------
        ndarray of shape (n_features,)
        """
        return coef if self._scaler is None else coef / self._scaler.scale_

    def own_coef(self, coef: FloatArray) -> FloatArray:
        """Return the weights of the features that passes give for those of raw features.

        Parameters
        ----------
        coef : ndarray of shape (n_features,)

        Returns
        -------
        ndarray of shape (n_features,)
        """
        return coef if self._scaler is None else coef * self._scaler.scale_

    def score_offset(self, coef: FloatArray) -> Any:
        """Return how much raw rows score above the rows that passes give, for raw weights.

        Parameters
        ----------
        coef : ndarray of shape (n_features,) or (n_targets, n_features)

        Returns
        -------
        float or ndarray of shape (n_targets,)
        """
        mean = None if self._scaler is None else self._scaler.mean_
        return 0.0 if mean is None else coef @ mean

    def scored(self, ranker: Any, *, labelled: bool = True) -> tuple[FloatArray, RowBlock]:
        """Return the scores of raw rows by a fitted ranker, and their labels; reads them once.

        Parameters
        ----------
        ranker : ranker
        labelled : bool
            Whether to return labels, queries and weights too.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n_rows, n_targets)
        rows : RowBlock
            With X None.
        """
        from pairrank.blocks.scoring import scored

        return scored(self._source, ranker, self._report, labelled=labelled)


def is_blocks(X: Any) -> bool:
    """Whether X is a RowBlocks."""
    return isinstance(X, RowBlocks)


def refuse_given(**given: Any) -> None:
    """Raise a PairrankError if an argument that RowBlocks hold is given beside them."""
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise PairrankError(
            f"{' and '.join(names)} given twice: RowBlocks hold labels, queries and weights, so "
            "leave the argument out"
        )


def _check_rows_of_block(batch_rows: Any) -> None:
    if batch_rows is not None:
        check_number(batch_rows, "batch_rows", integer=True)
