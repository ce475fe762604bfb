"""Tables of pyarrow, with the place of each error, and the content of Parquet files."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from pairrank.exceptions import FileFormatError
from pairrank.io.rows import (
    is_finite,
    is_word,
    listed,
    may_be_rounded,
    names_of,
    refuse_merged_labels,
)

_MAGIC = b"PAR1"
REMEDY = "impute a value, drop the row, or drop the column"


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
