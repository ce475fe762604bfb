"""Side files with the rows per query, as LightGBM (.query) and XGBoost (.group) have them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._atomic import STANDARD_STREAM
from pairrank.io._streams import COMPRESSED_SUFFIXES, name_of, read_bytes

_SUFFIXES = (".query", ".group")
_MOST_ROWS = 2**63 - 1


def read_query_sizes(source: str | os.PathLike[str] | IO[bytes]) -> NDArray[np.int64]:
    """Read the number of rows of each query, one whole number per line.

    Parameters
    ----------
    source : str, path-like or binary file object
        "-" is standard input; gzip, bzip2 and xz are decompressed.

    Returns
    -------
    int64 array of shape (n_queries,)

    Raises
    ------
    FileFormatError
        If there is no line, or a line is not a whole number of at least 0.
    FileAccessError
        If the file cannot be opened.

    Examples
    --------
    >>> import io
    >>> read_query_sizes(io.BytesIO(b"3\\n2\\n"))
    array([3, 2])
    """
    name = name_of(source)
    lines = read_bytes(source).removeprefix(b"\xef\xbb\xbf").splitlines()
    sizes = []
    for line, text in enumerate(lines, start=1):
        cell = text.strip()
        if cell and not (cell.isdigit() and int(cell) <= _MOST_ROWS):
            raise FileFormatError(
                f"{name}, line {line}: {cell.decode(errors='replace')!r} is not a number of rows; "
                "a line holds the rows of a query, such as 12"
            )
        sizes += [int(cell)] if cell else []
    if not sizes:
        raise FileFormatError(f"{name}: no lines; a line holds the rows of a query, such as 12")
    return np.array(sizes, dtype=np.int64)


def query_sizes_of(source: Any) -> Path | None:
    """Return the side file of a data file: its name, with or without compression, and a suffix.

    Raises a PairrankError if there are several.
    """
    if not isinstance(source, str | os.PathLike) or os.fspath(source) == STANDARD_STREAM:
        return None
    name = os.fspath(source)
    stems = {name, *(name.removesuffix(each) for each in COMPRESSED_SUFFIXES)}
    found = [Path(stem + suffix) for stem in sorted(stems) for suffix in _SUFFIXES]
    found = [path for path in found if path.is_file()]
    if len(found) > 1:
        listed = " and ".join(map(str, found))
        raise PairrankError(
            f"{name}: {listed} both give rows per query; name one with --query-sizes (in Python "
            "query_sizes=), or remove the other"
        )
    return found[0] if found else None


def queries_of_sizes(sizes: NDArray[np.int64], n_rows: int, name: str) -> NDArray[np.int64]:
    """Return the query of each row, numbered from 1, for the rows per query of a file."""
    total = sum(sizes.tolist())
    if total != n_rows:
        raise FileFormatError(
            f"{name}: its {sizes.size:,} queries have {total:,} rows, the data has {n_rows:,}; "
            "give the side file of this data"
        )
    return np.repeat(np.arange(1, sizes.size + 1), sizes)
