"""Read and write CSV with named label, qid and weight columns; needs no further library."""

from __future__ import annotations

import contextlib
import csv
import io
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np

from pairrank.exceptions import FileFormatError
from pairrank.io._cells import CellParser, TextBlock
from pairrank.io._columns import column_names, find_roles
from pairrank.io._streams import name_of, open_source, open_target
from pairrank.io.rows import Rows

_CELLS_A_BLOCK = 100_000


def read_csv(
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
    """Read CSV in UTF-8 with a header; every column without another role is a feature.

    Parameters
    ----------
    source : str, path-like or binary file object
        "-" is standard input; gzip, bzip2 and xz are decompressed.
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
        Labels are float64 where all are numbers, text where none is; qids int64 where all are whole
        numbers, else text.

    Raises
    ------
    FileFormatError
        No rows, unknown columns, an empty cell, a feature that is no number, NaN or infinity, a row
        of another length: with the column and the line.
    FileAccessError
        A file that cannot be opened.

    Notes
    -----
    O(cells), in blocks. Parquet is many times faster to read.

    Examples
    --------
    >>> import io
    >>> rows = read_csv(io.BytesIO(b"grade,query,a,b\\n1,x,2,3\\n0,x,4,5\\n"),
    ...                 label="grade", qid="query")
    >>> rows.X, rows.y, rows.feature_names
    (array([[2., 3.],
           [4., 5.]]), array([1., 0.]), ['a', 'b'])
    """
    name = name_of(source)
    with open_source(source) as stream, _decoded(stream, name) as text:
        lines = csv.reader(text, strict=True)
        with _explained(name, lines):
            header = next(lines, None)
            if not header:
                raise FileFormatError(f"{name}: empty; a header with the columns' names is needed")
            roles = find_roles(
                name, header, label=label, qid=qid, weight=weight, features=features, drop=drop,
                ignore=ignore,
            )  # fmt: skip
            parser = CellParser(name, header, roles, dtype)
            for block in _blocks(lines, len(header), name):
                parser.take(block)
    return parser.rows()


@contextlib.contextmanager
def _decoded(stream: IO[bytes], name: str) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        yield text
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{name} is not UTF-8 text ({error.reason}); save it so") from error
    finally:
        with contextlib.suppress(ValueError):
            text.detach()


@contextlib.contextmanager
def _explained(name: str, lines: Any) -> Iterator[None]:
    try:
        yield
    except csv.Error as error:
        raise FileFormatError(
            f"{name}, line {lines.line_num}: {error}; check its quotes"
        ) from error


def _blocks(lines: Any, width: int, name: str) -> Iterator[TextBlock]:
    """Yield rows in blocks with their line numbers, blank lines passed over."""
    size = max(1, _CELLS_A_BLOCK // width)
    block = TextBlock([], [])
    for cells in lines:
        if not cells:
            continue
        if len(cells) != width:
            raise FileFormatError(
                f"{name}, line {lines.line_num}: {len(cells)} cells, the header has {width}; "
                "mend the line"
            )
        block.lines.append(lines.line_num)
        block.cells.append(cells)
        if len(block.cells) == size:
            yield block
            block = TextBlock([], [])
    if block.cells:
        yield block


def write_csv(
    target: str | os.PathLike[str] | IO[bytes],
    rows: Rows,
    *,
    label: str = "label",
    qid: str = "qid",
    weight: str = "weight",
) -> None:
    """Write rows as CSV with a header: label, qid and weight where there are any, then features.

    Every number reads back the same. Features without names are called x1, x2, ...; comments are
    not written. The cost is O(cells), also for sparse X, whose zeros are written.

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
        A name that two columns share, parts of different lengths.
    FileAccessError
        The place cannot be written.
    """
    header = column_names(rows, label=label, qid=qid, weight=weight)
    leading = [_texts(part) for part in (rows.y, rows.qid, rows.weight) if part is not None]
    size = max(1, _CELLS_A_BLOCK // len(header))
    with open_target(target) as file:
        file.write(_lines([header]))
        for start in range(0, rows.X.shape[0], size):
            block = rows.X[start : start + size]
            dense = block if isinstance(block, np.ndarray) else block.toarray()
            cells = dense.tolist() if dense.dtype == np.float64 else _short(dense)
            for part in reversed(leading):
                cells = [[head, *row] for head, row in zip(part[start:], cells, strict=False)]
            file.write(_lines(cells))


def _lines(rows: list[list[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8")


def _texts(part: np.ndarray[Any, Any]) -> list[Any]:
    values = np.asarray(part).tolist()
    if np.asarray(part).dtype.kind == "f":
        return [
            int(value) if value.is_integer() and abs(value) < 1e15 else value for value in values
        ]
    return list(values)


def _short(dense: np.ndarray[Any, Any]) -> list[list[str]]:
    """Return float32 cells as text of nine digits, enough to read them back."""
    return [[f"{value:.9g}" for value in row] for row in dense.tolist()]
