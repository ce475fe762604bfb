"""Rules that cut a column into classes, among which the paper's may be."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

Numbers = NDArray[np.float64]
Labels = NDArray[np.int64]
Rule = Callable[[Numbers, int], Labels]
"""A function of a column and the number of bins to labels from 0."""

SIDES: tuple[Any, ...] = ("left", "right")
"""The bin of a value that is an edge: the lower one, or the upper one."""

QUANTILES: tuple[Any, ...] = ("linear", "lower", "higher", "hazen")
RANKS: tuple[Any, ...] = ("ordinal", "min", "max", "average", "dense")
CENTRE_STEPS = 100


def by_quantile(column: Numbers, n_bins: int, method: Any, side: Any) -> Labels:
    """Return bins of equal count, whose edges are quantiles by one of numpy's methods."""
    shares = np.arange(1, n_bins) / n_bins
    return np.searchsorted(np.quantile(column, shares, method=method), column, side=side)


def by_rank(column: Numbers, n_bins: int, method: Any) -> Labels:
    """Return bins of equal count by the ranks of values; "dense" counts distinct values."""
    ranks = rankdata(column, method)
    size = ranks.max() if method == "dense" else ranks.size
    return np.ceil(ranks * n_bins / size).astype(np.int64) - 1


def by_filling(column: Numbers, n_bins: int) -> Labels:
    """Return bins that take whole values in order until they have their share of rows."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    labels, at, filled = [], 0, 0
    for count in counts.tolist():
        labels.append(at)
        filled += count
        if filled * n_bins >= column.size:
            at, filled = min(at + 1, n_bins - 1), 0
    return np.array(labels, dtype=np.int64)[place]


def by_width(column: Numbers, n_bins: int, side: Any) -> Labels:
    """Return bins of equal width between the least and the greatest value."""
    edges = np.linspace(column.min(), column.max(), n_bins + 1)[1:-1]
    return np.searchsorted(edges, column, side=side)


def by_deviation(column: Numbers, n_bins: int) -> Labels:
    """Return bins that would have equal count if the values were normal."""
    edges = column.mean() + column.std() * norm.ppf(np.arange(1, n_bins) / n_bins)
    return np.searchsorted(edges, column)


def by_centre(column: Numbers, n_bins: int) -> Labels:
    """Return the nearest of n_bins means, from bins of equal width (k-means)."""
    labels = by_width(column, n_bins, "left")
    for _ in range(CENTRE_STEPS):
        centres = np.array([column[labels == each].mean() for each in np.unique(labels)])
        labels = np.searchsorted((centres[1:] + centres[:-1]) / 2.0, column)
    return labels


RULES: dict[str, Rule] = {
    **{
        f"{method} quantiles, an edge in the {'lower' if side == 'left' else 'upper'} bin": partial(
            by_quantile, method=method, side=side
        )
        for method in QUANTILES
        for side in SIDES
    },
    **{f"{method} ranks": partial(by_rank, method=method) for method in RANKS},
    "filled in order": by_filling,
    **{
        f"equal width, an edge in the {'lower' if side == 'left' else 'upper'} bin": partial(
            by_width, side=side
        )
        for side in SIDES
    },
    "quantiles of a normal distribution": by_deviation,
    "k-means": by_centre,
}
