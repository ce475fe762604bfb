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
        return _sorted_codes(y.astype(np.float64, copy=False))
    labels, inverse = np.unique(y, return_inverse=True)
    return labels, inverse.astype(np.int32)


def _sorted_codes(y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    from pairrank.compiled.sorting import scratch, sort_segments

    ordered, rows = np.empty(y.size), np.empty(y.size, dtype=np.int32)
    everything = np.array([[0, y.size]])
    in_order = np.arange(y.size, dtype=np.int32)
    sort_segments(y, in_order, everything, ordered, rows, *scratch(y.size))
    rises = np.empty(y.size, dtype=bool)
    rises[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=rises[1:])
    codes = in_order
    codes[rows] = np.cumsum(rises, dtype=np.int32) - 1
    return ordered[rises], codes


def query_codes(qid: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distinct query identifiers and each row's code, in order of appearance or sorted.

    O(m) where equal identifiers stand together, are whole numbers of a span of a few times m, or
    are objects; else O(m log m).
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
        if qid.dtype.kind in "iu" and int(distinct[-1]) - int(distinct[0]) < 4 * qid.size:
            places = distinct.astype(np.int64) - distinct[:1].astype(np.int64)
            codes = np.zeros(int(places[-1]) + 1, dtype=np.int32)
            codes[places] = np.arange(distinct.size, dtype=np.int32)
            return distinct, codes[qid.astype(np.int64) - distinct[:1].astype(np.int64)]
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
