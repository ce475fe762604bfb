"""Names of items as integer codes: arrays, lists, and columns of frames."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank import _validation as validation
from pairrank._arrays import is_missing, refuse_hidden
from pairrank.exceptions import PairrankError
from pairrank.preferences._codes import is_hashable, query_codes

Codes = NDArray[np.int32]
_NO_COLUMN = (str, bytes, Mapping, Set)
_PLAIN = (np.str_, np.bool_, np.integer, np.floating)
"""Scalars of numpy that are replaced by Python's."""


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
    known = {name: None for name in itertools.chain(of_winners, of_losers)}
    _refuse_text_of_numbers(known)
    items = validation.check_identifiers(list(known), "names")
    order = np.arange(items.size) if items.dtype == object else np.argsort(items, kind="stable")
    place = np.empty(items.size, dtype=np.int32)
    place[order] = np.arange(items.size, dtype=np.int32)
    code_of = dict(zip(known, place.tolist(), strict=True))
    i, j = (
        np.array([code_of[name] for name in names], dtype=np.int32)[codes]
        for names, codes in ((of_winners, winners), (of_losers, losers))
    )
    same = i == j
    if same.any():
        row = int(same.argmax())
        name = items[order[i[row]]]
        raise PairrankError(
            f"winner and loser are both {shown(name)} in row {row}: an item is not compared with "
            "itself; remove the row"
        )
    return items[order], i, j


def name_codes(values: Any, name: str) -> tuple[list[Any], Codes]:
    """Return the distinct names of a column as Python objects, and each row's index into them.

    `name` is the column's name in errors.
    """
    refuse_hidden(values, name)
    for listing in ("to_pylist", "to_list"):  # of pyarrow; of pandas and polars
        if hasattr(values, listing):
            return _hashed(getattr(values, listing)(), name)
    column = values if isinstance(values, np.ndarray) else _listed(values, name)
    if isinstance(column, np.ndarray) and column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise PairrankError(f"{name} must have one dimension, got shape {column.shape}")
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        _refuse_missing(column != column, name)  # NaN
        distinct, codes = query_codes(column)
        return distinct.tolist(), codes
    is_date = isinstance(column, np.ndarray) and column.dtype.kind in "mM"
    return _hashed(list(column) if is_date or isinstance(column, list) else column.tolist(), name)


def shown(name: Any) -> str:
    """Return a name as messages show it."""
    return repr(name.item() if hasattr(name, "item") else name)


def _listed(values: Any, name: str) -> list[Any] | NDArray[Any]:
    if isinstance(values, _NO_COLUMN) or not isinstance(values, Iterable):
        raise PairrankError(f"{name} must hold one name per comparison, got {values!r}")
    return np.asarray(values) if hasattr(values, "__array__") else list(values)


def _hashed(names: list[Any], name: str) -> tuple[list[Any], Codes]:
    try:
        distinct = list(dict.fromkeys(names))
    except TypeError:
        row = next(row for row, each in enumerate(names) if not is_hashable(each))
        raise PairrankError(f"{name} in row {row} is not hashable: {names[row]!r}") from None
    code_of = {each: code for code, each in enumerate(distinct)}
    codes = np.fromiter(map(code_of.__getitem__, names), dtype=np.int32, count=len(names))
    missing = [code for code, each in enumerate(distinct) if is_missing(each)]
    _refuse_missing(np.isin(codes, missing), name)
    return [each.item() if isinstance(each, _PLAIN) else each for each in distinct], codes


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


def _refuse_missing(missing: NDArray[np.bool_], name: str) -> None:
    if missing.any():
        row = int(missing.argmax())
        raise PairrankError(f"{name} is missing in row {row}; name the item, or drop the row")
