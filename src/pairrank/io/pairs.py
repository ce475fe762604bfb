"""read_pairs: comparisons from CSV or Parquet."""

from __future__ import annotations

import os
from typing import IO, Any

import numpy as np

from pairrank.exceptions import FileFormatError
from pairrank.io._arrow import ParquetData, Table, is_parquet
from pairrank.io._csv import CsvText
from pairrank.io._streams import name_of, read_bytes
from pairrank.io.rows import is_word, listed
from pairrank.preferences import Pairs

_NUMBERS = ("i", "j", "weight", "magnitude")
_COLUMNS = (*_NUMBERS, "group")
_A_LINE = "i,j[,weight[,magnitude]]"
_MOST_ROWS = 2**31 - 1


def read_pairs(source: str | os.PathLike[str] | IO[bytes], *, n_rows: int | None = None) -> Pairs:
    """Read comparisons of rows: row i is preferred to row j.

    Parquet is recognised by its first bytes, not by the name. The columns are `i`, `j` and,
    optionally, `weight`, `magnitude` (the wanted difference, any finite number) and `group` (names
    or numbers of sessions, voters or tournaments), in any order. CSV without a header has two to
    four columns, in this order and without `group`.

    Parameters
    ----------
    source : str, path-like or binary file object
        "-" is standard input; gzip, bzip2 and xz are decompressed.
    n_rows : int, optional
        The number of rows, which are numbered from 0 in their file's order. None: the highest
        number plus 1.

    Returns
    -------
    Pairs
        In the file's order.

    Raises
    ------
    FileFormatError
        If there is no pair, a column is unknown, a cell is not a finite number, a row is out of
        range or compared with itself, or a weight is negative; the message names the line (of
        Parquet the row, counted from 0).
    FileAccessError
        If the file cannot be opened.

    Notes
    -----
    O(n_pairs). Memory holds the file and its columns as float64.

    Examples
    --------
    >>> import io
    >>> pairs = read_pairs(io.BytesIO(b"i,j,weight\\n2,0,1\\n0,1,0.5\\n"), n_rows=4)
    >>> pairs, pairs.i, pairs.weight
    (Pairs(n_pairs=2, n_rows=4), array([2, 0], dtype=int32), array([1. , 0.5]))
    """
    name = name_of(source)
    table, header = _read_table(read_bytes(source), name)
    if len(table) == 0:
        raise FileFormatError(f"{name}: no pairs; a line is {_A_LINE}")
    numbers = [column for column in header if column in _NUMBERS]
    table.check_numbers(numbers, "pairs")
    columns = {column: table.numbers(column) for column in numbers}
    _refuse_faults(columns, table, n_rows)
    i, j = (columns[side].astype(np.int32) for side in ("i", "j"))
    groups = table.identifiers("group") if "group" in header else None
    return Pairs(
        i, j, columns.get("weight"), columns.get("magnitude"), groups=groups, n_rows=n_rows
    )


def _read_table(data: bytes, name: str) -> tuple[Table, list[str]]:
    """Return the table of a file, and its columns."""
    content: CsvText | ParquetData
    if is_parquet(data):
        content = ParquetData(data, name)
        header, has_header = content.first, True
    else:
        content = CsvText(data, name)
        header = [cell.strip() for cell in content.first]
        has_header = bool(header) and is_word(header[0])
        if header and not has_header and not 2 <= len(header) <= len(_NUMBERS):
            raise FileFormatError(
                f"{name}, line {content.first_line}: {len(header)} cells, a pair is {_A_LINE}; "
                "correct the line"
            )
    if not has_header:
        header = list(_NUMBERS[: len(header)])
    elif not {"i", "j"} <= set(header) <= set(_COLUMNS) or len(set(header)) < len(header):
        raise FileFormatError(
            f"{name}: the columns are {listed(header)}; pairs have i, j and, if any, "
            "weight, magnitude and group, and no other"
        )
    numbers = [column for column in header if column in _NUMBERS]
    texts = [column for column in header if column not in _NUMBERS]
    return content.table(header, numbers, texts, skip=has_header), header


def _refuse_faults(
    columns: dict[str, np.ndarray[Any, Any]], table: Table, n_rows: int | None
) -> None:
    """Refuse the first pair that is not valid; O(n_pairs)."""
    stop = _MOST_ROWS if n_rows is None else n_rows
    rows = f"which is not a row: {f'rows go from 0 to {stop - 1}' if stop else 'n_rows is 0'}"
    i, j, weight = columns["i"], columns["j"], columns.get("weight", np.empty(0))
    checks = [
        (~_is_row(i, stop), i, f"i is {{:.15g}}, {rows}"),
        (~_is_row(j, stop), j, f"j is {{:.15g}}, {rows}"),
        (i == j, i, "row {:.15g} is compared with itself"),
        (weight < 0, weight, "the weight {:g} is negative"),
    ]
    found = [(int(bad.argmax()), values, what) for bad, values, what in checks if bad.any()]
    if found:
        at, values, what = min(found, key=lambda fault: fault[0])
        what = what.format(values[at])
        raise FileFormatError(f"{table.place(at)}: {what}; correct or drop the row")


def _is_row(values: np.ndarray[Any, Any], stop: int) -> np.ndarray[Any, Any]:
    return (values >= 0) & (values < stop) & (np.floor(values) == values)
