"""read_svmlight: svmlight and LETOR text."""

from __future__ import annotations

import itertools
import math
import os
from typing import IO, Any, Literal

import numpy as np
from scipy import sparse as sp

from pairrank import threads
from pairrank._validation import check_number
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._streams import (
    ReadingCallback,
    name_of,
    open_source,
    position_in,
    size_of,
    whole_lines,
)
from pairrank.io._svmlight_errors import explain
from pairrank.io.rows import Rows, check_dtype, names_of, narrowed, refuse_merged_labels

_BLOCK = 2 << 20
_AT_ONCE = 8
"""So many blocks are parsed before they are joined; threads share them."""
_MARGIN = 1.05
"""Room is made for so many times what the first block lets expect."""
_SPARSE_BELOW = 0.25


def read_svmlight(
    source: str | os.PathLike[str] | IO[bytes],
    *,
    zero_based: bool | Literal["auto"] = "auto",
    n_features: int | None = None,
    dtype: Any = np.float64,
    sparse: bool | Literal["auto"] = "auto",
    comments: bool = False,
    callback: ReadingCallback | None = None,
) -> Rows:
    """Read svmlight text, with or without `qid:`, such as LETOR's files.

    A line is `label [qid:query] index:value ... [# comment]`; blank lines and lines of comment only
    are ignored. Numbers are rounded correctly.

    Parameters
    ----------
    source : str, path-like or binary file object
        "-" is standard input. gzip, bzip2 and xz are decompressed, whatever the name.
    zero_based : bool or "auto"
        Whether indices count from 0. "auto": from 0 if there is an index 0, else from 1.
    n_features : int, optional
        Columns of X. Files with more are refused. Files that leave out entries may also leave out
        the last features, which are then 0; a file in which every row states the features 1 to
        fewer is one of fewer features, and refused. None: as many as the file has.
    dtype : float64 or float32
        The dtype of X; labels are float64.
    sparse : bool or "auto"
        Whether X is CSR. "auto": if the file has entries for less than a quarter of the values.
    comments : bool
        Whether to keep the comments, one string per row.
    callback : callable, optional
        Called while reading with three numbers: the bytes read, the bytes of the file, compressed
        if it is, and the rows; 0 bytes of the file are an unknown number.

    Returns
    -------
    Rows
        `X`, `y`, `qid` (int64 where all are plain whole numbers, else text as in the file, None
        where there is none), `comments` and `zero_based`.

    Raises
    ------
    FileFormatError
        If a line is not valid (the message has its number), only some rows have a qid, there is no
        row, there are more or fewer features than `n_features`, a value overflows float32, float64
        would round a label to another, or compressed data is damaged.
    FileAccessError
        If the file cannot be opened.

    Notes
    -----
    One pass, O(bytes), in blocks of 2 MiB, which threads share. Arrays grow in place. In addition
    to the result, memory holds a few blocks, 4 bytes per entry if X is dense, the values as well if
    rows leave some out, and a quarter of that as reserve.

    Examples
    --------
    >>> import io
    >>> rows = read_svmlight(io.BytesIO(b"2 qid:7 1:0.5 2:1 # a\\n0 qid:7 2:3\\n"))
    >>> rows.X.toarray() if rows.X.ndim != 2 else rows.X
    array([[0.5, 1. ],
           [0. , 3. ]])
    >>> rows.y, rows.qid
    (array([2., 0.]), array([7, 7]))
    """
    check_arguments(n_features, zero_based=zero_based, sparse=sparse)
    reader = SvmlightReader(name_of(source), check_dtype(dtype), comments)
    with open_source(source) as stream:
        blocks = whole_lines(stream, _BLOCK)
        size = size_of(stream)
        while some := list(itertools.islice(blocks, reader.n_blocks)):
            reader.take(some)
            reader.reserve(size)
            size = 0
            if callback is not None:
                callback(*position_in(stream, reader.n_bytes), len(reader.labels))
    return reader.rows(zero_based, n_features, sparse)


class _GrowingArray:
    """A one-dimensional array with `extend` in O(1) per element; it grows by a quarter in place."""

    def __init__(self, dtype: Any) -> None:
        self._array = np.empty(1024, dtype=dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def reserve(self, n: int) -> None:
        """Make room for n elements; pages of memory are taken once they are written."""
        if n > len(self._array):
            array, self._array = self._array, np.empty(n, dtype=self._array.dtype)
            self._array[: self._size] = array[: self._size]

    def extend(self, parts: list[np.ndarray[Any, Any]]) -> None:
        """Copy the parts to the end, cast to the array's dtype; threads share them."""
        starts = self._size + np.cumsum([0, *map(len, parts)])
        self._size = int(starts[-1])
        if self._size > len(self._array):
            self._array.resize(self._size + self._size // 4, refcheck=False)

        def copy(k: int) -> None:
            self._array[starts[k] : starts[k + 1]] = parts[k]

        threads.run(copy, range(len(parts)))

    def take(self) -> np.ndarray[Any, Any]:
        """Return the content; the array is empty afterwards."""
        array = self._array
        array.resize(self._size, refcheck=False)
        self._array = np.empty(0, dtype=array.dtype)
        self._size = 0
        return array


class _Block:
    """A block of whole lines, parsed on its own: its lines count from 0.

    `has_qid` says whether earlier rows have a query; -1: there are none.
    """

    def __init__(self, text: bytes, has_qid: int) -> None:
        from pairrank.compiled import svmlight as kernel

        self.text = text
        codes = np.frombuffer(text, dtype=np.uint8)
        self.n_lines = n_lines = int(np.count_nonzero(codes == ord("\n")))
        n_colons = np.count_nonzero(codes == ord(":"))
        self.state = state = np.zeros(kernel.STATE_SIZE, dtype=np.int64)
        state[kernel.HAS_QID] = has_qid
        state[kernel.MIN_INDEX] = kernel.MAX_INDEX_ALLOWED + 1
        state[kernel.MAX_INDEX] = -1
        labels, row_ends = np.empty(n_lines), np.empty(n_lines, dtype=np.int64)
        indices, values = np.empty(n_colons, dtype=np.int32), np.empty(n_colons)
        runs = np.empty((n_lines, 3), dtype=np.int64)
        comments = np.empty((n_lines, 2), dtype=np.int64)
        long_tokens = np.empty((n_lines + n_colons, 4), dtype=np.int64)
        kernel.parse_block(
            codes, 0, labels, row_ends, indices, values, runs, comments, long_tokens, state
        )
        self.n_rows = n_rows = int(state[kernel.N_ROWS])
        n_entries = int(state[kernel.N_ENTRIES])
        self.labels, self.row_ends, self.comments = (
            labels[:n_rows], row_ends[:n_rows], comments[:n_rows],
        )  # fmt: skip
        self.indices, self.values = indices[:n_entries], values[:n_entries]
        self.runs = runs[: state[kernel.N_RUNS]]
        self.long_tokens = long_tokens[: state[kernel.N_LONG]].copy()


def check_arguments(n_features: Any, **choices: Any) -> None:
    """Raise a PairrankError for a number of features, or a choice, that is not allowed."""
    for name, value in choices.items():
        if value not in (True, False, "auto"):
            raise PairrankError(f"{name} must be True, False or 'auto' (got {value!r})")
    if n_features is not None:
        check_number(n_features, "n_features", low=1, inclusive=True, integer=True)


class SvmlightReader:
    """Parses blocks of text, and joins them in growing arrays."""

    def __init__(self, name: str, dtype: np.dtype[Any], comments: bool) -> None:
        from pairrank.compiled import svmlight as kernel

        self.kernel = kernel
        self.name = name
        self.dtype = dtype
        self.labels = _GrowingArray(np.float64)
        self.row_ends = _GrowingArray(np.int64)
        self.indices = _GrowingArray(np.int32)
        self.values = _GrowingArray(dtype)
        self.comments: list[str] | None = [] if comments else None
        self.codes = _GrowingArray(np.int32)
        self.code_of: dict[bytes, int] = {}
        self.line, self.n_bytes, self.n_entries = 1, 0, 0
        self.has_qid = -1
        self.lowest, self.highest = (kernel.MAX_INDEX_ALLOWED + 1, 0), (-1, 0)

    @property
    def n_blocks(self) -> int:
        """How many blocks to take next: the first row tells whether rows have a query."""
        return _AT_ONCE if self.has_qid >= 0 else 1

    def take(self, texts: list[bytes]) -> None:
        """Parse blocks of whole lines, and join them in order."""
        blocks = threads.run(lambda text: _Block(text, self.has_qid), texts)
        for block in blocks:
            self._check(block)
        for name in ("labels", "row_ends", "indices", "values"):
            getattr(self, name).extend([getattr(block, name) for block in blocks])

    def reserve(self, size: int) -> None:
        """Make room for a file of `size` bytes whose lines are like those read so far."""
        for array in (self.labels, self.row_ends, self.indices, self.values):
            array.reserve(int(_MARGIN * len(array) * size / max(1, self.n_bytes)))

    def _check(self, block: _Block) -> None:
        """Raise the error of a block, or count its lines and entries with those before it."""
        kernel, state, text, first_line = self.kernel, block.state, block.text, self.line
        if state[kernel.ERROR] != kernel.FINE:
            token = text[state[kernel.ERROR_START] : state[kernel.ERROR_END]]
            line = first_line + int(state[kernel.ERROR_LINE])
            raise explain(self.name, int(state[kernel.ERROR]), line, token)

        def place(row: int) -> str:
            return f"{self.name}, line {_line_of(text, row) + first_line}"

        def place_of_entry(entry: int) -> str:
            row = int(np.searchsorted(block.row_ends, entry, side="right"))
            return f"{place(row)}: index {block.indices[entry]}"

        self._read_long(block, place)
        block.values = narrowed(block.values, self.dtype, place_of_entry)
        self.line += block.n_lines
        self.n_bytes += len(text)
        self.has_qid = int(state[kernel.HAS_QID])
        lines = state[[kernel.MIN_INDEX_LINE, kernel.MAX_INDEX_LINE]] + first_line
        self.lowest = min(self.lowest, (int(state[kernel.MIN_INDEX]), int(lines[0])))
        if state[kernel.MAX_INDEX] > self.highest[0]:
            self.highest = int(state[kernel.MAX_INDEX]), int(lines[1])
        self._keep_qid(text, block.runs, block.n_rows)
        self._keep_comments(text, block.comments)
        block.row_ends += self.n_entries
        self.n_entries += len(block.values)

    def _read_long(self, block: _Block, place: Any) -> None:
        """Read the long numbers that the kernel leaves to Python's float."""
        large = []
        for start, end, slot, is_value in block.long_tokens.tolist():
            text = block.text[start:end].decode("ascii")
            value = float(text)
            (block.values if is_value else block.labels)[slot] = value
            if math.isinf(value):
                row = int(np.searchsorted(block.row_ends, slot, "right")) if is_value else slot
                what = f"value in '{block.indices[slot]}:{text}'" if is_value else f"label '{text}'"
                raise FileFormatError(f"{place(row)}: the {what} is not finite; scale it")
            if not is_value:
                large.append((slot, text))
        refuse_merged_labels(large, place)

    def _keep_qid(self, block: bytes, runs: np.ndarray[Any, Any], n_rows: int) -> None:
        if len(runs) == 0:
            return
        codes = np.empty(len(runs), dtype=np.int64)
        for run, (_, start, end) in enumerate(runs.tolist()):
            codes[run] = self.code_of.setdefault(block[start:end], len(self.code_of))
        lengths = np.diff(runs[:, 0], append=n_rows)
        self.codes.extend([np.repeat(codes, lengths)])

    def _keep_comments(self, block: bytes, spans: np.ndarray[Any, Any]) -> None:
        if self.comments is not None:
            self.comments += [
                block[start:end].rstrip().decode("utf-8", "surrogateescape")
                for start, end in spans.tolist()
            ]

    def rows(self, zero_based: Any, n_features: int | None, sparse: Any) -> Rows:
        """Return the rows that were parsed."""
        if len(self.labels) == 0:
            raise FileFormatError(f"{self.name}: no rows; the file is empty or holds comments only")
        shift = self.shift(zero_based)
        width = self.width(shift, n_features, len(self.labels), len(self.values))
        if sparse == "auto":
            sparse = is_sparse(len(self.values), len(self.labels) * width)
        qid = self.qid_names()[self.codes.take()] if len(self.codes) else None
        y = self.labels.take()
        row_ends = self.row_ends.take()
        indices = self.indices.take()
        indices -= np.int32(shift)
        X = matrix_of(row_ends, indices, self.values.take(), width, sparse=sparse)
        return Rows(X, y, qid, comments=self.comments, zero_based=shift == 0)

    def shift(self, zero_based: Any) -> int:
        """Return the index of the first feature, 0 or 1."""
        lowest, line = self.lowest
        starts_at_0 = lowest == 0
        if zero_based is False and starts_at_0:
            raise FileFormatError(
                f"{self.name}, line {line}: index 0, though indices count from 1 (as in the rows "
                "of the training, if there is a model); number the features alike"
            )
        return 0 if zero_based is True or starts_at_0 else 1

    def width(self, shift: int, n_features: int | None, n_rows: int, n_entries: int) -> int:
        """Return the number of features of that many rows and entries."""
        highest, line = self.highest
        width = max(highest + 1 - shift, 0)
        if n_features is None and width == 0:
            raise FileFormatError(
                f"{self.name}: no row has a feature; an index:value pair is needed, or n_features"
            )
        if n_features is not None and width > n_features:
            raise FileFormatError(
                f"{self.name}, line {line}: index {highest}, though {n_features} features are "
                "expected; the file is of another set of features"
            )
        if n_features is not None and 0 < n_entries == n_rows * width:
            self._refuse_narrow(width, highest, n_features)
        return width if n_features is None else n_features

    def _refuse_narrow(self, width: int, highest: int, n_features: int) -> None:
        """Refuse a file of fewer features, in which no row leaves out an entry."""
        if width < n_features:
            raise FileFormatError(
                f"{self.name}: every row states {width} features, the last one of index {highest}, "
                f"though {n_features} are expected; the file is of another set of features (if the "
                "others are 0, state the last one in a row)"
            )

    def qid_names(self) -> np.ndarray[Any, Any]:
        """Return the queries in the order of their codes."""
        try:
            texts = [token.decode("utf-8") for token in self.code_of]
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"{self.name}: the qid {error.object!r} is not UTF-8 text; save the file as UTF-8"
            ) from error
        return names_of(self.name, "qid", texts)


def is_sparse(n_entries: int, n_cells: int) -> bool:
    """Whether rows with so many entries are kept as CSR."""
    return n_entries < _SPARSE_BELOW * n_cells


def matrix_of(row_ends: Any, indices: Any, values: Any, width: int, *, sparse: bool) -> Any:
    """Return a dense or CSR matrix of rows whose entries end at `row_ends`; indices are from 0."""
    if not sparse:
        from pairrank.compiled import svmlight as kernel

        if len(values) == len(row_ends) * width:
            return values.reshape(len(row_ends), width)
        X = np.empty((len(row_ends), width), dtype=values.dtype)
        kernel.scatter_rows(row_ends, indices, values, X)
        return X
    integer = np.int32 if len(indices) <= np.iinfo(np.int32).max else np.int64
    indptr = np.zeros(len(row_ends) + 1, dtype=integer)
    indptr[1:] = row_ends
    data = (values, indices.astype(integer, copy=False), indptr)
    return sp.csr_array(data, shape=(len(row_ends), width))


def _line_of(block: bytes, row: int) -> int:
    """Return the number of the line that holds a row, from 0; blank and comment lines hold none."""
    lines = enumerate(block.split(b"\n"))
    held = (number for number, line in lines if line.strip(b" \t\r")[:1] not in (b"", b"#"))
    return next(itertools.islice(held, row, None))
