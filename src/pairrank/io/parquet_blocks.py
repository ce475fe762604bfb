"""ParquetBlocks: rows of Parquet files, read by blocks."""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError
from pairrank.io._arrow import Table, is_numeric
from pairrank.io._block_memory import BlockMemory, Share, StartedBlock
from pairrank.io.rows import IN_BLOCKS, check_dtype, column_names, named_columns, no_column
from pairrank.io.tables import Roles, feature_of, features_of, part_of

_ARROW_NAMES = {4: "float", 8: "double"}
_BATCH_ROWS = 1 << 18
_BUFFER_BYTES = 1 << 20
_PART_BYTES = 1 << 22
"""About so many bytes of a row group are decoded together: they stay in the cache."""


class ParquetBlocks:
    """A source of blocks of rows: only the columns needed are read, and few row groups at a time.

    Parameters
    ----------
    data : str, path-like, sequence of them, or pyarrow.dataset.Dataset
        A file, a pattern such as "rows/*.parquet", a folder or files.
    columns : mapping
        The columns by role: label, qid, weight, winner_weight, loser_weight.
    features : sequence of str, optional
        The feature columns; None: all others.
    drop : sequence of str
        Columns that are not features.
    drop_text : bool
        Whether columns of text are left out as features; False refuses them.
    batch_rows : int, optional
        The rows of a block; None: `block_bytes` of X.
    dtype : float64 or float32, optional
        The dtype of X; None: float32 if all features are, else float64.
    filesystem : pyarrow.fs.FileSystem or fsspec filesystem, optional
        Where the files are; None: on this machine, or where their URI says.
    block_bytes : int
        The bytes of X in a block, where `batch_rows` is None.

    Raises
    ------
    FileAccessError
        If there is no such file.
    FileFormatError
        If a file is not Parquet or a column is unknown.
    """

    _checks_pages = False
    """Whether checksums of pages are compared, which costs time and which few files have."""

    def __init__(
        self,
        data: Any,
        columns: Mapping[str, str | None],
        *,
        features: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        drop_text: bool = False,
        batch_rows: int | None = None,
        dtype: Any = None,
        filesystem: Any = None,
        block_bytes: int = 1 << 26,
    ) -> None:
        self.name = _name_of(data)
        self._columns = named_columns(columns)
        features = None if features is None else column_names(features, "features")
        drop = column_names(drop, "drop")
        is_ours = not hasattr(data, "scanner")
        with self._undamaged():
            self._dataset = _dataset_of(data, filesystem) if is_ours else data
            schema = self._dataset.schema
            self._files = _plain_files(self._dataset) if is_ours else None
        self.first = list(schema.names)
        self._types = dict(zip(schema.names, schema.types, strict=True))
        roles = Roles(self._columns, features, drop, drop_text=drop_text)
        self.feature_names: list[str] = features_of(self, roles)
        self.n_features = len(self.feature_names)
        self._places = {name: at for at, name in enumerate(self.feature_names)}
        queries = [column for role, column in self._columns.items() if role == "qid"]
        self._text_queries = bool(self.text_columns(queries))
        self.dtype = self._own_dtype() if dtype is None else check_dtype(dtype)
        width = max(1, self.n_features * self.dtype.itemsize)
        self.batch_rows = batch_rows or max(1, block_bytes // width)
        with self._undamaged():
            self.n_rows = int(self._dataset.count_rows()) if is_ours else None

    def text_columns(self, columns: Sequence[str]) -> list[str]:
        """Return the columns that hold something, and neither numbers nor booleans."""
        import pyarrow as pa

        kinds = {name: self._types[name] for name in columns}
        return [
            name for name, kind in kinds.items() if not (is_numeric(kind) or pa.types.is_null(kind))
        ]

    def read(self, start: int, *, labelled: bool) -> Generator[tuple[Any, ...], None, None]:
        """Yield blocks of `batch_rows` rows from number `start` on; the last one may be smaller.

        The memory of a block that is no longer in use is used again.
        """
        roles = self._columns if labelled else {}
        memory = BlockMemory(self.batch_rows, self.n_features, self.dtype)
        block = self._started(start * self.batch_rows, memory)
        with self._undamaged():
            for piece in self._pieces(list(roles.values()), block.first):
                self._fill(block, piece, memory)
                if block.n_filled == block.n_rows:
                    rows = self._finished(block, roles)
                    block = block.next or self._started(block.first + block.n_rows, memory)
                    yield rows
                    del rows
            if block.n_filled:
                yield self._finished(block, roles)
            if self.n_rows is not None and block.first + block.n_filled < self.n_rows:
                raise self._changed()

    def _started(self, first: int, memory: BlockMemory) -> StartedBlock:
        """Return an empty block from row `first` on; without rows if none is left."""
        left = self.batch_rows if self.n_rows is None else max(0, self.n_rows - first)
        return StartedBlock(first, memory.take(min(self.batch_rows, left)))

    def _fill(self, block: StartedBlock, piece: _Piece, memory: BlockMemory) -> None:
        """Copy the rows of a piece to a block, and those for which it has no room to the next."""
        n_own = min(piece.n_rows, block.n_rows - block.n_filled)
        shares = [Share(block, block.n_filled, slice(0, n_own))]
        if n_own < piece.n_rows:
            block.next = self._started(block.first + block.n_rows, memory)
            if piece.n_rows - n_own > block.next.n_rows:
                raise self._changed()
            shares.append(Share(block.next, 0, slice(n_own, piece.n_rows)))
        for columns in piece.tables:
            table = self._table(columns, first=block.first + block.n_filled)
            others = []
            for name in columns.column_names:
                if name not in self._places:
                    others.append(name)
                    continue
                values = self._values(table, name)
                for share in shares:
                    share.features[:, self._places[name]] = values[share.rows]
                del values
            for share in shares if others else ():
                rows = columns.select(others).slice(share.rows.start, share.n_rows)
                share.block.others.append(rows)
            del columns, table  # the next columns are decoded now
        for share in shares:
            share.block.n_filled += share.n_rows

    def _values(self, table: Table, column: str) -> Any:
        """Return a column of numbers, without checks if it has the dtype of X and no gaps."""
        cells = table.columns[column]
        if cells.null_count or str(cells.type) != _ARROW_NAMES[self.dtype.itemsize]:
            return feature_of(table, column, self.dtype)
        return cells.to_numpy()

    def _finished(self, block: StartedBlock, roles: Mapping[str, str]) -> tuple[Any, ...]:
        """Return X and the parts of a block in the order of `IN_BLOCKS`."""
        import pyarrow as pa

        X = block.X
        if block.n_filled < block.n_rows:
            X = np.asfortranarray(X[: block.n_filled])
        if not roles:
            return X, *[None] * len(IN_BLOCKS)
        table = self._table(pa.concat_tables(block.others), first=block.first)
        return X, *(self._part(table, roles, role) for role in IN_BLOCKS)

    def _part(self, table: Table, roles: Mapping[str, str], role: str) -> Any:
        """Return the column of a role of ROW_COLUMNS, None if there is none.

        Queries that are text stay text in all blocks, though some blocks may have whole numbers
        only.
        """
        if role == "qid" and role in roles:
            return table.identifiers(roles[role], as_text=self._text_queries)
        return part_of(table, role, roles[role]) if role in roles else None

    def _changed(self) -> FileFormatError:
        return FileFormatError(
            f"{self.name}: the number of rows has changed since the files were opened; open them "
            "again"
        )

    def _table(self, columns: Any, first: int) -> Table:
        return Table(self.name, columns, lambda row: f"{self.name}, row {first + row} (from 0)")

    def _pieces(self, others: list[str], first: int) -> Iterator[_Piece]:
        """Yield the rows from number `first` on: the features, and other columns."""
        size = min(self.batch_rows, _BATCH_ROWS)
        read = self._scanned if self._files is None else self._from_files
        for piece in read(others, first, size):
            if piece.n_rows:
                yield piece
            del piece

    def _scanned(self, others: list[str], first: int, size: int) -> Iterator[_Piece]:
        from pyarrow import dataset

        options = dataset.ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
        is_parquet = isinstance(getattr(self._dataset, "format", None), dataset.ParquetFileFormat)
        scanner = self._dataset.scanner(
            columns=[*self.feature_names, *others],
            batch_size=size,
            batch_readahead=1,
            fragment_readahead=1,
            fragment_scan_options=options if is_parquet else None,
        )
        for batch in scanner.to_batches():
            yield _piece_of(batch, first)
            first -= batch.num_rows
            del batch

    def _from_files(self, others: list[str], first: int, size: int) -> Iterator[_Piece]:
        """Yield the rows of files one after another; row groups before row `first` are not read.

        Row groups that are no larger than a block are decoded as wholes, a few columns at a time.
        """
        import pyarrow.parquet as pq

        columns = [*self.feature_names, *others]
        for path in self._files or ():
            filesystem = self._dataset.filesystem
            with filesystem.open_input_file(path) as opened:
                file = pq.ParquetFile(
                    opened,
                    buffer_size=_BUFFER_BYTES,
                    pre_buffer=False,
                    page_checksum_verification=self._checks_pages,
                )
                self._check_columns(path, columns, file.schema_arrow.names)
                sizes = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
                ends = np.cumsum(sizes, dtype=int)
                n_skipped = int(np.searchsorted(ends, first, side="right"))
                if n_skipped:
                    first -= int(ends[n_skipped - 1])
                left = range(n_skipped, len(sizes))
                if max(sizes, default=0) <= self.batch_rows:
                    parts = self._column_parts(others, max(sizes, default=0))
                    for number in left:
                        yield _piece_of_group(file, number, parts, first)
                        first -= sizes[number]
                    continue
                for batch in file.iter_batches(size, row_groups=list(left), columns=columns):
                    yield _piece_of(batch.select(columns), first)
                    first -= batch.num_rows
                    del batch

    def _column_parts(self, others: list[str], n_rows: int) -> list[list[str]]:
        """Return the columns in parts whose rows are decoded together.

        The memory of a part is small, so that the next part uses it again, and has at least a
        column for each of pyarrow's threads.
        """
        import pyarrow as pa

        n_columns = max(pa.cpu_count(), _PART_BYTES // max(1, n_rows * self.dtype.itemsize))
        names = self.feature_names
        parts = [names[at : at + n_columns] for at in range(0, len(names), n_columns)]
        return [*parts, others] if others else parts

    def _check_columns(self, path: str, columns: list[str], header: list[str]) -> None:
        unknown = [column for column in columns if column not in header]
        if unknown:
            raise FileFormatError(f"{path}: {no_column(unknown, header)}")

    def _own_dtype(self) -> np.dtype[Any]:
        kinds = {str(self._types[name]) for name in self.feature_names}
        return np.dtype(np.float32 if kinds and kinds <= {"float", "halffloat"} else np.float64)

    @contextlib.contextmanager
    def _undamaged(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except PairrankError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._fault(error) from error

    def _fault(self, error: Exception) -> PairrankError:
        """Return the error about files that cannot be read."""
        if isinstance(error, FileNotFoundError):
            return FileAccessError(
                f"cannot read {self.name}: no such file ({error}); check the path"
            )
        return FileFormatError(
            f"{self.name}: not Parquet, damaged, or files of different columns ({error})"
        )


class _Piece(NamedTuple):
    """Some rows, at most as many as a block has."""

    n_rows: int
    tables: Iterable[Any]
    """Each has some of the columns; each column is in one of them."""


def _piece_of(batch: Any, n_before: int) -> _Piece:
    """Return the rows of a batch but the first ones."""
    import pyarrow as pa

    rows = batch.slice(min(max(0, n_before), batch.num_rows))
    return _Piece(rows.num_rows, [pa.Table.from_batches([rows])])


def _piece_of_group(file: Any, number: int, parts: list[list[str]], n_before: int) -> _Piece:
    """Return the rows of a row group but the first ones; they are decoded when they are needed."""
    n_before = max(0, n_before)
    n_rows = max(0, file.metadata.row_group(number).num_rows - n_before)
    read = (
        file.read_row_group(number, columns=part).select(part).slice(n_before) for part in parts
    )
    return _Piece(n_rows, read)


def _name_of(data: Any) -> str:
    if hasattr(data, "scanner"):
        return "the dataset"
    if isinstance(data, str | os.PathLike):
        return os.fspath(data)
    paths = list(data)
    return f"{os.fspath(paths[0])} and {len(paths) - 1} more" if paths else "no file"


def _dataset_of(data: Any, filesystem: Any) -> Any:
    from pyarrow import dataset

    is_single = isinstance(data, str | os.PathLike)
    paths = [os.fspath(path) for path in ([data] if is_single else data)]
    found = [each for path in paths for each in _files_of(path, filesystem)]
    if not found:
        raise FileAccessError(f"cannot read {_name_of(data)}: there is no such file")
    return dataset.dataset(
        found[0] if len(found) == 1 else found,
        format="parquet",
        filesystem=filesystem,
        partitioning="hive" if len(found) == 1 else None,
    )


def _plain_files(dataset: Any) -> list[str] | None:
    """Return the files of a dataset; None if its folders' names give columns too."""
    first = next(dataset.get_fragments(), None)
    is_plain = first is not None and set(dataset.schema.names) <= set(first.physical_schema.names)
    return list(dataset.files) if is_plain else None


def _files_of(path: str, filesystem: Any) -> list[str]:
    """Return a path as it is, or the files of a pattern in the order of their names."""
    if not glob.has_magic(path) or (filesystem is None and os.path.exists(path)):
        return [path]
    if filesystem is None:
        return sorted(glob.glob(path, recursive=True))
    if hasattr(filesystem, "glob"):
        return sorted(filesystem.glob(path))
    from pyarrow.fs import FileSelector

    folder = path[: glob.magic_check.search(path).start()].rpartition("/")[0]  # type: ignore[attr-defined]
    files = filesystem.get_file_info(FileSelector(folder or "/", recursive=True))
    return sorted(each.path for each in files if fnmatch.fnmatchcase(each.path, path))
