"""Read and write Parquet, through whichever of pyarrow and polars is installed."""

from __future__ import annotations

import importlib.util
import io
import os
from collections.abc import Callable, Sequence
from typing import IO, Any

import narwhals.stable.v1 as nw
import numpy as np

from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._columns import column_names, find_roles
from pairrank.io._streams import name_of, open_source, open_target
from pairrank.io.rows import Rows


def read_parquet(
    source: str | os.PathLike[str] | IO[bytes],
    *,
    label: str | None = "label",
    qid: str | None = None,
    weight: str | None = None,
    features: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    ignore: Sequence[str] = (),
    dtype: Any = np.float64,
) -> Rows:
    """Read Parquet; every column without another role is a feature.

    Parameters
    ----------
    source : str, path-like or binary file object
        "-" is standard input.
    label, qid, weight : str, optional
        Names of columns. `label=None` reads rows without labels, as for prediction.
    features : sequence of str, optional
        The feature columns, in this order. None: all the columns left, in the file's order.
    drop, ignore : sequence of str
        Columns to leave out: those to drop must be there, those to ignore need not.
    dtype : float64 or float32
        Of X.

    Returns
    -------
    Rows
        As from `read_csv`; a numeric qid keeps its type.

    Raises
    ------
    FileFormatError
        No Parquet file, no rows, unknown columns, null, NaN or infinity, a feature that is no
        number: with the column and the row, counted from 0.
    ImportError
        Neither pyarrow nor polars is installed.

    Notes
    -----
    O(cells); beyond X it holds the file's columns as its library reads them.
    """
    name = name_of(source)
    frame = _read_frame(source, name)
    roles = find_roles(
        name, frame.columns, label=label, qid=qid, weight=weight, features=features, drop=drop,
        ignore=ignore,
    )  # fmt: skip
    if len(frame) == 0:
        raise FileFormatError(f"{name}: no rows")
    _check_types(name, frame, roles.features, "features")
    X = np.empty((len(frame), len(roles.features)), dtype=dtype)
    for number, column in enumerate(roles.features):
        X[:, number] = _numbers(name, frame, column)
    y = None if roles.label is None else _values(name, frame, roles.label)
    if y is not None and y.dtype.kind in "iub":
        y = y.astype(np.float64)
    queries = None if roles.qid is None else _values(name, frame, roles.qid)
    weights = None
    if roles.weight is not None:
        _check_types(name, frame, [roles.weight], "weights")
        weights = _numbers(name, frame, roles.weight)
    return Rows(X, y, queries, weights, list(roles.features), None)


def read_numbers(
    source: str | os.PathLike[str] | IO[bytes],
    name: str,
    check_header: Callable[[str, Sequence[str]], None],
) -> dict[str, np.ndarray[Any, Any]]:
    """Read a Parquet file whose columns are all numbers, as float64 arrays by their names.

    Parameters
    ----------
    source : str, path-like or binary file object
        The file.
    name : str
        What messages call it.
    check_header : callable
        Raises where the file `name` has not the columns that are wanted.
    """
    frame = _read_frame(source, name)
    check_header(name, frame.columns)
    _check_types(name, frame, list(frame.columns), "pairs")
    return {column: _numbers(name, frame, column) for column in frame.columns}


def _backend() -> Any:
    for library in ("pyarrow", "polars"):
        if importlib.util.find_spec(library) is not None:
            return library
    raise ImportError(
        "Parquet needs pyarrow or polars; pip install 'pairrank[parquet]', or use CSV or svmlight"
    )


def _read_frame(source: Any, name: str) -> Any:
    backend = _backend()
    with open_source(source) as stream:
        data = stream.read()
    if data[:4] != b"PAR1" or data[-4:] != b"PAR1":
        raise FileFormatError(f"{name} is no Parquet file, or is cut; its ends do not say PAR1")
    library = importlib.import_module("pyarrow.parquet" if backend == "pyarrow" else "polars")
    reader = library.read_table if backend == "pyarrow" else library.read_parquet
    try:
        table = reader(io.BytesIO(data))
    except Exception as error:
        raise FileFormatError(f"{name}: the Parquet file is damaged ({error})") from error
    return nw.from_native(table, eager_only=True)


def _check_types(name: str, frame: Any, columns: list[str], role: str) -> None:
    schema = frame.schema
    texts = [
        column
        for column in columns
        if not (schema[column].is_numeric() or schema[column] == nw.Boolean)
    ]
    if texts:
        listed = ", ".join(f"{column!r} ({schema[column]})" for column in texts)
        raise FileFormatError(
            f"{name}: the columns {listed} are no numbers, {role} are; drop or encode them"
        )


def _numbers(name: str, frame: Any, column: str) -> np.ndarray[Any, Any]:
    series = frame[column]
    _refuse_first(name, column, series.is_null().to_numpy(), "is empty")
    values = np.asarray(series.to_numpy(), dtype=np.float64)
    _refuse_first(name, column, ~np.isfinite(values), "is not finite")
    return values


def _values(name: str, frame: Any, column: str) -> np.ndarray[Any, Any]:
    """Return a label or qid column: numbers as they are, anything else as text."""
    series = frame[column]
    if series.dtype.is_numeric():
        _numbers(name, frame, column)
        values = np.asarray(series.to_numpy())
        return values.astype(np.int64 if values.dtype.kind in "iu" else np.float64)
    _refuse_first(name, column, series.is_null().to_numpy(), "is empty")
    return np.array([str(value) for value in series.to_list()])


def _refuse_first(name: str, column: str, bad: np.ndarray[Any, Any], what: str) -> None:
    if bad.any():
        raise FileFormatError(
            f"{name}, row {int(np.argmax(bad))} (from 0): column {column!r} {what}; impute a "
            "value, drop the row, or drop the column"
        )


def write_parquet(
    target: str | os.PathLike[str] | IO[bytes],
    rows: Rows,
    *,
    label: str = "label",
    qid: str = "qid",
    weight: str = "weight",
) -> None:
    """Write rows as Parquet: label, qid and weight where there are any, then features.

    Features without names are called x1, x2, ...; comments are not written; float32 stays float32.

    Parameters
    ----------
    target : str, path-like or binary file object
        "-" is standard output.
    rows : Rows
        What is written.
    label, qid, weight : str
        Names of the columns.

    Raises
    ------
    PairrankError
        A name that two columns share, parts of different lengths, a name ending in .gz and the
        like (Parquet compresses by itself).
    FileAccessError
        The place cannot be written.
    ImportError
        Neither pyarrow nor polars is installed.
    """
    names = column_names(rows, label=label, qid=qid, weight=weight)
    if str(name_of(target)).lower().endswith((".gz", ".bz2", ".xz")):
        raise PairrankError(f"{name_of(target)}: Parquet compresses by itself; end it in .parquet")
    backend = _backend()
    X = rows.X if isinstance(rows.X, np.ndarray) else rows.X.tocsc()
    parts = [np.asarray(part) for part in (rows.y, rows.qid, rows.weight) if part is not None]
    columns = parts + [
        X[:, j] if isinstance(X, np.ndarray) else X[:, [j]].toarray()[:, 0]
        for j in range(X.shape[1])
    ]
    series = {
        name: column.tolist() if column.dtype.kind in "UO" else np.ascontiguousarray(column)
        for name, column in zip(names, columns, strict=True)
    }
    buffer = io.BytesIO()
    nw.from_dict(series, backend=backend).write_parquet(buffer)
    with open_target(target) as file:
        file.write(buffer.getbuffer())
