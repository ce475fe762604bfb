"""Tables of pyarrow, with the place of each error, and the content of Parquet files."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairrank._protocols import Array
from pairrank.exceptions import FileAccessError, FileFormatError, PairrankError
from pairrank.io.rows import is_word, names_of, refuse_merged_labels

PARQUET_MAGIC = b"PAR1"
_REMEDY = "impute a value, drop the row, or drop the column"


@dataclass(frozen=True)
class Table:
    """A table whose columns are read by role; errors name the row.

    `columns` is a pyarrow.Table. `place` describes a row: "data.csv, line 3".
    """

    name: str
    columns: Any
    place: Callable[[int], str]

    def refuse(self, bad: Array, what: Callable[[int], str]) -> None:
        """Raise a FileFormatError that names the first bad row, if there is one."""
        if bad.any():
            row = int(np.argmax(bad))
            raise FileFormatError(f"{self.place(row)}: {what(row)}")

    def numbers(self, column: str) -> Array:
        """Return a column of finite numbers as float64."""
        cells = self.columns[column]
        if not is_numeric(cells.type):
            raise FileFormatError(
                f"{self.name}: column {column!r} must hold numbers, but holds {cells.type}; name "
                "another column, or turn it into numbers"
            )
        self._refuse_empty(column, cells.is_null())
        values: Array = cells.cast("float64", safe=False).to_numpy()
        self.refuse(~np.isfinite(values), lambda row: fault_of(column, str(values[row])))
        return values

    def labels(self, column: str) -> Array:
        """Return labels as float64 if all are numbers, as text if all are names."""
        cells = self.columns[column]
        if is_numeric(cells.type):
            labels = self.numbers(column)
        else:
            cells = self.trimmed(column)
            try:
                labels = cells.cast("float64").to_numpy()
            except ValueError:
                texts = cells.to_pylist()
                words = np.array([is_word(text) for text in texts])
                wanted = "a name" if words[0] else "a finite number"
                self._refuse_labels(words != words[0], cells, wanted)
                self._refuse_labels(~words, cells, wanted)
                return names_of(self.name, "label", texts)
            self._refuse_labels(~np.isfinite(labels), cells, "a finite number")
        refuse_merged_labels(labels, lambda row: str(cells[row].as_py()), self.place)
        return labels

    def _refuse_labels(self, bad: Array, cells: Any, wanted: str) -> None:
        self.refuse(
            bad,
            lambda row: (
                f"the label {cells[row].as_py()!r} is not {wanted}; use finite numbers for all "
                "rows, or names for all"
            ),
        )

    def identifiers(self, column: str) -> Array:
        """Return a column of identifiers: of numbers, if all are written as whole numbers."""
        cells = self.columns[column]
        if is_numeric(cells.type) and str(cells.type) != "bool":
            values, exact = self.numbers(column), cells.to_numpy()
            if exact.dtype.kind in "iu":
                values = exact if exact.dtype == np.uint64 else exact.astype(np.int64)
            return values
        coded = self.texts(column).dictionary_encode().combine_chunks()
        names = names_of(self.name, column, coded.dictionary.to_pylist())
        return names[coded.indices.to_numpy()]

    def texts(self, column: str) -> Any:
        """Return a column as a chunked pyarrow array of strings, none of them blank."""
        import pyarrow as pa
        import pyarrow.compute as pc

        cells = self.columns[column]
        if pa.types.is_dictionary(cells.type):
            cells = cells.cast(cells.type.value_type)
        self._refuse_empty(column, cells.is_null())
        if not pa.types.is_string(cells.type):
            cells = pa.chunked_array([pa.array(map(str, cells.to_pylist()), pa.string())])
        self._refuse_empty(column, pc.equal(pc.utf8_trim_whitespace(cells), ""))
        return cells

    def trimmed(self, column: str) -> Any:
        """Return `texts` without the white space around them."""
        import pyarrow.compute as pc

        return pc.utf8_trim_whitespace(self.texts(column))

    def _refuse_empty(self, column: str, empty: Any) -> None:
        self.refuse(empty.to_numpy(), lambda _: fault_of(column, ""))

    def __len__(self) -> int:
        return int(self.columns.num_rows)


def fault_of(column: str, cell: str) -> str:
    """Return what is wrong with a cell that is empty, or no finite number."""
    what = f": {cell!r} is not a finite number" if cell.strip() else " is empty"
    return f"column {column!r}{what}; {_REMEDY}"


def is_numeric(kind: Any) -> bool:
    """Whether a pyarrow type is that of numbers or booleans."""
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


class ParquetColumns:
    """Columns of Parquet data, which `schema` describes."""

    name: str
    schema: Any
    damage = "damaged, cut, or not Parquet"

    @property
    def header(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    def text_columns(self, columns: Sequence[str]) -> list[str]:
        """Return the columns that hold something, and neither numbers nor booleans."""
        import pyarrow as pa

        kinds = {name: self.schema.field(name).type for name in columns}
        return [
            name for name, kind in kinds.items() if not (is_numeric(kind) or pa.types.is_null(kind))
        ]

    @contextlib.contextmanager
    def undamaged(self) -> Iterator[None]:
        """Raise a FileFormatError or a FileAccessError for what pyarrow cannot read."""
        import pyarrow as pa

        try:
            yield
        except PairrankError:
            raise
        except FileNotFoundError as error:
            raise FileAccessError(
                f"cannot read {self.name}: no such file ({error}); check the path"
            ) from error
        except (pa.ArrowException, OSError, ValueError) as error:
            raise FileFormatError(f"{self.name}: {self.damage} ({error})") from error


class ParquetData(ParquetColumns):
    """The content of a Parquet file."""

    def __init__(self, data: bytes, name: str) -> None:
        import pyarrow.parquet as pq

        self.name = name
        with self.undamaged():
            self._file = pq.ParquetFile(io.BytesIO(data))
        self.schema = self._file.schema_arrow

    def table(self, numbers: Sequence[str], texts: Sequence[str]) -> Table:
        """Return some columns, of the file's own types."""
        with self.undamaged():
            found = self._file.read(columns=list(dict.fromkeys([*texts, *numbers])))
        if not found.num_rows:
            raise FileFormatError(f"{self.name}: no rows")
        return Table(self.name, found, lambda row: f"{self.name}, row {row} (from 0)")
