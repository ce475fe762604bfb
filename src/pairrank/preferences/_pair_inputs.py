"""Checked input of Pairs: row numbers, numbers and groups per comparison, queries of both ends."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairrank import _validation as validation
from pairrank.exceptions import PairrankError
from pairrank.preferences._codes import query_codes

FloatArray = NDArray[np.float64]


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


def as_index(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return row numbers as integers, (n_pairs,)."""
    index = validation.as_array(values, name)
    if index.ndim != 1:
        raise PairrankError(f"{name} must have one dimension, got shape {index.shape}")
    if index.dtype.kind in "iu":
        return index.astype(np.int64) if index.dtype == np.uint64 else index
    if index.dtype.kind == "O":
        index = validation.as_float_array(index, name)
    whole = index.dtype.kind == "f" and (np.abs(index) < 2**31).all() and (index % 1 == 0).all()
    if index.size and not whole:
        raise PairrankError(f"{name} must hold row numbers (whole numbers from 0)")
    return index.astype(np.int64)


def as_groups(values: Any, size: int) -> NDArray[Any]:
    """Return one identifier per comparison, of any hashable kind."""
    groups = validation.check_identifiers(values, "groups")
    if groups.size != size:
        raise PairrankError(f"groups has {groups.size} entries, but there are {size} pairs")
    return groups


def as_numbers(values: ArrayLike | None, name: str, size: int) -> FloatArray | None:
    """Return one finite number per comparison, (n_pairs,), or None."""
    if values is None:
        return None
    numbers = validation.as_float_array(values, name)
    if numbers.shape != (size,):
        raise PairrankError(f"{name} has shape {numbers.shape}, but there are {size} pairs")
    if not np.isfinite(numbers).all():
        at = int((~np.isfinite(numbers)).argmax())
        raise PairrankError(f"{name}[{at}] = {numbers[at]} is not finite")
    return numbers
