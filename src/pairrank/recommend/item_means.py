"""ItemMeans: how highly an item is rated, whoever rates it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from pairrank._protocols import FloatArray
from pairrank.recommend.table import IntArray, RatingsTable

_PRIOR = 5.0
"""An item's mean is shrunk as if so many users had also rated it as they rate on average."""


@dataclass(frozen=True)
class ItemMeans:
    """The mean of each item's ratings, each less its user's mean; create one with `build`.

    Attributes
    ----------
    table : RatingsTable
    sums : float64 array of shape (n_items,)
        The sums of the item's ratings, each less its user's mean.
    counts : float64 array of shape (n_items,)
        The number of its ratings.
    """

    table: RatingsTable
    sums: FloatArray
    counts: FloatArray

    @classmethod
    def build(cls, table: RatingsTable) -> Self:
        """Return the means of a table's items; costs O(n_ratings)."""
        means = np.add.reduceat(table.rating, table.start[:-1]) / table.counts
        centred = table.rating - np.repeat(means, table.counts)
        sums, counts = (
            np.bincount(table.item, weights, minlength=table.n_items).astype(np.float64)
            for weights in (centred, np.ones(table.n_ratings))
        )
        return cls(table, sums, counts)

    def of(self, user: int, items: IntArray) -> FloatArray:
        """Return the means of items over all users but one, (n_items,), shrunk towards 0."""
        own, ratings = self.table.items_of(user), self.table.ratings_of(user)
        sums, counts = self.sums.copy(), self.counts.copy()
        sums[own] -= ratings - ratings.mean()
        counts[own] -= 1.0
        sums[counts == 0.0] = 0.0
        return (sums / (counts + _PRIOR))[items]
