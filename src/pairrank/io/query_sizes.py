"""Files of rows per query: LightGBM's DATA.query, XGBoost's DATA.group, or one with a name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.exceptions import FileFormatError, PairrankError
from pairrank.io._streams import STANDARD_STREAM, name_of, read_bytes, uncompressed
from pairrank.io.rows import Rows

_SUFFIXES = (".query", ".group")
_FORM = "a line holds the rows of a query, such as 12"


def with_queries(blocks: Iterable[Rows], source: Any, query_sizes: Any) -> Iterator[Rows]:
    """Yield the blocks of a file, with the queries 1, 2, ... of its side file.

    `query_sizes` names the side file; None looks for one beside the file. Rows with queries of
    their own are refused where it is named, and keep them where it is found.
    """
    ends, n_rows = None, 0
    for rows in blocks:
        if rows.qid is not None and query_sizes is not None:
            raise PairrankError(
                f"{name_of(source)}: the rows have queries of their own; leave out the rows "
                f"per query in {query_sizes}"
            )
        if rows.qid is None and n_rows == 0:
            side = _side_file(source) if query_sizes is None else query_sizes
            ends = None if side is None else _ends_of_queries(side)
        first, n_rows = n_rows, n_rows + rows.X.shape[0]
        if ends is not None:
            queries = np.searchsorted(ends, np.arange(first, n_rows), side="right") + 1
            rows = rows._replace(qid=queries)
        yield rows
    if ends is not None and ends[-1] != n_rows:
        raise FileFormatError(
            f"{name_of(side)}: its {ends.size:,} queries have {ends[-1]:,.0f} rows, the data has "
            f"{n_rows:,}; give the side file of this data"
        )


def _side_file(source: Any) -> Path | None:
    """Return the side file of a data file: its name, with or without compression, and a suffix."""
    if not isinstance(source, str | os.PathLike) or os.fspath(source) == STANDARD_STREAM:
        return None
    name = os.fspath(source)
    stems = sorted({name, uncompressed(name)})
    found = [Path(stem + suffix) for stem in stems for suffix in _SUFFIXES]
    found = [path for path in found if path.is_file()]
    if len(found) > 1:
        raise PairrankError(
            f"{name}: {' and '.join(map(str, found))} both give rows per query; name one with "
            "--query-sizes (in Python query_sizes=), or remove the other"
        )
    return found[0] if found else None


def _ends_of_queries(side: Any) -> FloatArray:
    """Return where each query ends, from a file of one whole number of rows per line."""
    lines = read_bytes(side).removeprefix(b"\xef\xbb\xbf").splitlines()
    sizes = []
    for line, text in enumerate(lines, start=1):
        cell = text.strip()
        if cell and not cell.isdigit():
            raise FileFormatError(
                f"{name_of(side)}, line {line}: {cell.decode(errors='replace')!r} is not a number "
                f"of rows; {_FORM}"
            )
        sizes += [float(cell)] if cell else []
    if not sizes:
        raise FileFormatError(f"{name_of(side)}: no lines; {_FORM}")
    return np.cumsum(sizes)
