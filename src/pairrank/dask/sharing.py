"""What the tasks of a pass share, and what each block gets of it: arrays travel once."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Parcel:
    """A pickled value of one block, whose arrays are its own or those of many blocks."""

    head: bytes
    own: list[Bytes | None]
    """The arrays in the order of the pickle; None: the next one of `common`."""
    common: list[int]
    """The places of the others among the arrays that blocks share."""


def parcels_of(of_block: Callable[[int], Any], n_blocks: int) -> tuple[list[Bytes], list[Parcel]]:
    """Return the arrays that several blocks share, and the parcel of each block.

    Arrays are the same if they are at the same place in memory.
    """
    values = [of_block(index) for index in range(n_blocks)]
    pickled = [_pickled(value) for value in values]
    uses = Counter(_place(array) for _, arrays in pickled for array in arrays)
    known: dict[Any, int] = {}
    common: list[Bytes] = []
    parcels = []
    for head, arrays in pickled:
        own: list[Bytes | None] = []
        places = []
        for array in arrays:
            place = _place(array)
            if uses[place] == 1:
                own.append(array)
                continue
            if place not in known:
                known[place] = len(common)
                common.append(array)
            own.append(None)
            places.append(known[place])
        parcels.append(Parcel(head, own, places))
    return common, parcels


def opened(parcel: Parcel, common: list[Bytes]) -> Any:
    """Return the value of a parcel."""
    shared = iter(parcel.common)
    arrays = [common[next(shared)] if own is None else own for own in parcel.own]
    return pickle.loads(parcel.head, buffers=arrays)


def pickled_bytes(value: Any) -> int:
    """Return how many bytes travel when a value is sent."""
    head, arrays = _pickled(value)
    return len(head) + sum(array.nbytes for array in arrays)


def _pickled(value: Any) -> tuple[bytes, list[Bytes]]:
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return head, [np.frombuffer(buffer.raw(), dtype=np.uint8) for buffer in buffers]


def _place(array: Bytes) -> tuple[int, int]:
    return int(array.ctypes.data), array.nbytes
