"""read_pairs and read_votes: comparisons of rows, and of named items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank.exceptions import FileFormatError
from pairrank.io._arrow import Table
from pairrank.io._csv import CsvText
from pairrank.io._streams import AnyFile, reads
from pairrank.io.rows import is_word, listed
from pairrank.io.tables import check_header, content_of
from pairrank.preferences import Pairs

_NUMBERS = ("i", "j", "weight", "magnitude")
_COLUMNS = (*_NUMBERS, "group")
_MOST_ROWS = 2**31 - 1
_REMEDY = "correct or drop the row"


@reads
def read_pairs(source: AnyFile, *, n_rows: int | None = None) -> Pairs:
    """Read comparisons of rows: row i is preferred to row j.

    Parquet is recognised by its first bytes, not by the name. The columns are `i`, `j` and,
    optionally, `weight`, `magnitude` (the wanted difference, any finite number) and `group` (names
    or numbers of sessions, voters or tournaments), in any order. CSV without a header has two to
    four columns, in this order and without `group`.

    Parameters
    ----------
    n_rows : int, optional
        The number of rows, which are numbered from 0 in their file's order. None: the highest
        number plus 1.

    Returns
    -------
    Pairs
        In the file's order.

    Notes
    -----
    O(n_pairs). Memory holds the file and its columns as float64.

    Examples
    --------
    >>> import io
    >>> pairs = read_pairs(io.BytesIO(b"i,j,weight\\n2,0,1\\n0,1,0.5\\n"), n_rows=4)
    >>> pairs, pairs.i, pairs.weight
    (Pairs(n_pairs=2, n_rows=4), array([2, 0], dtype=int32), array([1. , 0.5]))
    """
    content = content_of(source)
    header, name = content.header, content.name
    if isinstance(content, CsvText) and header and not is_word(header[0]):
        if not 2 <= len(header) <= len(_NUMBERS):
            raise FileFormatError(
                f"{name}, line {content.first_line}: {len(header)} cells, a pair is "
                "i,j[,weight[,magnitude]]; correct the line"
            )
        content.name_columns(_NUMBERS[: len(header)])
        header = content.header
    if not {"i", "j"} <= set(header) <= set(_COLUMNS) or len(set(header)) < len(header):
        raise FileFormatError(
            f"{name}: the columns are {listed(header) or 'none'}; pairs have i, j and, if any, "
            "weight, magnitude and group, and no other"
        )
    numbers = [column for column in header if column in _NUMBERS]
    table = content.table(numbers, [column for column in header if column not in _NUMBERS])
    columns = {column: table.numbers(column) for column in numbers if column != "weight"}
    stop = _MOST_ROWS if n_rows is None else n_rows
    rows = f"which is not a row: {f'rows go from 0 to {stop - 1}' if stop else 'n_rows is 0'}"
    for side in ("i", "j"):
        values = columns[side]
        wrong = (values < 0) | (values >= stop) | (np.floor(values) != values)
        first = f"{side} is {values[int(wrong.argmax())]:.15g}, {rows}; {_REMEDY}"
        table.refuse(wrong, lambda row, first=first: first)  # type: ignore[misc]
    i, j = (columns[side].astype(np.int32) for side in ("i", "j"))
    table.refuse(i == j, lambda row: f"row {i[row]} is compared with itself; {_REMEDY}")
    weight = _weights(table, "weight") if "weight" in header else None
    groups = table.identifiers("group") if "group" in header else None
    return Pairs(i, j, weight, columns.get("magnitude"), groups=groups, n_rows=n_rows)


_TRUE, _FALSE = ("1", "1.0", "true", "yes"), ("0", "0.0", "false", "no")


class Votes(NamedTuple):
    """The comparisons in a file; what no column was named for is None.

    Attributes
    ----------
    winner, loser : column of names
        Text, without blanks around it, as pyarrow arrays.
    tie : bool array of shape (n_votes,) or None
        Whether neither won.
    weight : float64 array of shape (n_votes,) or None
        How often each counts.
    covariates : dict of str to float64 array of shape (n_votes,), or None
        By the names of their columns.
    groups : column of names or None
        Who compared.
    """

    winner: Any
    loser: Any
    tie: NDArray[np.bool_] | None
    weight: NDArray[np.float64] | None
    covariates: dict[str, NDArray[np.float64]] | None
    groups: Any


@reads
def read_votes(
    source: AnyFile,
    *,
    winner: str = "winner",
    loser: str = "loser",
    tie: str | None = None,
    weight: str | None = None,
    covariates: Sequence[str] = (),
    groups: str | None = None,
) -> Votes:
    """Read comparisons of named items; other columns are ignored.

    Parameters
    ----------
    source : str, path-like or binary file object
        CSV with a header, or Parquet; "-" is standard input; gzip, bzip2 and xz are decompressed.
    winner, loser : str
        The columns of names.
    tie : str, optional
        The column that says whether neither won: 1, true or yes; 0, false or no.
    weight : str, optional
        The column of weights.
    covariates : sequence of str
        The columns of covariates, numbers.
    groups : str, optional
        The column of voters.

    Returns
    -------
    Votes
        In the file's order.

    Notes
    -----
    Costs O(n_votes). Memory holds the file and its columns.

    Examples
    --------
    >>> import io
    >>> votes = read_votes(io.BytesIO(b"winner,loser,tie\\nann,bob,0\\nbob,cid,1\\n"), tie="tie")
    >>> votes.winner.to_pylist(), votes.tie
    (['ann', 'bob'], array([False,  True]))
    """
    import pyarrow.compute as pc

    content = content_of(source)
    texts = [column for column in (winner, loser, tie, groups) if column is not None]
    numbers = [*covariates, *([] if weight is None else [weight])]
    check_header(content.name, content.header, [*texts, *numbers])
    table = content.table(numbers, texts)
    winners, losers = table.trimmed(winner), table.trimmed(loser)
    same = pc.equal(winners, losers).to_numpy()
    table.refuse(same, lambda row: f"{winners[row].as_py()!r} is compared with itself; {_REMEDY}")
    return Votes(
        winners,
        losers,
        None if tie is None else _flags(table, tie),
        None if weight is None else _weights(table, weight),
        {column: table.numbers(column) for column in covariates} or None,
        None if groups is None else table.trimmed(groups),
    )


def _weights(table: Table, column: str) -> NDArray[np.float64]:
    weight = table.numbers(column)
    table.refuse(weight < 0, lambda row: f"the weight {weight[row]:g} is negative; {_REMEDY}")
    return weight


def _flags(table: Table, column: str) -> NDArray[np.bool_]:
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = pc.utf8_lower(table.trimmed(column))
    word = pc.index_in(cells, value_set=pa.array([*_TRUE, *_FALSE]))
    table.refuse(
        word.is_null().to_numpy(),
        lambda row: (
            f"column {column!r}: {cells[row].as_py()!r} does not say whether it is a tie; write 1 "
            "or 0"
        ),
    )
    return np.asarray(word.to_numpy() < len(_TRUE))
