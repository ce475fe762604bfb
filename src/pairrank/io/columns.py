"""Tables of results, written as CSV or Parquet."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from typing import IO, Any

from numpy.typing import NDArray

from pairrank.io._streams import name_of, open_target


def write_columns(
    target: str | os.PathLike[str] | IO[bytes], columns: Mapping[str, NDArray[Any]]
) -> None:
    """Write columns of one length: as Parquet if the target ends in .parquet, else as CSV.

    NaN and None become empty cells.

    Parameters
    ----------
    target : str, path-like or binary file object
        "-" is standard output. The file changes only if all is written.
    columns : dict of str to ndarray
        Each column by its name.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import parquet

    arrays = {}
    for name, values in columns.items():
        cells = values.tolist() if values.dtype.kind in "UO" else values
        array = pa.array(cells, from_pandas=True)
        arrays[name] = array.cast(pa.string()) if pa.types.is_null(array.type) else array
    table = pa.table(arrays)
    with open_target(target) as file:
        if str(name_of(target)).lower().endswith(".parquet"):
            parquet.write_table(table, file)
            return
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(columns)
        file.write(line.getvalue().encode())
        options = arrow_csv.WriteOptions(include_header=False, quoting_style="needed")
        arrow_csv.write_csv(table, file, options)
