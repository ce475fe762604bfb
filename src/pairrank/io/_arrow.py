"""Tables read by pyarrow from CSV or Parquet, with the place of each error."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pairrank.exceptions import FileFormatError
from pairrank.io._csv_records import REMEDY, CsvRecords
from pairrank.io._streams import ReadingCallback
from pairrank.io.rows import (
    is_finite,
    is_word,
    listed,
    may_be_rounded,
    names_of,
    number,
    refuse_merged_labels,
)

_MAGIC = b"PAR1"
_UNIT_SEPARATOR = "\x1f"
RECORDS_SEEN = 100
"""The records of CSV text that show which columns may hold text."""


class Table:
    """A table whose columns are read by role; errors name the row.

    `columns` is a pyarrow.Table. `place` describes a row: "data.csv, line 3". `explain` raises the
    error for the first cell that is not a finite number, if there is one.
    """

    def __init__(
        self,
        name: str,
        columns: Any,
        place: Callable[[int], str],
        explain: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self.columns = columns
        self.place = place
        self._explain = explain

    def check_numbers(self, columns: Sequence[str], role: str) -> None:
        """Raise a FileFormatError that names all columns other than numbers and booleans."""
        types = [(column, self.columns[column].type) for column in columns]
        wrong = [column for column, kind in types if not is_numeric(kind)]
        if wrong:
            raise FileFormatError(
                f"{self.name}: {role} must be numbers, but these columns are not: {listed(wrong)}; "
                "name other columns, or turn them into numbers"
            )

    def numbers(self, column: str, *, finite: bool = True) -> np.ndarray[Any, Any]:
        """Return a column of numbers as float64."""
        cells = self.columns[column]
        self._refuse(column, cells.is_null().to_numpy(), "is empty")
        values: np.ndarray[Any, Any] = cells.cast("float64", safe=False).to_numpy()
        if finite and not np.isfinite(values).all():
            self._explain()
            self._refuse(column, ~np.isfinite(values), "is not finite")
        return values

    def labels(self, column: str) -> np.ndarray[Any, Any]:
        """Return labels as float64 if all are numbers, as text if all are names."""
        cells = self.columns[column]
        if is_numeric(cells.type):
            labels = self.numbers(column)
            if not str(cells.type).endswith(("float", "double")):
                self._refuse_merged(labels, cells)
            return labels
        texts = self.texts(column)
        try:
            labels = texts.cast("float64").to_numpy()
        except ValueError:
            return self._named_or_python_labels(texts.to_pylist())
        bad = ~np.isfinite(labels)
        if bad.any():
            raise self._label_error(int(bad.argmax()), texts, "not a finite number")
        self._refuse_merged(labels, texts)
        return labels

    def _named_or_python_labels(self, texts: list[str]) -> np.ndarray[Any, Any]:
        """Return labels that are names, or numbers that pyarrow does not read but Python does."""
        named = is_word(texts[0])
        for row, text in enumerate(texts):
            if is_word(text) != named or not (named or is_finite(text)):
                what = "not a name" if named else "not a finite number"
                raise self._label_error(row, texts, what)
        return names_of(self.name, "label", texts) if named else np.array(list(map(float, texts)))

    def _label_error(self, row: int, texts: Any, what: str) -> FileFormatError:
        return FileFormatError(
            f"{self.place(row)}: the label {str(texts[row])!r} is {what}, the others are; "
            "use numbers for all rows, or names for all"
        )

    def _refuse_merged(self, labels: np.ndarray[Any, Any], cells: Any) -> None:
        large = may_be_rounded(labels)
        if large.size:
            texts = cells.take(large).to_pylist()
            rows = ((int(row), str(text)) for row, text in zip(large, texts, strict=True))
            refuse_merged_labels(rows, self.place)

    def names(
        self, column: str, *, as_text: bool = False
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the distinct names in a column of identifiers, and each row's index into them.

        With `as_text` texts that are whole numbers stay text.
        """
        cells = self.columns[column]
        if is_numeric(cells.type) and str(cells.type) != "bool":
            values, exact = self.numbers(column), cells.to_numpy()
            if exact.dtype.kind in "iu":
                values = exact if exact.dtype == np.uint64 else exact.astype(np.int64)
            return np.unique(values, return_inverse=True)
        chunks = self.texts(column).dictionary_encode().unify_dictionaries().chunks
        texts = chunks[-1].dictionary.to_pylist()
        names = names_of(self.name, column, texts, as_text=as_text)
        return names, np.concatenate([chunk.indices.to_numpy() for chunk in chunks])

    def identifiers(self, column: str, *, as_text: bool = False) -> np.ndarray[Any, Any]:
        """Return a column of identifiers, see `names`."""
        names, codes = self.names(column, as_text=as_text)
        return names[codes]

    def texts(self, column: str) -> Any:
        """Return a column as a chunked pyarrow array of strings, none of them blank."""
        import pyarrow as pa
        import pyarrow.compute as pc

        cells = self.columns[column]
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        self._refuse(column, cells.is_null().to_numpy(), "is empty")
        if not pa.types.is_string(cells.type):
            cells = pa.chunked_array([pa.array(map(str, cells.to_pylist()), pa.string())])
        blank = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(cells)), 0)
        self._refuse(column, blank.to_numpy(), "is empty")
        return cells

    def _refuse(self, column: str, bad: np.ndarray[Any, Any], what: str) -> None:
        if bad.any():
            raise FileFormatError(
                f"{self.place(int(np.argmax(bad)))}: column {column!r} {what}; {REMEDY}"
            )

    def __len__(self) -> int:
        return int(self.columns.num_rows)


def is_numeric(kind: Any) -> bool:
    """Whether a pyarrow type is that of numbers or booleans."""
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


def is_parquet(data: bytes) -> bool:
    """Whether bytes start as a Parquet file does."""
    return data.startswith(_MAGIC)


class ParquetData:
    """The content of a Parquet file; `first` has the column names."""

    def __init__(self, data: bytes, name: str) -> None:
        import pyarrow.parquet as pq

        if not (data.startswith(_MAGIC) and data.endswith(_MAGIC)):
            raise FileFormatError(
                f"{name} is not a Parquet file, or is cut: it must start and end with PAR1"
            )
        self.data = data
        self.name = name
        with self._undamaged():
            self._schema = pq.read_schema(io.BytesIO(data))
            self.first: list[str] = list(self._schema.names)

    def text_columns(self, columns: Sequence[str]) -> list[str]:
        """Return the columns that hold something, and neither numbers nor booleans."""
        import pyarrow as pa

        kinds = {name: self._schema.field(name).type for name in columns}
        return [
            name for name, kind in kinds.items() if not (is_numeric(kind) or pa.types.is_null(kind))
        ]

    def table(
        self, header: Sequence[str], numbers: Sequence[str], texts: Sequence[str], *, skip: bool
    ) -> Table:
        """Return the columns `numbers` and `texts`, of the file's own types."""
        import pyarrow.parquet as pq

        columns = list(dict.fromkeys([*texts, *numbers]))
        with self._undamaged():
            found = pq.read_table(io.BytesIO(self.data), columns=columns)
        return Table(self.name, found, lambda row: f"{self.name}, row {row} (from 0)")

    @contextlib.contextmanager
    def _undamaged(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, ValueError) as error:
            raise FileFormatError(f"{self.name}: the Parquet file is damaged ({error})") from error


class _Reported(io.BytesIO):
    """Bytes in memory; a callback hears how many of them have been read."""

    def __init__(self, data: bytes, callback: ReadingCallback) -> None:
        super().__init__(data)
        self._callback, self._size = callback, len(data)

    def read(self, size: int | None = -1) -> bytes:
        """Read some bytes and report the position."""
        block = super().read(size)
        self._callback(self.tell(), self._size, 0)
        return block


class CsvText:
    """CSV text: its first record, its columns, and the line of an error.

    pyarrow reads in parallel and does not report lines. If it refuses the text, or a value is not
    finite, the text is read again record by record to find the line.

    The text is UTF-8; blank lines are ignored. A separator of one character allows cells in double
    quotes, a longer one does not. `first` has the cells of the first record, none if there is none;
    `first_line` is the line where it ends. `callback` is called while pyarrow reads the text.
    """

    def __init__(
        self,
        data: bytes,
        name: str,
        separator: str = ",",
        callback: ReadingCallback | None = None,
    ) -> None:
        self.callback = callback
        self.data = data.removeprefix(b"\xef\xbb\xbf")
        self.name = name
        self.quotes = len(separator) == 1
        if not self.quotes:
            if _UNIT_SEPARATOR.encode() in data:
                raise FileFormatError(f"{name} holds the control character 31; remove it")
            self.data = self.data.replace(separator.encode(), _UNIT_SEPARATOR.encode())
        self.separator = separator if self.quotes else _UNIT_SEPARATOR
        self.records = CsvRecords(
            lambda: contextlib.nullcontext(io.BytesIO(self.data)),
            name,
            self.separator,
            quotes=self.quotes,
        )
        self.first_line, self.first = next(self.records.read(), (0, []))

    def table(
        self, header: Sequence[str], numbers: Sequence[str], texts: Sequence[str], *, skip: bool
    ) -> Table:
        """Return the columns `numbers` as float64 and `texts` as strings.

        `header` names all columns of the text; with `skip` the first record is the header.
        """
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        def explain() -> None:
            self.records.explain(header, numbers, skip=skip)

        if self.quotes and self.data.count(b'"') % 2:
            explain()
        kinds = dict.fromkeys(numbers, pa.float64()) | dict.fromkeys(texts, pa.string())
        if next(self.records.read(skip=skip), None) is None:
            empty = {column: pa.array([], kind) for column, kind in kinds.items()}
            return Table(self.name, pa.table(empty), self.records.place(skip=skip))
        try:
            found = arrow_csv.read_csv(
                _Reported(self.data, self.callback)
                if self.callback
                else pa.BufferReader(self.data),
                arrow_csv.ReadOptions(
                    column_names=list(header), skip_rows=self.first_line if skip else 0
                ),
                arrow_csv.ParseOptions(
                    delimiter=self.separator,
                    quote_char='"' if self.quotes else False,
                    newlines_in_values=self.quotes and b'"' in self.data,
                ),
                arrow_csv.ConvertOptions(
                    column_types=kinds, include_columns=list(kinds), null_values=[]
                ),
            )
        except pa.ArrowInvalid as error:
            explain()
            raise FileFormatError(f"{self.name}: {error}; correct the file") from error
        return Table(self.name, found, self.records.place(skip=skip), explain)

    def text_columns(self, columns: Sequence[str]) -> list[str]:
        """Return the columns in which more cells are words than numbers.

        The first record names the columns. Those without a word in the first records are not read.
        """
        import pyarrow.compute as pc

        words: set[str] = set()
        for _, cells in itertools.islice(self.records.read(skip=True), RECORDS_SEEN):
            words.update(itertools.compress(self.first, map(is_word, cells)))
        likely = [column for column in columns if column in words]
        if not likely:
            return []
        table = self.table(self.first, [], likely, skip=True)
        found = []
        for column in likely:
            cells = pc.value_counts(table.columns[column])
            texts, counts = (cells.field(part).to_pylist() for part in ("values", "counts"))
            surplus = sum(
                count * (is_word(text) - (number(text) is not None))
                for text, count in zip(texts, counts, strict=True)
            )
            found += [column] if surplus > 0 else []
        return found
