"""Scores by label: the distribution of the scores of each level."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray

MOST_LEVELS = 12
N_BANDS = 8
"""The number of bands into which more levels than `MOST_LEVELS` are merged."""

N_BINS = 32


class Level(NamedTuple):
    """The scores of the rows of a label; `shares` is the share of them in each of `N_BINS` bins."""

    label: str
    n_rows: int
    mean: float
    low: float
    median: float
    high: float
    shares: FloatArray


class Levels(NamedTuple):
    """All levels, lowest label first; bins go from `low` to `high`.

    `n_left_out` is the number of levels that are not shown; `is_centred` says whether scores are
    less the mean of their query.
    """

    levels: list[Level]
    low: float
    high: float
    n_left_out: int
    is_centred: bool


def score_levels(y: NDArray[Any], scores: FloatArray, query_of: NDArray[Any] | None) -> Levels:
    """Return the distribution of the scores of each label; O(n_rows log n_rows).

    With queries the scores are less the mean of their query, because only rows of one query are
    compared. Numbers of many levels are merged into bands of about equal size.
    """
    if query_of is not None:
        sizes = np.bincount(query_of)
        scores = scores - (np.bincount(query_of, scores) / np.maximum(sizes, 1))[query_of]
    names, codes, n_left_out = _bands(y)
    low, high = _range(scores)
    edges = np.linspace(low, high, N_BINS + 1)
    found = []
    for code, name in enumerate(names):
        own = scores[codes == code]
        shares = np.histogram(np.clip(own, low, high), edges)[0] / own.size
        tenth, median, ninth = map(float, np.quantile(own, [0.1, 0.5, 0.9]))
        found.append(Level(name, own.size, float(own.mean()), tenth, median, ninth, shares))
    return Levels(found, low, high, n_left_out, query_of is not None)


def _bands(y: NDArray[Any]) -> tuple[list[str], NDArray[Any], int]:
    """Return the names of levels or bands, that of each row, and the number of levels left out."""
    labels, codes = np.unique(y, return_inverse=True)
    is_number = labels.dtype.kind in "fiu"
    if labels.size <= MOST_LEVELS:
        return [f"{label:g}" if is_number else str(label) for label in labels], codes, 0
    if not is_number:
        largest = np.sort(np.argsort(-np.bincount(codes), kind="stable")[:MOST_LEVELS])
        place = np.full(labels.size, -1)
        place[largest] = np.arange(MOST_LEVELS)
        return [str(labels[at]) for at in largest], place[codes], labels.size - MOST_LEVELS
    middle = np.cumsum(np.bincount(codes)) / codes.size
    band = np.minimum((middle * N_BANDS).astype(int), N_BANDS - 1)
    first = np.flatnonzero(np.diff(band, prepend=-1))
    last = np.append(first[1:], labels.size) - 1
    names = [
        f"{labels[a]:.4g}" if a == b else f"{labels[a]:.4g} to {labels[b]:.4g}"
        for a, b in zip(first.tolist(), last.tolist(), strict=True)
    ]
    return names, np.searchsorted(first, np.arange(labels.size), side="right")[codes] - 1, 0


def _range(scores: FloatArray) -> tuple[float, float]:
    """Return the range of all but the outermost scores, never empty."""
    low, high = np.quantile(scores, [0.005, 0.995]).tolist()
    if low == high:
        low, high = float(scores.min()), float(scores.max())
    return (low, high) if low < high else (low - 0.5, high + 0.5)
