"""Checked input of comparisons: rows, numbers, groups, queries, and names of items as codes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank import _validation as validation
from pairrank._arrays import as_array, as_float_array, plain, refuse_hidden, shown
from pairrank.exceptions import PairrankError
from pairrank.preferences._codes import query_codes

Codes = NDArray[np.int32]
_NO_COLUMN = (str, bytes, Mapping, Set)


def check_queries(i: NDArray[Any], j: NDArray[Any], qid: NDArray[Any]) -> NDArray[np.int32]:
    """Return the code of each row's query; an error where a pair joins two queries."""
    identifiers, codes = query_codes(qid)
    across = codes[i] != codes[j]
    if across.any():
        at = int(across.argmax())
        first, second = identifiers[codes[[i[at], j[at]]]].tolist()
        raise PairrankError(
            f"pair {at} compares rows {i[at]} and {j[at]} of different queries "
            f"({first!r} and {second!r}); remove it, or give no qid"
        )
    return codes


def checked_rows(
    i: ArrayLike, j: ArrayLike, n_rows: int | None
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Return the rows of each pair, and the number of rows: the highest + 1 if it is None."""
    first, second = as_index(i, "i"), as_index(j, "j")
    if first.size != second.size:
        raise PairrankError(f"i has {first.size} entries and j {second.size}: one pair each")
    highest = int(max(first.max(initial=-1), second.max(initial=-1)))
    if n_rows is not None:
        validation.check_number(n_rows, "n_rows", inclusive=True, integer=True)
    n_rows = highest + 1 if n_rows is None else int(n_rows)
    if n_rows >= 2**31:
        raise PairrankError(f"{n_rows} rows are too many: at most 2**31 - 1")
    for name, index in (("i", first), ("j", second)):
        outside = (index < 0) | (index >= n_rows)
        if outside.any():
            at = int(outside.argmax())
            rows = f"rows go from 0 to {n_rows - 1}" if n_rows else "n_rows is 0"
            raise PairrankError(f"{name}[{at}] = {index[at]} is not a row: {rows}")
    same = first == second
    if same.any():
        at = int(same.argmax())
        raise PairrankError(f"pair {at} compares row {first[at]} with itself; remove it")
    return first.astype(np.int32, copy=False), second.astype(np.int32, copy=False), n_rows


def as_index(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return row numbers as integers, (n_pairs,)."""
    index = as_array(values, name)
    if index.ndim != 1:
        raise PairrankError(f"{name} must have one dimension, got shape {index.shape}")
    if index.dtype.kind in "iu":
        return index.astype(np.int64) if index.dtype == np.uint64 else index
    if index.dtype.kind == "O":
        index = as_float_array(index, name)
    whole = index.dtype.kind == "f" and (np.abs(index) < 2**31).all() and (index % 1 == 0).all()
    if index.size and not whole:
        raise PairrankError(f"{name} must hold row numbers (whole numbers from 0)")
    return index.astype(np.int64)


def pair_codes(winner: Any, loser: Any) -> tuple[NDArray[Any], Codes, Codes]:
    """Return the distinct names of two columns, and the code of each row's winner and loser.

    The names are sorted if they are all numbers or all text, else in the order of appearance.
    Raises a PairrankError if the lengths differ, a name is missing, a row names one item twice, or
    a name is there as a number and as text.
    Costs O(m) for m rows, and a sort of the distinct names.
    """
    of_winners, winners = name_codes(winner, "winner")
    of_losers, losers = name_codes(loser, "loser")
    validation.check_length(losers, "loser", winners.size)
    distinct = list(dict.fromkeys(itertools.chain(of_winners, of_losers)))
    _refuse_text_of_numbers(distinct)
    items = validation.check_identifiers(distinct, "names")
    if items.dtype != object:
        items = np.sort(items)
    code_of = {name: code for code, name in enumerate(items.tolist())}
    i, j = (
        np.array([code_of[name] for name in names], dtype=np.int32)[codes]
        for names, codes in ((of_winners, winners), (of_losers, losers))
    )
    same = i == j
    if same.any():
        row = int(same.argmax())
        raise PairrankError(
            f"winner and loser are both {shown(items[i[row]])} in row {row}: an item is not "
            "compared with itself; remove the row"
        )
    return items, i, j


def name_codes(values: Any, name: str) -> tuple[list[Any], Codes]:
    """Return the distinct names of a column as Python objects, and each row's index into them.

    `name` is the column's name in errors.
    """
    refuse_hidden(values, name)
    for listing in ("to_pylist", "to_list"):  # of pyarrow; of pandas and polars
        values = getattr(values, listing)() if hasattr(values, listing) else values
    if isinstance(values, _NO_COLUMN) or not isinstance(values, Iterable):
        raise PairrankError(f"{name} must hold one name per comparison, got {values!r}")
    if not hasattr(values, "__array__"):
        values = np.fromiter(values, dtype=object)
    names = validation.check_identifiers(values, name)
    if names.dtype.kind in "mM":
        names = np.fromiter(names, dtype=object)  # in the order of appearance
    distinct, codes = query_codes(names)
    return [plain(each) for each in distinct.tolist()], codes


def _refuse_text_of_numbers(names: Iterable[Any]) -> None:
    """Raise a PairrankError if a number and a text are the same name, as 1 and "1"."""
    numbers = {_digits(name): name for name in names if isinstance(name, (int, float))}
    for name in names if numbers else ():
        if isinstance(name, str) and name.strip() in numbers:
            number = numbers[name.strip()]
            raise PairrankError(
                f"winner and loser hold both the number {number!r} and the text {name!r}, which "
                "would be two items: give all names as text, or all as numbers"
            )


def _digits(number: float) -> str:
    """Return a number as text; a whole one has no decimals."""
    is_whole = isinstance(number, float) and number.is_integer()
    return str(int(number) if is_whole else number)
