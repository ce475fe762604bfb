"""The records of CSV text, one by one: its first ones, and the line of an error."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import IO, Any

from pairrank.exceptions import FileFormatError
from pairrank.io.rows import is_finite, is_word, listed

REMEDY = "impute a value, drop the row, or drop the column"


class CsvRecords:
    """The records of UTF-8 text as Python's csv module reads them; blank lines are ignored.

    Each use opens the text again by `opened`. `quotes` allows cells in double quotes.
    """

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[IO[bytes]]],
        name: str,
        separator: str = ",",
        *,
        quotes: bool = True,
    ) -> None:
        self.name = name
        self._opened, self._separator, self._quotes = opened, separator, quotes

    def read(self, *, skip: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Yield the line where each record ends, and its cells; with `skip` not the first one."""
        with self._opened() as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            try:
                yield from itertools.islice(self._parsed(text), int(skip), None)
            finally:
                text.detach()

    def first_text(self, n_records: int) -> bytes:
        """Return the text of the first records."""
        lines: list[str] = []
        with self._opened() as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
            for _ in itertools.islice(self._parsed(_kept(text, lines)), n_records):
                pass
            text.detach()
        return "".join(lines).encode()

    def _parsed(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        quoting: Any = csv.QUOTE_MINIMAL if self._quotes else csv.QUOTE_NONE
        reader = csv.reader(lines, delimiter=self._separator, quoting=quoting, strict=True)
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

    def place(self, *, skip: bool) -> Callable[[int], str]:
        """Return the function that says where the row of a number is, header left out."""

        def of_row(row: int) -> str:
            line, _ = next(itertools.islice(self.read(skip=skip), row, None))
            return f"{self.name}, line {line}"

        return of_row

    def explain(
        self,
        header: Sequence[str],
        numbers: Sequence[str],
        *,
        skip: bool,
        first: int = 0,
        at_most: int | None = None,
    ) -> None:
        """Raise the error for the first record of another length, or with a bad number.

        A cell of the columns `numbers` must be a finite number. The rows before number `first` are
        known to be valid. Of other columns with such cells the error tells those among the next
        `at_most` rows; None: among all rows.
        """
        places = {column: header.index(column) for column in numbers}
        records = itertools.islice(self.read(skip=skip), first, None)
        for count, (line, cells) in enumerate(records, first):
            where = f"{self.name}, line {line}"
            if len(cells) != len(header):
                raise FileFormatError(
                    f"{where}: {len(cells)} cells, {len(header)} are expected; correct the line"
                )
            bad = {column: cells[at] for column, at in places.items() if not is_finite(cells[at])}
            if not bad:
                continue
            column, cell = next(iter(bad.items()))
            words = [one for one, text in bad.items() if is_word(text)]
            if count == 0 and 1 < len(bad) == len(words):
                raise FileFormatError(
                    f"{where}: the columns {listed(words)} hold text ({cell!r}), not "
                    "numbers; drop or encode them"
                )
            what = f"{cell!r} is not a finite number" if cell.strip() else "an empty cell"
            after = itertools.chain([(line, cells)], itertools.islice(records, at_most))
            others = _not_finite(after, places) - {column}
            more = [name for name in header if name in others]
            also = f" (the columns {listed(more)} have such cells too)" if more else ""
            raise FileFormatError(f"{where}: column {column!r}: {what}{also}; {REMEDY}")


def _kept(lines: Iterable[str], kept: list[str]) -> Iterator[str]:
    """Yield lines, and append them to a list."""
    for line in lines:
        kept.append(line)
        yield line


def _not_finite(records: Iterable[tuple[int, list[str]]], places: Mapping[str, int]) -> set[str]:
    """Return the columns with a cell that is not a finite number; O(cells)."""
    left, found = dict(places), set()
    for _, cells in records:
        bad = {
            column for column, at in left.items() if at < len(cells) and not is_finite(cells[at])
        }
        found |= bad
        left = {column: at for column, at in left.items() if column not in bad} if bad else left
    return found
