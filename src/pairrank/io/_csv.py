"""CSV text read by pyarrow in parts; a second, serial reading finds the line of an error."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
from collections.abc import Iterator, Sequence
from typing import IO, Any

from pairrank.exceptions import FileFormatError
from pairrank.io._arrow import Table, fault_of
from pairrank.io._streams import AnyPath, ReadingCallback, open_source, position_in
from pairrank.io.rows import is_finite, is_word, number

_PART_BYTES = 4 << 20
"""Text that is parsed together."""
_ROWS_SEEN = 100
"""The rows that show which columns hold text."""


class CsvText:
    """UTF-8 text with cells in double quotes where needed; blank lines are ignored.

    pyarrow does not report lines: if it refuses the text, or a value cannot be used, the text is
    read again row by row to find the line.

    `source` is the text, or a path that is opened for each reading. `header` has the trimmed cells
    of the first row, none if there is none; `first_line` is the line where it ends.
    """

    def __init__(
        self, source: bytes | AnyPath, name: str, callback: ReadingCallback = None
    ) -> None:
        self.name, self.callback = name, callback
        self._source: Any = source
        self.first_line, first = next(self._lines(), (0, []))
        self.header = [cell.strip() for cell in first]

    def name_columns(self, names: Sequence[str]) -> None:
        """Give the columns of text without a header their names."""
        self.header, self.first_line = list(names), 0

    def table(self, numbers: Sequence[str], texts: Sequence[str]) -> Table:
        """Return all rows; see `parts`."""
        import pyarrow as pa

        parts = [part.columns for part in self.parts(numbers, texts)]
        return self._table(pa.concat_tables(parts), 0)

    def parts(self, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Table]:
        """Yield the rows in parts, with numbers as float64 and texts as strings."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        if next(self._rows(), None) is None:
            raise FileFormatError(f"{self.name}: no rows below the header")
        kinds = dict.fromkeys(numbers, pa.float64()) | dict.fromkeys(texts, pa.string())
        n_rows = n_quotes = 0

        def counted(block: Any) -> Any:
            nonlocal n_quotes
            n_quotes += block.to_pybytes().count(b'"')
            return block

        try:
            with self._opened() as stream:
                batches = arrow_csv.open_csv(
                    pa.TransformInputStream(pa.PythonFile(stream, "r"), counted),
                    arrow_csv.ReadOptions(
                        column_names=self.header,
                        skip_rows=self.first_line,
                        block_size=_PART_BYTES,
                    ),
                    arrow_csv.ParseOptions(newlines_in_values=True),
                    arrow_csv.ConvertOptions(
                        column_types=kinds, include_columns=list(kinds), null_values=[]
                    ),
                )
                for batch in batches:
                    yield self._table(pa.Table.from_batches([batch]), n_rows)
                    n_rows += batch.num_rows
                    if self.callback is not None:
                        self.callback(*position_in(stream, stream.tell()), n_rows)
            if n_quotes % 2:  # pyarrow accepts a quote that is not closed
                self._explain(numbers, 0)
        except pa.ArrowInvalid as error:
            self._explain(numbers, n_rows)
            raise FileFormatError(f"{self.name}: {error}; correct the file") from error

    def text_columns(self, columns: Sequence[str]) -> list[str]:
        """Return the columns whose first cells are more words than numbers."""
        surplus = dict.fromkeys(columns, 0)
        for _, cells in itertools.islice(self._rows(), _ROWS_SEEN):
            for column, cell in zip(self.header, cells, strict=False):
                if column in surplus:
                    surplus[column] += is_word(cell) - (number(cell) is not None)
        return [column for column in columns if surplus[column] > 0]

    def _table(self, columns: Any, n_before: int) -> Table:
        """Return rows of which `n_before` others come first."""

        def place(row: int) -> str:
            line, _ = next(itertools.islice(self._rows(), n_before + row, None))
            return f"{self.name}, line {line}"

        return Table(self.name, columns, place)

    def _opened(self) -> contextlib.AbstractContextManager[IO[bytes]]:
        is_text = isinstance(self._source, bytes)
        return open_source(io.BytesIO(self._source) if is_text else self._source)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the line where each row below the header ends, and its cells."""
        return ((line, cells) for line, cells in self._lines() if line > self.first_line)

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        with self._opened() as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            reader = csv.reader(text, strict=True)
            try:
                yield from ((reader.line_num, cells) for cells in reader if cells)
            except UnicodeDecodeError as error:
                raise FileFormatError(
                    f"{self.name} is not UTF-8 text ({error.reason}); save it as UTF-8"
                ) from error
            except csv.Error as error:
                raise FileFormatError(
                    f"{self.name}, line {reader.line_num}: {error}; check its quotes"
                ) from error
            finally:
                text.detach()

    def _explain(self, numbers: Sequence[str], first: int) -> None:
        """Raise the error for the first row of another length, or with a bad number.

        The rows before number `first` are known to be valid.
        """
        places = {column: self.header.index(column) for column in numbers}
        for line, cells in itertools.islice(self._rows(), first, None):
            where = f"{self.name}, line {line}"
            if len(cells) != len(self.header):
                raise FileFormatError(
                    f"{where}: {len(cells)} cells, {len(self.header)} are expected; correct the "
                    "line"
                )
            for column, at in places.items():
                if not is_finite(cells[at]):
                    raise FileFormatError(f"{where}: {fault_of(column, cells[at])}")
