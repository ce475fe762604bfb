"""CSV and Parquet to Rows and back: columns by role."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np

from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._arrow import CsvText, Table, parquet_header, parquet_table
from pairrank.io._streams import COMPRESSED_SUFFIXES, name_of, open_source, open_target
from pairrank.io.rows import Rows, check_dtype, check_rows, narrowed, overflow_error

_CELLS_PER_BLOCK = 1 << 20


class Roles(NamedTuple):
    """Names of the columns by role."""

    label: str | None = None
    qid: str | None = None
    weight: str | None = None
    features: Sequence[str] | None = None
    drop: Sequence[str] = ()
    ignore: Sequence[str] = ()


def read_table(
    source: str | os.PathLike[str] | IO[bytes], format: str, roles: Roles, dtype: Any
) -> Rows:
    """Read the rows of a CSV or Parquet file, as described in `read_rows`."""
    dtype = check_dtype(dtype)
    name = name_of(source)
    with open_source(source) as stream:
        data = stream.read()
    csv_text = CsvText(data, name) if format == "csv" else None
    header = parquet_header(data, name) if csv_text is None else csv_text.first
    if not header:
        raise FileFormatError(f"{name}: empty; a header with the columns' names is needed")
    label, qid, weight, features = _checked_roles(name, header, roles)
    names = [column for column in (label, qid) if column is not None]
    numbers = [*features, *([] if weight is None else [weight])]
    if csv_text is None:
        table = parquet_table(data, name, [*names, *numbers])
    else:
        table = csv_text.table(header, numbers, names, skip=True)
    del data, csv_text
    if len(table) == 0:
        raise FileFormatError(f"{name}: no rows below the header")
    table.check_numbers(features, "features")
    if weight is not None:
        table.check_numbers([weight], "weights")
    X = _features(table, features, dtype)
    ids, codes = (None, None) if qid is None else table.names(qid)
    return Rows(
        X,
        None if label is None else table.labels(label),
        None if ids is None else ids[codes],
        None if weight is None else table.numbers(weight),
        features,
    )


def _checked_roles(
    name: str, header: Sequence[str], roles: Roles
) -> tuple[str | None, str | None, str | None, list[str]]:
    """Return the checked columns of label, qid, weight and features."""
    doubled = _repeated(header)
    if doubled:
        raise FileFormatError(
            f"{name}: the header names {_listed(doubled)} more than once; rename the columns"
        )
    label, qid, weight, features, drop, ignore = roles
    named = [column for column in (label, qid, weight) if column is not None]
    unknown = [one for one in (*named, *(features or ()), *drop) if one not in set(header)]
    if unknown:
        raise FileFormatError(
            f"{name}: no column {_listed(unknown)}; the columns are {_listed(header)}"
        )
    shared = _repeated([*named, *(features or ())])
    if shared:
        raise PairrankError(f"{name}: column {_listed(shared)} has two roles; give it one")
    if features is None:
        taken = {*named, *drop, *ignore}
        features = [column for column in header if column not in taken]
    if not features:
        raise FileFormatError(
            f"{name}: no column is left as a feature; the columns are {_listed(header)}"
        )
    return label, qid, weight, list(features)


def _features(table: Table, features: list[str], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    X = np.empty((len(table), len(features)), dtype=dtype)
    for at, column in enumerate(features):
        values = table.numbers(column)
        X[:, at] = narrowed(values, dtype)
        overflows = np.isinf(X[:, at])
        if overflows.any():
            row = int(overflows.argmax())
            raise overflow_error(f"{table.place(row)}: column {column!r}", float(values[row]))
    return X


def write_table(
    target: str | os.PathLike[str] | IO[bytes], rows: Rows, format: str, roles: Roles
) -> None:
    """Write rows as CSV or Parquet, as described in `write_rows`."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    header = _column_names(rows, roles)
    is_csv = format == "csv"
    if not is_csv and str(name_of(target)).lower().endswith(COMPRESSED_SUFFIXES):
        raise PairrankError(f"{name_of(target)}: Parquet compresses by itself; end it in .parquet")
    blocks = (pa.table(block, names=header) for block in _blocks(rows, len(header)))
    first = next(blocks)
    with open_target(target) as file:
        if is_csv:
            line = io.StringIO()
            csv.writer(line, lineterminator="\n").writerow(header)
            file.write(line.getvalue().encode())
            options = arrow_csv.WriteOptions(include_header=False)
            writer = arrow_csv.CSVWriter(file, first.schema, write_options=options)
        else:
            writer = parquet.ParquetWriter(file, first.schema)
        with writer:
            writer.write_table(first)
            for block in blocks:
                writer.write_table(block)


def _column_names(rows: Rows, roles: Roles) -> list[str]:
    """Return the header of a table: the roles that `rows` has, then the features."""
    check_rows(rows)
    parts = ((roles.label, rows.y), (roles.qid, rows.qid), (roles.weight, rows.weight))
    features = rows.feature_names or [f"x{number}" for number in range(1, rows.X.shape[1] + 1)]
    names = [str(name) for name, part in parts if part is not None] + list(features)
    doubled = _repeated(names)
    if doubled:
        raise PairrankError(
            f"two columns would be named {_listed(doubled)}; pass other names for label, qid or "
            "weight"
        )
    return names


def _blocks(rows: Rows, width: int) -> Iterator[list[Any]]:
    """Yield the columns of blocks of rows, sparse rows with their zeros."""
    leading = [np.asarray(part) for part in (rows.y, rows.qid, rows.weight) if part is not None]
    size = max(1, _CELLS_PER_BLOCK // width)
    for start in range(0, rows.X.shape[0], size):
        block = rows.X[start : start + size]
        columns = (block if isinstance(block, np.ndarray) else block.toarray()).T
        heads = (part[start : start + size] for part in leading)
        yield [
            *(head.tolist() if head.dtype.kind in "UO" else head for head in heads),
            *np.ascontiguousarray(columns),
        ]


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
