"""RowBlocks: rows that are read block by block, in place of X in fit, predict and score."""

from __future__ import annotations

import contextlib
import copy
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from scipy import sparse

from pairrank._protocols import FloatArray
from pairrank._validation import check_number
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.checking import Checks
from pairrank.blocks.cutting import stacked
from pairrank.blocks.local_passes import INTERPRETER_BYTES, LocalPasses, ReadingHook, reported
from pairrank.blocks.sources import BLOCK_BYTES, ArraySource, FactorySource, MappedSource, Source
from pairrank.exceptions import InputTypeError, PairrankError
from pairrank.io.rows import IN_BLOCKS

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler


MEMORY_LIMIT = 1e9
_LEAST_BLOCK = 1 << 16


class RowBlocks:
    """Rows that need not fit into memory: blocks of rows, read again in each pass of a fit.

    `fit`, `predict` and `score` take it in place of X; it holds labels, queries and weights too. A
    fit gives the same answer as on the same rows in memory. See also `from_parquet` and
    `from_arrays`; `pairrank.io.convert` turns text into Parquet.

    Parameters
    ----------
    factory : callable
        A function that returns a new iterator of blocks at each call, such as a generator function.
        A block is a tuple (X, y, qid, sample_weight, winner_weight, loser_weight), the last ones
        may be left out or None. X is dense, CSR or a frame. Blocks must be the same in each call.
    n_features : int, optional
        The number of features; None: as many as the first block has. CSR blocks may have fewer.
    feature_names : sequence of str, optional
        The names of the features; None: those of the first block, if it is a frame.
    memory_limit : float
        The most bytes of memory that a fit is planned to use, 4e8 for Python and its libraries
        included. Blocks for which there is room stay in memory, so that later passes read less.
        Blocks of validation rows count too; their own limit is ignored in a fit.

    Raises
    ------
    ValueError
        If `factory` is not a function, as a generator is not.

    Notes
    -----
    A fit cuts blocks where queries begin, so that a query crosses blocks only if its rows are not
    together, or more than a block has; see the guide for what that costs and which losses it takes.

    Memory holds three blocks, about 12 bytes per row for the layout of queries and labels, labels
    and queries in the narrowest type that holds them, and 8 bytes for each weight of a row.

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
        self._set(FactorySource(factory, n_features, feature_names), memory_limit)

    def _set(self, source: Source, memory_limit: float) -> None:
        check_number(memory_limit, "memory_limit")
        self._source, self.memory_limit = source, float(memory_limit)
        self._scaler: StandardScaler | None = None
        self._report: ReadingHook | None = None

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
        memory_limit: float = MEMORY_LIMIT,
    ) -> Self:
        """Return blocks of Parquet files, of which only the columns needed are read.

        Parameters
        ----------
        data : str, path-like, sequence of them, or pyarrow.dataset.Dataset
            A file, a pattern such as "rows/\\*.parquet", a folder or files; elsewhere than on this
            machine a URI or a Dataset.
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

        columns = (label, qid, weight, winner_weight, loser_weight)
        source = ParquetBlocks(
            data,
            dict(zip(IN_BLOCKS, columns, strict=True)),
            features=features,
            drop=drop,
            drop_text=drop_text,
            batch_rows=batch_rows,
            dtype=dtype,
            block_bytes=_block_bytes(memory_limit, batch_rows),
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
        arrays = RowBlock(X, y, qid, sample_weight, winner_weight, loser_weight)
        source = ArraySource(arrays, batch_rows, _block_bytes(memory_limit, batch_rows))
        return cls._of(source, memory_limit)

    @classmethod
    def _of(cls, source: Source, memory_limit: float) -> Self:
        blocks = cls.__new__(cls)
        blocks._set(source, memory_limit)
        return blocks

    def map(self, function: Callable[[Any], Any]) -> Self:
        """Return blocks whose X is `function(X)`; labels, queries and weights stay as they are.

        Parameters
        ----------
        function : callable
            From the X of a block, as the source delivers it, to a dense matrix, CSR or a frame with
            as many rows. The same function must prepare the rows of predictions. Blocks of Parquet
            files use one memory in turn: copy what is kept longer than the call.

        Returns
        -------
        RowBlocks
        """
        if self._scaler is not None:
            raise PairrankError("standardized() must come last: map the blocks first")
        return self._changed(_source=MappedSource(self._source, function))

    def standardized(self) -> Self:
        """Return blocks whose features have mean 0 and standard deviation 1; reads them once.

        A fit folds the scales into `coef_`, so that the model predicts on raw rows; its scores
        differ from those of standardised rows by a constant, which changes no order. Sparse X is
        scaled, but not centred. Row weights are ignored. `predict` and `score` take the raw rows.

        Returns
        -------
        RowBlocks
        """
        from sklearn.preprocessing import StandardScaler

        if self._scaler is not None:
            raise PairrankError("the blocks are standardised already: call standardized() once")
        scaler: Any = None
        for rows in self._read(Checks(self._source), labelled=False):
            scaler = scaler or StandardScaler(with_mean=not sparse.issparse(rows.X))
            scaler.partial_fit(rows.X)
            del rows
        if scaler is None:
            raise PairrankError(f"{self._source.name} has no rows: there is nothing to standardise")
        return self._changed(_scaler=scaler)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Refuse to become an array: what asks for one, as scikit-learn does, needs all rows."""
        raise InputTypeError(
            "RowBlocks are not an array: only rankers of pairrank read them, not transformers, "
            "pipelines or searches of scikit-learn; prepare the features by .map(function) or "
            ".standardized(), fit the ranker itself, and pass validation rows as X_val"
        )

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features, if they are known before blocks are read."""
        names = self._source.feature_names
        return None if names is None else list(names)

    @property
    def n_features(self) -> int | None:
        """The number of features, if it is known before blocks are read."""
        return self._source.n_features

    def first_block(self) -> RowBlock:
        """Return the first block that has rows, checked; reads no further.

        Returns
        -------
        RowBlock
            A named tuple of arrays: X, y, qid, sample_weight, winner_weight, loser_weight.

        Raises
        ------
        PairrankError
            If no block has rows, or the first one is refused.
        """
        with contextlib.closing(Checks(self._source).read()) as blocks:
            for _, rows in blocks:
                return rows
        raise PairrankError(f"{self._source.name} has no rows")

    def labels(self) -> RowBlock:
        """Return labels, queries and weights of all rows, with X None; reads the blocks once.

        Returns
        -------
        RowBlock
            A named tuple of arrays: y, qid, sample_weight, winner_weight, loser_weight.
        """
        found = [rows._replace(X=None) for rows in self._read(Checks(self._source))]
        return stacked(found) if found else RowBlock(None)

    def _changed(self, **changes: Any) -> Self:
        """Return the same blocks with other attributes."""
        changed = copy.copy(self)
        vars(changed).update(changes)
        return changed

    def _reporting(self, report: ReadingHook | None) -> Self:
        """Return the same blocks; `report` is called with a `Reading` after each block."""
        return self._changed(_report=report)

    def _passes(self, beside: LocalPasses | None = None) -> LocalPasses:
        """Return new passes; `beside` are those of training rows, if these are validation rows."""
        return LocalPasses(self._source, self.memory_limit, self._report, self._scaler, beside)

    def _read(self, checks: Checks, *, labelled: bool = True) -> Iterator[RowBlock]:
        """Yield the checked blocks of one pass, and report them."""
        with contextlib.closing(checks.read(labelled=labelled)) as blocks:
            yield from reported(map(operator.itemgetter(1), blocks), self._report)

    def _scored(self, ranker: Any, *, labelled: bool = True) -> tuple[FloatArray, RowBlock]:
        """Return the scores of raw rows by a fitted ranker, and all rows without X; one pass.

        Only if `labelled`, the rows have labels, queries and weights.
        """
        checks = Checks(self._source, int(ranker.n_features_in_))
        found: list[RowBlock] = []
        for rows in self._read(checks, labelled=labelled):
            if not found:
                check_names(checks.feature_names, ranker)
            found.append(rows._replace(X=ranker._scores(rows.X)))
            del rows
        if not found:
            raise PairrankError(f"{self._source.name} has no rows: there is nothing to score")
        scored = stacked(found)
        return scored.X, scored._replace(X=None)


def refuse_given(**given: Any) -> None:
    """Raise a PairrankError if an argument that RowBlocks hold is given beside them."""
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise PairrankError(
            f"{' and '.join(names)} given twice: RowBlocks hold labels, queries and weights, so "
            "leave the argument out"
        )


def check_names(names: Sequence[str] | None, ranker: Any) -> None:
    """Raise a PairrankError where names of features, if known, are not those of the fit."""
    known = getattr(ranker, "feature_names_in_", None)
    if names is None or known is None or list(names) == list(map(str, known)):
        return
    wrong = next((pair for pair in zip(names, known, strict=False) if pair[0] != pair[1]), None)
    shown = "" if wrong is None else f": {wrong[0]!r} stands where {wrong[1]!r} was"
    raise PairrankError(
        f"the features have other names, or another order, than in the fit{shown}; name them with "
        "features="
    )


def _block_bytes(memory_limit: float, batch_rows: Any) -> int:
    """Return the bytes of X in a block, at most an eighth of the room for blocks; check both."""
    if batch_rows is not None:
        check_number(batch_rows, "batch_rows", integer=True)
    check_number(memory_limit, "memory_limit")
    return max(_LEAST_BLOCK, int(min(BLOCK_BYTES, (memory_limit - INTERPRETER_BYTES) / 8)))
