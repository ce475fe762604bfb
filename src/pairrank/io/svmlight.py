"""svmlight and LETOR text, parsed block by block."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse as sp

from pairrank import threads
from pairrank._protocols import Array
from pairrank._validation import check_number
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._streams import ReadingCallback, name_of, open_source, position_in, whole_lines
from pairrank.io.rows import (
    Rows,
    check_dtype,
    is_finite,
    names_of,
    narrowed,
    number,
    refuse_merged_labels,
)
from pairrank.io.trec import documents_of

_BLOCK = 2 << 20
_AT_ONCE = 8
"""Threads share so many blocks."""
SPARSE_BELOW = 0.25
_HIGHEST = (1 << 31) - 2
"""The highest index, that of `compiled.svmlight`."""
_SHOWN = 40
"""An error shows so many characters of a cell."""


def read_text(
    source: Any,
    *,
    zero_based: bool | Literal["auto"] = "auto",
    n_features: int | None = None,
    dtype: Any = np.float64,
    docids: bool = False,
    callback: ReadingCallback = None,
) -> Rows:
    """Return the rows of svmlight text, as described in `read_rows`.

    One pass, O(bytes), in blocks of 2 MiB, which threads share; pyarrow reads the numbers. In
    addition to the result, memory holds a few blocks, 4 bytes per entry if X is dense, and the
    values as well if rows leave some out.
    """
    if zero_based not in (True, False, "auto"):
        raise PairrankError(f"zero_based must be True, False or 'auto' (got {zero_based!r})")
    if n_features is not None:
        check_number(n_features, "n_features", low=1, inclusive=True, integer=True)
    text = SvmlightText(source, name_of(source), check_dtype(dtype), callback)
    parts = [list(each) for each in zip(*text.blocks(comments=docids), strict=True)]
    comments = list(itertools.chain(*parts.pop()))
    arrays = [np.concatenate(parts.pop(0)) for _ in range(len(parts))]
    rows = text.shape(zero_based, n_features).rows(Block._make([*arrays, comments]))
    if not docids:
        return rows
    docid = documents_of(text.name, comments)
    if docid is None:
        raise FileFormatError(
            f"{text.name}: no row has a document identifier; write '# docid = X' after each"
        )
    return rows._replace(docid=docid)


class Block(NamedTuple):
    """Rows of a block of text; `lengths` are their numbers of entries, indices as in the text."""

    labels: Array
    lengths: Array
    indices: Array
    values: Array
    codes: Array
    """The number of each row's query in `Shape.queries`; empty without queries."""
    comments: list[str]
    """The text after `#` of each row; empty where comments are not asked for."""


class Shape(NamedTuple):
    """What all rows of a text have in common."""

    shift: int
    """The index of the first feature, 0 or 1."""
    width: int
    is_sparse: bool
    queries: Array | None
    """The queries in the order of their numbers."""

    def rows(self, block: Block) -> Rows:
        """Return the rows of a block, whose indices become those of columns; dense X or CSR."""
        n_rows, indices, values = len(block.labels), block.indices, block.values
        indices -= np.int32(self.shift)
        shape = (n_rows, self.width)
        if not self.is_sparse and len(values) == n_rows * self.width:
            X = values.reshape(shape)
        else:
            indptr = np.append(0, np.cumsum(block.lengths))
            X = sp.csr_array((values, indices, indptr), shape=shape)
            X = X if self.is_sparse else X.toarray()
        qid = None if self.queries is None else self.queries[block.codes]
        return Rows(X, block.labels, qid, zero_based=self.shift == 0)


class SvmlightText:
    """svmlight text that is parsed block by block, and what is known of all blocks so far.

    `source` is bytes, or what `open_source` opens.
    """

    def __init__(
        self,
        source: Any,
        name: str,
        dtype: np.dtype[Any],
        callback: ReadingCallback = None,
    ) -> None:
        self._source, self._dtype, self._callback = source, dtype, callback
        self.name = name
        self.has_qid = -1
        self._code_of: dict[bytes, int] = {}
        self._lowest, self._highest = (_HIGHEST + 1, ""), (-1, "")

    def blocks(self, *, comments: bool = False) -> Iterator[Block]:
        """Yield the rows; raise a FileFormatError at the first line that is not valid."""
        self.n_rows = self.n_entries = n_bytes = 0
        self._line = 1
        source = self._source
        with open_source(io.BytesIO(source) if isinstance(source, bytes) else source) as stream:
            texts = whole_lines(stream, _BLOCK)
            # the first block tells the others whether rows have a query
            while some := list(itertools.islice(texts, _AT_ONCE if self.has_qid >= 0 else 1)):
                for tokens in threads.run(lambda text: _Tokens(text, self.has_qid), some):
                    block = self._checked(tokens, comments=comments)
                    if len(block.labels):
                        yield block
                n_bytes += sum(map(len, some))
                if self._callback is not None:
                    self._callback(*position_in(stream, n_bytes), self.n_rows)
        if not self.n_rows:
            raise FileFormatError(f"{self.name}: no rows; the file is empty or holds comments only")

    def _checked(self, tokens: _Tokens, *, comments: bool) -> Block:
        """Return the rows of tokens, and count them."""
        text, first, line = tokens.text, self._line, tokens.bad_line
        token_ends, starts, ends, lines = tokens.rows.T
        bad = ~np.isfinite(tokens.numbers)
        if bad.any():
            row = int(np.searchsorted(token_ends, bad.argmax(), side="right"))
            line = int(lines[row]) if row < lines.size else line
        if line >= 0:
            fault = _fault_of(text.split(b"\n")[line], has_qid=tokens.has_qid > 0)
            raise FileFormatError(f"{self.name}, line {first + line}: {fault}")
        is_label = tokens.indices < 0
        row_ends = token_ends - np.arange(1, lines.size + 1)
        labels, indices = tokens.numbers[is_label], tokens.indices[~is_label]
        places = np.flatnonzero(is_label)

        def place(row: int) -> str:
            return f"{self.name}, line {lines[row] + first}"

        def place_of_entry(entry: int) -> str:
            row = int(np.searchsorted(row_ends, entry, side="right"))
            return f"{place(row)}: index {indices[entry]}"

        refuse_merged_labels(labels, lambda row: tokens.token(places[row]).decode(), place)
        values = narrowed(tokens.numbers[~is_label], self._dtype, place_of_entry)
        if len(indices):
            low, high = int(indices.argmin()), int(indices.argmax())
            self._lowest = min(self._lowest, (int(indices[low]), place_of_entry(low)))
            self._highest = max(self._highest, (int(indices[high]), place_of_entry(high)))
        self._line += tokens.n_lines
        self.n_rows += lines.size
        self.n_entries += len(values)
        self.has_qid = tokens.has_qid
        commented = zip(starts.tolist(), ends.tolist(), strict=True) if comments else ()
        remarks = [text[start:end].decode("utf-8", "surrogateescape") for start, end in commented]
        codes = [
            self._code_of.setdefault(text[start:end], len(self._code_of))
            for _, start, end in tokens.runs.tolist()
        ]
        run_lengths = np.diff(tokens.runs[:, 0], append=lines.size) if codes else 0
        query_codes = np.repeat(np.array(codes, dtype=np.int32), run_lengths)
        lengths = np.diff(row_ends, prepend=0)
        return Block(labels, lengths, indices, values, query_codes, remarks)

    @property
    def extent(self) -> tuple[int, int, int]:
        """The lowest and the highest index so far, and the number of queries."""
        return self._lowest[0], self._highest[0], len(self._code_of)

    def shape(self, zero_based: Any = "auto", n_features: int | None = None) -> Shape:
        """Return what all rows have in common, once all blocks are read."""
        (lowest, at_lowest), (highest, at_highest) = self._lowest, self._highest
        if zero_based is False and lowest == 0:
            raise FileFormatError(
                f"{at_lowest}, though indices count from 1 (as in the rows of the training, if "
                "there is a model); number the features alike"
            )
        shift = 0 if zero_based is True or lowest == 0 else 1
        stated = max(highest + 1 - shift, 0)
        width = stated if n_features is None else n_features
        if width == 0:
            raise FileFormatError(
                f"{self.name}: no row has a feature; an index:value pair is needed, or n_features"
            )
        if stated > width:
            raise FileFormatError(
                f"{at_highest}, though {width} features are expected; the file is of another set "
                "of features"
            )
        if stated < width and 0 < self.n_entries == self.n_rows * stated:
            raise FileFormatError(
                f"{self.name}: every row states {stated} features, the last one of index "
                f"{highest}, though {width} are expected; the file is of another set of features "
                "(if the others are 0, state the last one in a row)"
            )
        is_sparse = self.n_entries < SPARSE_BELOW * self.n_rows * width
        try:
            texts = [token.decode("utf-8") for token in self._code_of]
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"{self.name}: the qid {error.object!r} is not UTF-8 text; save the file as UTF-8"
            ) from error
        queries = names_of(self.name, "qid", texts) if texts else None
        return Shape(shift, width, is_sparse, queries)


class _Tokens:
    """A block of whole lines, split on its own; pyarrow reads its numbers.

    `numbers` are labels and values in the order of the text, NaN for what is not a number.
    `has_qid` says whether earlier rows have a query; -1: there are none.
    """

    def __init__(self, text: bytes, has_qid: int) -> None:
        from pairrank.compiled.svmlight import split_block

        self.text = text
        codes = np.frombuffer(text, dtype=np.uint8)
        n_lines, n_colons = (int(np.count_nonzero(codes == code)) for code in b"\n:")
        self.n_lines = n_lines
        state = np.array([0, 0, 0, has_qid, -1])
        self._text_of_numbers = np.empty(len(text), dtype=np.uint8)
        self._ends = np.zeros(n_lines + n_colons + 1, dtype=np.int32)
        indices = np.empty(n_lines + n_colons, dtype=np.int32)
        rows = np.empty((n_lines, 4), dtype=np.int64)
        runs = np.empty((n_lines, 3), dtype=np.int64)
        split_block(codes, self._text_of_numbers, self._ends, indices, rows, runs, state)
        n_rows, n_tokens, n_runs, self.has_qid, self.bad_line = state.tolist()
        self.indices, self.rows, self.runs = indices[:n_tokens], rows[:n_rows], runs[:n_runs]
        self.numbers = self._read()

    def token(self, place: int) -> bytes:
        """Return the text of a number."""
        return self._text_of_numbers[self._ends[place] : self._ends[place + 1]].tobytes()

    def _read(self) -> Array:
        """Return the numbers; those that pyarrow does not read as Python reads them."""
        import pyarrow as pa

        parts = [None, pa.py_buffer(self._ends), pa.py_buffer(self._text_of_numbers)]
        texts = pa.Array.from_buffers(pa.string(), len(self.indices), parts)
        try:
            return np.asarray(texts.cast(pa.float64()))
        except pa.ArrowInvalid:
            tokens = (self.token(at).decode("latin-1") for at in range(len(self.indices)))
            found = (number(text) if text.isascii() else None for text in tokens)
            return np.array([np.nan if value is None else value for value in found])


def _fault_of(line: bytes, *, has_qid: bool) -> str:
    """Return the first fault of a line; `has_qid` says whether rows before it have queries."""
    label, *pairs = line.decode("utf-8", "replace").partition("#")[0].split() or [""]
    if not _is_number(label):
        return f"the label {_shown(label)} is not a finite number; a row starts with its label"
    if (pairs[:1] or [""])[0].startswith("qid:") != has_qid:
        found = "no qid" if has_qid else "a qid"
        return f"{found}, unlike the rows before it; give every row a qid, or none"
    if has_qid and pairs.pop(0) == "qid:":
        return "'qid:' without a query; write qid:1, or leave qid out of every row"
    last = -1
    for pair in pairs:
        index, _, value = pair.partition(":")
        if not (re.fullmatch("[0-9]+", index) and value):
            return (
                f"{_shown(pair)} is not an index:value pair; the index is a whole number from 0 or "
                "1 on, and qid comes right after the label"
            )
        if int(index[:19]) > _HIGHEST:
            return f"the index in {_shown(pair)} is above the highest, {_HIGHEST}"
        if not _is_number(value):
            return f"the value in {_shown(pair)} is not a finite number; correct or drop it"
        if int(index) <= last:
            return f"the index of {_shown(pair)} is not above the one before it; sort the indices"
        last = int(index)
    return "the line is damaged; remove its control characters"


def _is_number(text: str) -> bool:
    return text.isascii() and is_finite(text)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")
