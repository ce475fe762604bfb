"""ParquetBlocks: rows of Parquet files, read by blocks."""

from __future__ import annotations

import glob
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pairrank.exceptions import FileAccessError, FileFormatError
from pairrank.io._arrow import ParquetColumns, Table, is_numeric
from pairrank.io.rows import IN_BLOCKS, check_dtype, named_columns, no_column
from pairrank.io.tables import feature_of, features_of, part_of, roles_of

_BATCH_ROWS = 1 << 18


class ParquetBlocks(ParquetColumns):
    """A source of blocks of rows: only the columns needed are read, and few row groups at a time.

    Parameters are those of `pairrank.RowBlocks.from_parquet`; `columns` has the names of columns by
    role (label, qid, weight, winner_weight, loser_weight), and `block_bytes` are those of X in a
    block where `batch_rows` is None.
    """

    damage = "not Parquet, damaged, or files of different columns"

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
        block_bytes: int = 1 << 26,
    ) -> None:
        is_ours = not hasattr(data, "scanner")
        paths = _paths_of(data) if is_ours else []
        self.name = _name_of(paths) if is_ours else "the dataset"
        self._columns = named_columns(columns)
        roles = roles_of(self._columns, features, drop, drop_text=drop_text)
        with self.undamaged():
            # opened anew in each pass: a dataset keeps what it has read of the files
            self._open = (lambda: _dataset_of(paths)) if is_ours else (lambda: data)
            opened = self._open()
            self.schema = opened.schema
            fragment = next(opened.get_fragments(), None)
        self._stored = set() if fragment is None else set(fragment.physical_schema.names)
        self.feature_names: list[str] = features_of(self, roles)
        self.n_features = len(self.feature_names)
        self.dtype = self._own_dtype() if dtype is None else check_dtype(dtype)
        width = max(1, self.n_features * self.dtype.itemsize)
        self.batch_rows = batch_rows or max(1, block_bytes // width)
        with self.undamaged():
            self.n_rows = int(opened.count_rows()) if is_ours else None

    def read(self, start: int, *, labelled: bool) -> Generator[tuple[Any, ...], None, None]:
        """Yield blocks of `batch_rows` rows from number `start` on; the last one may be smaller.

        X of each is in the memory of the one before: fresh pages take longer than copying.
        """
        roles = self._columns if labelled else {}
        first = start * self.batch_rows
        room: Any = None
        parts: list[Any] = []
        n_rows = 0
        with self.undamaged():
            for batch in self._batches(list(roles.values()), first):
                while batch.num_rows:
                    parts.append(batch.slice(0, self.batch_rows - n_rows))
                    n_rows += parts[-1].num_rows
                    batch = batch.slice(parts[-1].num_rows)
                    if n_rows == self.batch_rows:
                        block, parts = self._block(parts, first, roles, room), []
                        room = block[0].reshape(-1, order="F")
                        first, n_rows = first + n_rows, 0
                        yield block
                        del block
                del batch
            if parts:
                yield self._block(parts, first, roles, room)
            if self.n_rows is not None and first + n_rows < self.n_rows:
                raise self._changed()

    def _block(
        self, parts: list[Any], first: int, roles: Mapping[str, str], room: Any
    ) -> tuple[Any, ...]:
        """Return X and the parts of a block in the order of `IN_BLOCKS`.

        X takes the memory of the array `room`, unless that is None.
        """
        import pyarrow as pa

        if self.n_rows is not None and first + sum(map(len, parts)) > self.n_rows:
            raise self._changed()
        columns = pa.Table.from_batches(parts)
        table = Table(self.name, columns, lambda row: f"{self.name}, row {first + row} (from 0)")
        size = len(table) * self.n_features
        room = np.empty(size, dtype=self.dtype) if room is None else room[:size]
        X = room.reshape((len(table), self.n_features), order="F")
        for at, name in enumerate(self.feature_names):
            cells = columns[name]
            if cells.null_count or cells.type != pa.from_numpy_dtype(self.dtype):
                X[:, at] = feature_of(table, name, self.dtype)
            else:  # the checks of blocks find what is not finite
                np.concatenate([chunk.to_numpy() for chunk in cells.chunks], out=X[:, at])
        found = {role: part_of(table, role, column) for role, column in roles.items()}
        if "qid" in found and not is_numeric(columns[roles["qid"]].type):
            found["qid"] = found["qid"].astype(str)  # some blocks may have whole numbers only
        return X, *map(found.get, IN_BLOCKS)

    def _changed(self) -> FileFormatError:
        return FileFormatError(
            f"{self.name}: the number of rows has changed since the files were opened; open them "
            "again"
        )

    def _batches(self, others: list[str], first: int) -> Iterator[Any]:
        """Yield the rows from number `first` on; files and row groups before it are not read.

        Few batches are in memory together.
        """
        from pyarrow import dataset

        columns = [*self.feature_names, *others]
        few = dataset.ParquetFragmentScanOptions(use_buffered_stream=True, pre_buffer=False)
        for fragment in self._open().get_fragments():
            for part in self._unread(fragment, columns, first):
                n_rows = _rows_of(part) if first else 1
                if first >= n_rows:
                    first -= n_rows
                    continue
                is_parquet = isinstance(part, dataset.ParquetFileFragment)
                for batch in part.to_batches(
                    schema=self.schema,
                    columns=columns,
                    batch_size=min(self.batch_rows, _BATCH_ROWS),
                    batch_readahead=1,
                    fragment_scan_options=few if is_parquet else None,
                ):
                    n_skipped = min(first, batch.num_rows)
                    first -= n_skipped
                    yield batch.slice(n_skipped)
                    del batch

    def _unread(self, fragment: Any, columns: list[str], first: int) -> list[Any]:
        """Return a fragment, or its row groups if some of them may be left out."""
        names = fragment.physical_schema.names
        unknown = [column for column in columns if column in self._stored and column not in names]
        if unknown:
            raise FileFormatError(f"{fragment.path}: {no_column(unknown, names)}")
        return (
            fragment.split_by_row_group()
            if first and hasattr(fragment, "row_groups")
            else [fragment]
        )

    def _own_dtype(self) -> np.dtype[Any]:
        kinds = {str(self.schema.field(name).type) for name in self.feature_names}
        return np.dtype(np.float32 if kinds and kinds <= {"float", "halffloat"} else np.float64)


def _rows_of(fragment: Any) -> int:
    """Return the rows of a fragment; pyarrow counts all of a file for one of its row groups."""
    groups = getattr(fragment, "row_groups", None)
    return int(fragment.count_rows() if groups is None else sum(group.num_rows for group in groups))


def _paths_of(data: Any) -> list[str]:
    return [os.fspath(path) for path in ([data] if isinstance(data, str | os.PathLike) else data)]


def _name_of(paths: list[str]) -> str:
    if len(paths) > 1:
        return f"{paths[0]} and {len(paths) - 1} more"
    return paths[0] if paths else "no file"


def _dataset_of(paths: list[str]) -> Any:
    from pyarrow import dataset

    found = []
    for path in paths:
        is_pattern = glob.has_magic(path) and not os.path.exists(path)
        found += sorted(glob.glob(path, recursive=True)) if is_pattern else [path]
    if not found:
        raise FileAccessError(f"cannot read {_name_of(paths)}: there is no such file")
    is_one = len(found) == 1
    given = found[0] if is_one else found
    return dataset.dataset(given, format="parquet", partitioning="hive" if is_one else None)
