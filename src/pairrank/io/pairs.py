"""Read comparisons: CSV or Parquet with the columns i, j and, if any, weight and magnitude."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from typing import IO, Any

import numpy as np

from pairrank.exceptions import FileFormatError
from pairrank.io._cells import is_word, number
from pairrank.io._growing import GrowingArray
from pairrank.io._streams import first_bytes, name_of, open_source, whole_lines
from pairrank.preferences import Pairs

Columns = dict[str, np.ndarray[Any, Any]]

_ROLES = ("i", "j", "weight", "magnitude")
_A_LINE = "i,j[,weight[,magnitude]]"
_BLOCK = 4 << 20
_MOST_ROWS = 2**31 - 1


def read_pairs(source: str | os.PathLike[str] | IO[bytes], *, n_rows: int | None = None) -> Pairs:
    """Read comparisons of rows: row i is preferred to row j, by this magnitude, with this weight.

    Parquet is told from CSV by its first bytes, not by the name. The columns are `i`, `j` and, if
    there are such, `weight` and `magnitude` (the difference wanted, any finite number), in any
    order; CSV may leave out the header, and then has two to four columns in this order.

    Parameters
    ----------
    source : str, path-like or binary file object
        "-" is standard input; gzip, bzip2 and xz are decompressed.
    n_rows : int, optional
        The rows that are compared, numbered from 0 in their file's order. None: as many as the
        highest number asks for.

    Returns
    -------
    Pairs
        In the file's order.

    Raises
    ------
    FileFormatError
        No pairs, other columns, a cell that is no number, a row out of range, a row compared with
        itself, a weight that is negative or not finite, a magnitude that is not finite: with the
        line (Parquet: the row from 0).
    FileAccessError
        A file that cannot be opened.

    Notes
    -----
    O(n_pairs). CSV is read in blocks of 4 MiB into arrays that grow in place: beyond the 8 bytes a
    pair that it returns, and 8 for each of weight and magnitude, it holds a quarter of slack and
    one block.

    Examples
    --------
    >>> import io
    >>> pairs = read_pairs(io.BytesIO(b"i,j,weight\\n2,0,1\\n0,1,0.5\\n"), n_rows=4)
    >>> pairs, pairs.i, pairs.weight
    (Pairs(n_pairs=2, n_rows=4), array([2, 0], dtype=int32), array([1. , 0.5]))
    """
    name = name_of(source)
    with open_source(source) as stream:
        if first_bytes(stream).startswith(b"PAR1"):
            columns = _read_table(stream, name, n_rows)
        else:
            reader = _TextReader(name, n_rows)
            for block in whole_lines(stream, _BLOCK):
                reader.take(block)
            columns = reader.columns()
    rest = (columns.get("weight"), columns.get("magnitude"))
    return Pairs(columns["i"], columns["j"], *rest, n_rows=n_rows)


def _read_table(stream: IO[bytes], name: str, n_rows: int | None) -> Columns:
    from pairrank.io.parquet import read_numbers

    columns = read_numbers(stream, name, _check_header)
    fault = _first_fault(columns, n_rows)
    if fault is not None:
        raise FileFormatError(f"{name}, row {fault[0]} (from 0): {fault[1]}; mend or drop the row")
    if columns["i"].size == 0:
        raise FileFormatError(f"{name}: no pairs")
    return columns


class _TextReader:
    """Takes blocks of CSV and keeps the pairs in arrays that grow.

    Blocks are parsed by numpy; one that it refuses, or that holds a fault, is read again cell by
    cell, to find the line.
    """

    def __init__(self, name: str, n_rows: int | None) -> None:
        self.name = name
        self.n_rows = n_rows
        self.line = 1
        self.header: list[str] = []
        self.kept = {
            role: GrowingArray(np.int32 if role in ("i", "j") else np.float64) for role in _ROLES
        }

    def take(self, block: bytes) -> None:
        """Parse a block of whole lines."""
        if not self.header:
            block = self._take_header(block)
        if not block.strip():
            self.line += block.count(b"\n")
            return
        values = self._parse(block)
        columns = {role: values[:, at] for at, role in enumerate(self.header)}
        fault = _first_fault(columns, self.n_rows)
        if fault is not None:
            lines = [line for line, _ in self._records(block)]
            raise self._error(lines[fault[0]], fault[1])
        for role, column in columns.items():
            self.kept[role].append(column)
        self.line += block.count(b"\n")

    def columns(self) -> Columns:
        """Return what was kept, by the names of the columns."""
        if not len(self.kept["i"]):
            raise FileFormatError(f"{self.name}: no pairs; a line is {_A_LINE}")
        return {role: self.kept[role].take() for role in self.header}

    def _take_header(self, block: bytes) -> bytes:
        """Find out what the columns are; return the block without its header, if it has one."""
        first = next(self._records(block), None)
        if first is None:
            return block
        line, cells = first
        names = [cell.strip() for cell in cells]
        if is_word(names[0]):
            _check_header(self.name, names)
            self.header = names
            n_lines = line - self.line + 1
            self.line = line + 1
            return b"".join(block.splitlines(keepends=True)[n_lines:])
        if not 2 <= len(names) <= len(_ROLES):
            raise self._error(line, f"{len(names)} cells, a pair is {_A_LINE}")
        self.header = list(_ROLES[: len(names)])
        return block

    def _parse(self, block: bytes) -> np.ndarray[Any, Any]:
        """Return the numbers of a block, (n_pairs, n_columns)."""
        try:
            values = np.loadtxt(
                io.BytesIO(block), delimiter=",", ndmin=2, comments=None, quotechar='"'
            )
        except ValueError:
            return self._parse_slowly(block)
        return values if values.shape[1] == len(self.header) else self._parse_slowly(block)

    def _parse_slowly(self, block: bytes) -> np.ndarray[Any, Any]:
        rows = []
        for line, cells in self._records(block):
            if len(cells) != len(self.header):
                raise self._error(line, f"{len(cells)} cells, the others have {len(self.header)}")
            for role, cell in zip(self.header, cells, strict=True):
                if is_word(cell) or not cell.strip():
                    raise self._error(line, f"{role} is {cell!r}, which is no number")
            rows.append([number(cell) for cell in cells])
        return np.array(rows)

    def _records(self, block: bytes) -> Iterator[tuple[int, list[str]]]:
        """Yield the number of each line that is not blank, and its cells."""
        try:
            lines = csv.reader(io.StringIO(block.decode("utf-8"), newline=""), strict=True)
            for cells in lines:
                if cells:
                    yield self.line + lines.line_num - 1, cells
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"{self.name} is neither Parquet nor UTF-8 text ({error.reason}); save it so"
            ) from error
        except csv.Error as error:
            raise self._error(self.line + lines.line_num - 1, f"{error}") from error

    def _error(self, line: int, what: str) -> FileFormatError:
        return FileFormatError(f"{self.name}, line {line}: {what}; mend or drop the line")


def _check_header(name: str, header: Sequence[str]) -> None:
    """Raise a FileFormatError where a table's columns are not those of pairs."""
    if not {"i", "j"} <= set(header) <= set(_ROLES) or len(set(header)) < len(header):
        listed = ", ".join(repr(column) for column in header)
        raise FileFormatError(
            f"{name}: the columns are {listed}; pairs have i, j and, if any, weight and magnitude, "
            "and no other"
        )


def _first_fault(columns: Columns, n_rows: int | None) -> tuple[int, str] | None:
    """Return the first pair that is none, and what is wrong with it; O(n_pairs)."""
    stop = _MOST_ROWS if n_rows is None else n_rows
    rows = f"which is no row: they go from 0 to {stop - 1}"
    i, j, none = columns["i"], columns["j"], np.empty(0)
    weight, magnitude = columns.get("weight", none), columns.get("magnitude", none)
    checks = [
        (~_is_row(i, stop), i, f"i is {{:.15g}}, {rows}"),
        (~_is_row(j, stop), j, f"j is {{:.15g}}, {rows}"),
        (i == j, i, "row {:.15g} is compared with itself"),
        (~((weight >= 0) & (weight < np.inf)), weight, "the weight {:g} is negative or not finite"),
        (~np.isfinite(magnitude), magnitude, "the magnitude {:g} is not finite"),
    ]
    found = [(int(bad.argmax()), values, what) for bad, values, what in checks if bad.any()]
    if not found:
        return None
    at, values, what = min(found, key=lambda fault: fault[0])
    return at, what.format(values[at])


def _is_row(values: np.ndarray[Any, Any], stop: int) -> np.ndarray[Any, Any]:
    return (values >= 0) & (values < stop) & (np.floor(values) == values)
