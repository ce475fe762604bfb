"""Tables of cells as they are pickled: without empty entries where most are empty."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray

IntArray = NDArray[np.int64]

FEW_USED = 4
"""Entries are left out where at most one in so many is used: each used one then costs its place."""


class Packed(NamedTuple):
    """The entries of a table that are not 0: their places in order, uint32, and numbers."""

    shape: tuple[int, ...]
    places: NDArray[np.uint32]
    entries: FloatArray


def pack(table: FloatArray, width: int) -> FloatArray | Packed:
    """Return a table of entries of `width` numbers, the last axis, as it is to be pickled."""
    flat = table.reshape(-1, width)
    used = np.flatnonzero(flat.any(axis=1))
    if FEW_USED * used.size > len(flat):
        return table
    return Packed(table.shape, used.astype(np.uint32), flat[used])


def unpack(packed: FloatArray | Packed) -> FloatArray:
    """Return the table that was packed."""
    if not isinstance(packed, Packed):
        return packed
    table = np.zeros(packed.shape)
    table.reshape(-1, packed.entries.shape[1])[packed.places] = packed.entries
    return table


def pack_cells(position: IntArray) -> tuple[IntArray, IntArray]:
    """Return ascending numbers of cells as the first number and the length of each run."""
    starts = np.flatnonzero(np.diff(position, prepend=position[:1] - 2) != 1)
    return position[starts], np.diff(np.append(starts, position.size))


def unpack_cells(runs: tuple[IntArray, IntArray]) -> IntArray:
    """Return the numbers of cells that were packed."""
    first, lengths = runs
    within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.asarray(np.repeat(first, lengths) + within)


def packed_state(state: dict[str, Any], tables: dict[str, int]) -> dict[str, Any]:
    """Return attributes with `position` and the named tables (with their widths) packed."""
    packed = {name: pack(state[name], width) for name, width in tables.items()}
    return {**state, **packed, "position": pack_cells(state["position"])}


def unpacked_state(state: dict[str, Any], tables: dict[str, int]) -> dict[str, Any]:
    """Return the attributes that were packed."""
    whole = {name: unpack(state[name]) for name in tables}
    return {**state, **whole, "position": unpack_cells(state["position"])}
