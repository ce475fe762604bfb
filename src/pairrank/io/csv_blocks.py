"""CsvBlocks: CSV files, converted once to Parquet files in a folder."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

import numpy as np

from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._arrow import RECORDS_SEEN, CsvText, Table
from pairrank.io._atomic import atomic_write
from pairrank.io._converted import ConvertedFiles, stat_of_file
from pairrank.io._csv_records import CsvRecords
from pairrank.io._streams import ReadingCallback, open_source, position_in
from pairrank.io.parquet_blocks import ParquetBlocks
from pairrank.io.rows import (
    ROW_COLUMNS,
    check_dtype,
    column_names,
    named_columns,
    names_of,
    narrowed,
)
from pairrank.io.tables import Roles, features_of

_TEXT_BYTES = 16 << 20
"""Text that is parsed together, and becomes a row group."""
_ROWS_TOLD = 10_000
"""After a bad cell so many rows are searched for other columns with such cells."""


class CsvBlocks(ParquetBlocks):
    """A source of blocks of CSV files, which are parsed once.

    A file becomes a Parquet file with the columns that are used: features in `dtype`, weights as
    numbers, labels and queries as text. Parquet's checksums of pages show damage. Files of an
    earlier conversion that has all named features and columns are used again.

    Parameters
    ----------
    paths : str, path-like or sequence of them
        Files of UTF-8 text with a header; gzip, bzip2 and xz are decompressed.
    cache : str or path-like
        The folder; it is made if there is none.
    columns, features, drop, drop_text, batch_rows
        As for ParquetBlocks. Whether a column is text follows from the first rows of the first
        file.
    dtype : float64 or float32
        The dtype of X.
    block_bytes : int
        As for ParquetBlocks.
    callback : callable, optional
        As for `read_rows`; called while text is parsed.
    """

    _checks_pages = True

    def __init__(
        self,
        paths: Any,
        cache: str | os.PathLike[str],
        columns: Mapping[str, str | None],
        *,
        features: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        drop_text: bool = False,
        batch_rows: int | None = None,
        dtype: Any = np.float64,
        block_bytes: int = 1 << 26,
        callback: ReadingCallback | None = None,
    ) -> None:
        dtype, self._callback = check_dtype(dtype), callback
        named = named_columns(columns)
        given = None if features is None else column_names(features, "features")
        drop = column_names(drop, "drop")
        options = [named, given, drop, drop_text, dtype.str]
        self._text = ConvertedFiles(paths, cache, options, "CSV")
        manifest = self._text.manifest()
        if manifest is None and "qid" not in named:
            self._text.refuse_side_files()
        if manifest is None and given and not drop and len(set(given)) == len(given):
            manifest = self._text.adopted(functools.partial(_holds, named, given, dtype.str))
        if manifest is None:
            manifest = self._convert(Roles(named, given, drop, drop_text=drop_text), dtype)
            given = manifest["features"]
        super().__init__(
            [self._text.folder / _file(number) for number in range(len(self._text.paths))],
            columns,
            features=given or manifest["features"],
            batch_rows=batch_rows,
            dtype=dtype,
            block_bytes=block_bytes,
        )
        self.name = self._text.name
        self._text_queries = manifest["text_queries"]

    def _fault(self, error: Exception) -> PairrankError:
        return self._text.damaged(self._text.folder, error)

    def _table(self, columns: Any, first: int) -> Table:
        return Table(self.name, columns, lambda row: self._place(first + row))

    def _place(self, row: int) -> str:
        """Return the file of a row, and the line where it ends."""
        for path in self._text.paths:
            for line, _ in CsvRecords(functools.partial(open_source, path), path).read(skip=True):
                if not row:
                    return f"{path}, line {line}"
                row -= 1
        raise self._changed()

    def _convert(self, roles: Roles, dtype: np.dtype[Any]) -> dict[str, Any]:
        """Write the Parquet files, and last of all the manifest; return it."""
        texts: list[_CsvFile] = []
        for path in self._text.paths:  # all are checked before any is converted
            texts.append(_CsvFile(path, roles, dtype))
            # files after the first one need its columns, in any order
            roles = roles._replace(features=texts[0].features, drop=())
        with self._text.converting() as files:
            for number, text in enumerate(texts):
                with atomic_write(self._text.folder / _file(number)) as target:
                    text.write(target, self._callback)
            manifest = {
                "files": files,
                "features": roles.features,
                "columns": dict(roles.columns),
                "dtype": dtype.str,
                "text_queries": any(text.text_queries for text in texts),
            }
            return self._text.finish(manifest, {_file(number) for number in range(len(texts))})


def csv_features(
    path: str,
    columns: Mapping[str, str | None],
    *,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    drop_text: bool = False,
) -> list[str]:
    """Return the features that CsvBlocks takes from a file, after a check of all named columns.

    Reads the first rows only. Parameters are those of CsvBlocks.
    """
    roles = Roles(named_columns(columns), features, drop, drop_text=drop_text)
    return _CsvFile(path, roles, np.dtype(np.float64)).features


def _holds(
    columns: Mapping[str, str], features: Sequence[str], dtype: str, manifest: dict[str, Any]
) -> bool:
    """Whether converted files have all these columns, in the same roles and of this dtype."""
    held, names = manifest["columns"], manifest["features"]
    return (
        columns.items() <= held.items()
        and set(features) <= set(names)
        and dtype == manifest["dtype"]
    )


class _CsvFile:
    """A CSV file, and the columns of it that are read."""

    def __init__(self, path: str, roles: Roles, dtype: np.dtype[Any]) -> None:
        stat_of_file(path)  # a pipe would be waited for
        self.path, self._dtype = path, dtype
        self._records = CsvRecords(functools.partial(open_source, path), path)
        start = CsvText(self._records.first_text(RECORDS_SEEN + 1), path)
        if not start.first:
            raise FileFormatError(f"{path}: empty; a header with the columns' names is needed")
        self._header, self._first_line = start.first, start.first_line
        if next(start.records.read(skip=True), None) is None:
            raise FileFormatError(f"{path}: no rows below the header")
        self.features = features_of(start, roles)
        kinds = {column: ROW_COLUMNS[role].kind for role, column in roles.columns.items()}
        self._texts = [column for column, kind in kinds.items() if kind != "numbers"]
        self._weights = [column for column in kinds if column not in self._texts]
        self._queries = roles.columns.get("qid")
        self.text_queries = False
        """Whether queries are text, known after `write`; else they are whole numbers."""

    def write(self, target: IO[bytes], callback: ReadingCallback | None) -> None:
        """Write the columns as a Parquet file."""
        import pyarrow.parquet as pq

        schema = self._schema()
        with pq.ParquetWriter(
            target, schema, use_dictionary=self._texts, write_page_checksum=True
        ) as writer:
            for batch in self._batches(schema, callback):
                writer.write_batch(batch)

    def _schema(self) -> Any:
        import pyarrow as pa

        kind = pa.from_numpy_dtype(self._dtype)
        return pa.schema(
            [
                *((name, kind) for name in self.features),
                *((name, pa.float64()) for name in self._weights),
                *((name, pa.string()) for name in self._texts),
            ]
        )

    def _batches(self, schema: Any, callback: ReadingCallback | None) -> Iterator[Any]:
        """Yield the rows in parts, checked."""
        import pyarrow as pa
        from pyarrow import csv

        kinds = {
            name: pa.string() if name in self._texts else pa.float64() for name in schema.names
        }
        n_rows = 0
        try:
            with open_source(self.path) as stream:
                watched = _Watched(stream, callback, lambda: n_rows)
                parts = csv.open_csv(
                    watched,
                    csv.ReadOptions(
                        column_names=self._header,
                        skip_rows=self._first_line,
                        block_size=_TEXT_BYTES,
                    ),
                    csv.ParseOptions(newlines_in_values=True),
                    csv.ConvertOptions(
                        column_types=kinds, include_columns=schema.names, null_values=[]
                    ),
                )
                for part in parts:
                    yield self._checked(part, schema, n_rows)
                    n_rows += part.num_rows
            if watched.n_quotes % 2:  # pyarrow accepts a last cell whose quote is never closed
                self._explain(0)
        except pa.ArrowInvalid as error:
            self._explain(n_rows)
            raise FileFormatError(f"{self.path}: {error}; correct the file") from error

    def _checked(self, part: Any, schema: Any, n_before: int) -> Any:
        """Return the rows of a part, with features in their dtype; refuse what is not finite."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._queries is not None and not self.text_queries:
            texts = pc.unique(part.column(self._queries)).to_pylist()
            self.text_queries = names_of(self.path, self._queries, texts).dtype.kind == "U"
        arrays = []
        for name in schema.names:
            cells = part.column(name)
            if name not in self._texts:
                values = cells.to_numpy()
                if not np.isfinite(values).all():
                    self._explain(n_before)
                if name not in self._weights:
                    cells = pa.array(narrowed(values, self._dtype, self._place(name, n_before)))
            arrays.append(cells)
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _place(self, column: str, n_before: int) -> Callable[[int], str]:
        def place(row: int) -> str:
            return f"{self._records.place(skip=True)(n_before + row)}: column {column!r}"

        return place

    def _explain(self, n_valid: int) -> None:
        """Raise the error for the first bad record after the rows that are valid."""
        numbers = [*self.features, *self._weights]
        self._records.explain(self._header, numbers, skip=True, first=n_valid, at_most=_ROWS_TOLD)


class _Watched(io.RawIOBase):
    """A stream whose quotes are counted; a callback hears how much of it has been read."""

    def __init__(
        self, stream: IO[bytes], callback: ReadingCallback | None, n_rows: Callable[[], int]
    ) -> None:
        self._stream, self._callback, self._n_rows, self._n_read = stream, callback, n_rows, 0
        self.n_quotes = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Read some bytes and report the position."""
        found = self._stream.read(size)
        self._n_read += len(found)
        self.n_quotes += found.count(b'"')
        if self._callback is not None:
            self._callback(*position_in(self._stream, self._n_read), self._n_rows())
        return found


def _file(number: int) -> str:
    return f"block-{number:06d}.parquet"
