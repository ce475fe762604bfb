"""CSV and Parquet to Rows and back: columns by role."""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import Array
from pairrank.exceptions import FileFormatError, InputTypeError, PairrankError
from pairrank.io._arrow import PARQUET_MAGIC, ParquetData, Table
from pairrank.io._csv import CsvText
from pairrank.io._streams import (
    AnyFile,
    ReadingCallback,
    is_file,
    name_of,
    open_target,
    read_bytes,
    uncompressed,
)
from pairrank.io.rows import (
    ROW_COLUMNS,
    Rows,
    check_dtype,
    check_rows,
    listed,
    narrowed,
    no_column,
    numbered_names,
    refuse_unnamed,
)

_CELLS_PER_TABLE = 1 << 22
"""Written together, as a row group of Parquet."""
_OTHER_SEPARATORS = ";\t|"


class Roles(NamedTuple):
    """Names of columns: those of ROW_COLUMNS by role, the features, and those to leave out.

    `drop_text` leaves out features that hold text, unless `features` names them.
    """

    columns: Mapping[str, str]
    features: list[str] | None
    drop: list[str]
    ignore: list[str]
    drop_text: bool


def roles_of(
    columns: Mapping[str, str],
    features: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    ignore: Iterable[str] = (),
    *,
    drop_text: bool,
) -> Roles:
    """Return the roles of columns; raise an InputTypeError for one text in place of a list."""
    for argument, given in {"features": features, "drop": drop, "ignore": ignore}.items():
        if isinstance(given, str):
            raise InputTypeError(f"{argument} must be a list of columns, such as [{given!r}]")
    chosen = None if features is None else list(features)
    return Roles(columns, chosen, list(drop), list(ignore), drop_text)


def read_table(
    source: AnyFile,
    format: str,
    roles: Roles,
    dtype: Any,
    callback: ReadingCallback = None,
) -> Rows:
    """Read the rows of a CSV or Parquet file, as described in `read_rows`."""
    dtype, content = check_dtype(dtype), content_of(source, format, callback)
    features, numbers, texts = chosen_columns(content, roles)
    return rows_of(content.table(numbers, texts), roles.columns, features, dtype)


def content_of(
    source: Any, format: str = "", callback: ReadingCallback = None
) -> CsvText | ParquetData:
    """Return the content of a table; without a format its first bytes say whether it is Parquet."""
    name = name_of(source)
    if format == "csv" and is_file(source):
        return CsvText(source, name, callback)
    data = read_bytes(source)
    if format == "parquet" or (not format and data.startswith(PARQUET_MAGIC)):
        return ParquetData(data, name)
    return CsvText(data, name, callback)


def chosen_columns(
    content: CsvText | ParquetData, roles: Roles
) -> tuple[list[str], list[str], list[str]]:
    """Return the features, and all columns to read as numbers and as texts, after their checks."""
    features, named = features_of(content, roles), roles.columns
    texts = [column for role, column in named.items() if ROW_COLUMNS[role].kind != "numbers"]
    others = [column for column in named.values() if column not in texts]
    return features, [*features, *others], texts


def rows_of(
    table: Table,
    columns: Mapping[str, str],
    features: Sequence[str],
    dtype: np.dtype[Any],
) -> Rows:
    """Return the rows of a table."""
    X = np.empty((len(table), len(features)), dtype=dtype)
    for at, column in enumerate(features):
        X[:, at] = feature_of(table, column, dtype)
    parts: dict[str, Any] = {}
    for role, column in columns.items():
        parts[ROW_COLUMNS[role].field] = part_of(table, role, column)
    return Rows(X, feature_names=list(features), **parts)


def part_of(table: Table, role: str, column: str) -> Array:
    """Return the column of a role of ROW_COLUMNS."""
    part: Array = getattr(table, ROW_COLUMNS[role].kind)(column)
    return part


def feature_of(table: Table, column: str, dtype: np.dtype[Any]) -> Array:
    """Return a column of finite numbers as `dtype`."""

    def place(row: int) -> str:
        return f"{table.place(row)}: column {column!r}"

    return narrowed(table.numbers(column), dtype, place)


def features_of(content: Any, roles: Roles) -> list[str]:
    """Return the feature columns of numbers, after a check of all named columns.

    `content` is a CsvText, a ParquetData or a ParquetBlocks; `header` has the names of its columns.
    """
    name, header = content.name, content.header
    named = [*roles.columns.values(), *(roles.features or ())]
    check_header(name, header, named, roles.drop)
    taken = {*named, *roles.drop, *roles.ignore}
    others = [column for column in header if column not in taken]
    if roles.features == []:
        refuse_unnamed(others)
        return []
    features = others if roles.features is None else roles.features
    texts = content.text_columns(features)
    if roles.features is None and roles.drop_text:
        features, texts = [column for column in features if column not in set(texts)], []
    if texts:
        refuse_unnamed(texts, file=name)
        raise FileFormatError(
            f"{name}: features must be numbers, but these columns hold text or dates: "
            f"{listed(texts)}; name those of queries (--qid) and documents (--docid), leave out "
            "the others with --drop-text (in Python drop_text=True), or encode each as numbers, "
            "such as a column of 0 and 1 per value"
        )
    if not features:
        raise FileFormatError(
            f"{name}: no column is left as a feature; the columns are {listed(header)}"
        )
    return features


def check_header(
    name: str, header: Sequence[str], named: Sequence[str], dropped: Sequence[str] = ()
) -> None:
    """Check the names of a table's columns, and those of the columns that are asked for."""
    if not any(header):
        raise FileFormatError(f"{name}: empty; a header with the columns' names is needed")
    separators = [mark for mark in _OTHER_SEPARATORS if mark in header[0]]
    if len(header) == 1 and separators:
        raise FileFormatError(
            f"{name}: the header {header[0]!r} is one column; separate columns with commas, not "
            f"{separators[0]!r}"
        )
    doubled = _repeated(header)
    if doubled:
        raise FileFormatError(
            f"{name}: the header names {listed(doubled)} more than once; rename the columns"
        )
    unknown = [column for column in (*named, *dropped) if column not in set(header)]
    if unknown:
        raise FileFormatError(f"{name}: {no_column(unknown, header)}")
    shared = _repeated(named)
    if shared:
        raise PairrankError(f"{name}: column {listed(shared)} has two roles; give it one")


def write_table(
    target: AnyFile,
    blocks: Iterable[Rows],
    format: str,
    columns: Mapping[str, str],
) -> None:
    """Write blocks of rows as CSV or Parquet, as described in `write_rows`."""
    is_csv, name = format == "csv", name_of(target)
    if not is_csv and uncompressed(name) != name:
        raise PairrankError(f"{name}: Parquet compresses by itself; end it in .parquet")
    _write_tables(target, _tables(blocks, columns), is_csv=is_csv)


def _write_tables(target: Any, tables: Iterator[Any], *, is_csv: bool) -> None:
    """Write pyarrow tables of the same columns to one file."""
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    first = next(tables)
    with open_target(target) as file:
        if is_csv:
            line = io.StringIO()
            csv.writer(line, lineterminator="\n").writerow(first.column_names)
            file.write(line.getvalue().encode())
            options = arrow_csv.WriteOptions(include_header=False)
            writer = arrow_csv.CSVWriter(file, first.schema, write_options=options)
        else:
            writer = parquet.ParquetWriter(file, first.schema)
        with writer:
            for table in itertools.chain([first], tables):
                writer.write_table(table)


def _tables(blocks: Iterable[Rows], columns: Mapping[str, str]) -> Iterator[Any]:
    """Yield the rows of all blocks as pyarrow tables of about `_CELLS_PER_TABLE` cells."""
    import pyarrow as pa

    waiting: list[Any] = []
    for rows in blocks:
        header, leading = _columns_to_write(rows, columns)
        size = max(1, _CELLS_PER_TABLE // len(header))
        for start in range(0, rows.X.shape[0], size):
            X = rows.X[start : start + size]
            features = np.ascontiguousarray((X if isinstance(X, np.ndarray) else X.toarray()).T)
            heads = (each[start : start + size] for each in leading)
            waiting.append(pa.table([*heads, *features], names=header))
            if sum(map(len, waiting)) >= size:
                yield pa.concat_tables(waiting)
                waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _columns_to_write(rows: Rows, columns: Mapping[str, str]) -> tuple[list[str], list[Array]]:
    """Return the header of a table, and the columns that `rows` has before its features."""
    check_rows(rows)
    header, leading = [], []
    for role in ROW_COLUMNS:
        part = rows.part(role)
        if part is not None:
            header.append(columns.get(role, role))
            leading.append(np.asarray(part))
    header += rows.feature_names or numbered_names(rows.X.shape[1], rows.zero_based)
    doubled = _repeated(header)
    if doubled:
        raise PairrankError(
            f"two columns would be named {listed(doubled)}; pass other names for "
            f"{', '.join(ROW_COLUMNS)}"
        )
    return header, leading


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def write_columns(target: AnyFile, columns: Mapping[str, Array]) -> None:
    """Write columns of one length: as Parquet if the target ends in .parquet, else as CSV.

    NaN and None become empty cells. The file changes only if all is written.
    """
    import pyarrow as pa

    arrays = {}
    for name, values in columns.items():
        array = pa.array(values, from_pandas=True)
        arrays[name] = array.cast(pa.string()) if pa.types.is_null(array.type) else array
    is_csv = not name_of(target).lower().endswith(".parquet")
    _write_tables(target, iter([pa.table(arrays)]), is_csv=is_csv)
