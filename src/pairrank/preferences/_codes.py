"""Labels and query identifiers to dense integer codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank.exceptions import PairrankError

_SMALL_SPAN = 1 << 16


def level_codes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the sorted distinct labels and each row's level, 0 = lowest.

    O(m) for whole numbers of small span, else O(m log m).
    """
    if y.dtype.kind in "biuf" and y.size:
        low, high = float(y.min()), float(y.max())
        if high - low < min(_SMALL_SPAN, max(1024, y.size)) and (y == np.rint(y)).all():
            offsets = (y - y.dtype.type(low)).astype(np.int32) if low else y.astype(np.int32)
            present = np.bincount(offsets) > 0
            codes = np.cumsum(present, dtype=np.int32) - 1
            labels = np.flatnonzero(present) + low
            return labels.astype(np.float64), codes[offsets] if not present.all() else offsets
    labels, inverse = np.unique(y, return_inverse=True)
    return labels, inverse.astype(np.int32)


def query_codes(qid: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distinct query identifiers and each row's code, in order of appearance or sorted.

    O(m) where equal identifiers stand together or are not numbers, else O(m log m).
    """
    if qid.dtype == object:
        return _hashed_codes(qid)
    if qid.size and qid.dtype.kind in "biufUSmM":
        starts = np.flatnonzero(np.concatenate(([True], qid[1:] != qid[:-1])))
        heads = qid[starts]
        distinct = np.unique(heads)
        if distinct.size == heads.size:
            lengths = np.diff(np.append(starts, qid.size))
            return heads, np.repeat(np.arange(heads.size, dtype=np.int32), lengths)
    distinct, inverse = np.unique(qid, return_inverse=True)
    return distinct, inverse.astype(np.int32)


def _hashed_codes(qid: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    known: dict[Any, int] = {}
    codes = np.empty(qid.size, dtype=np.int32)
    for row, identifier in enumerate(qid):
        if identifier is None or identifier != identifier:
            raise PairrankError(f"qid is missing in row {row}; give every row its query")
        try:
            codes[row] = known.setdefault(identifier, len(known))
        except TypeError:
            raise PairrankError(f"qid in row {row} is not hashable: {identifier!r}") from None
    distinct = np.empty(len(known), dtype=object)
    distinct[:] = list(known)
    return distinct, codes
