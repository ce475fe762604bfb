"""Rows for fits on a Dask cluster, and their collections."""

from __future__ import annotations

import dask.array as da
import numpy as np

CHUNKS = (500, 0, 700, 40, 960, 800)


def labelled_rows():
    """Return X and the labels and queries of each case."""
    rng = np.random.default_rng(5)
    size = sum(CHUNKS)
    X = rng.normal(size=(size, 4)) + rng.normal(size=4)
    signal = X @ [1.0, -0.5, 0.25, 0.0] + rng.normal(size=size)
    y = np.digitize(signal, [-1.0, 0.0, 1.0]).astype(float)
    return X, {
        "whole": (y, np.arange(size) // 20),  # none crosses a partition
        "crossing": (y, np.arange(size) % 15),
        "one_query": (y, None),
        "real_labels": (signal, np.sort(rng.integers(0, 12, size))),
    }


def whole_rows():
    """Return few rows of whole numbers, whose sums are exact in any order."""
    rng = np.random.default_rng(0)
    return rng.integers(-9, 9, (200, 3)).astype(float), rng.integers(0, 4, 200)


def cut(array, chunks=None):
    """Return a collection of an array; 200 rows have small partitions, of which some are empty."""
    array = np.asarray(array)
    if chunks is None:
        chunks = CHUNKS if len(array) == sum(CHUNKS) else (40, 0, 90, 3, 0, 67)
    return da.from_array(array, chunks=(chunks, *array.shape[1:]))
