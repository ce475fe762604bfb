"""Approximate costs of a query, in nanoseconds: pair by pair, or by one series per query."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.pair_sums.bands import cost_of_bands
from pairrank.preferences import Levels

PAIR, ROW = (1.0, 4.5), 15.0
"""Nanoseconds per pair of logistic (without row weights) and of probit, and per row.

All costs here are means of a gradient and a Hessian product, with normal scores at eps 1e-6, on one
core of an AMD EPYC.
"""
SPANNED_ROW, SPANNED_BAND = 14.0, 300.0
"""Nanoseconds of a series per row and per band."""
EXACT = 1.3
"""The speed-up that a series needs over pairs, which are exact."""


def series_pay(levels: Levels, kind: int, pairs: FloatArray) -> NDArray[np.bool_]:
    """Return the queries that take less time by a series; `pairs`: of each query, (n_queries,)."""
    n_bands, left = cost_of_bands(levels, pairs)
    pair = PAIR[kind] if levels.weight is None else PAIR[1]
    rows = np.diff(levels.query_start)
    series = SPANNED_BAND * n_bands + SPANNED_ROW * rows + pair * left
    return np.asarray(EXACT * series < pair * pairs + ROW * rows)
