"""Artificial ratings tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank.datasets.generators import _check_sizes, _rng

_Columns = tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]


def make_ratings(
    n_users: int = 100,
    n_items: int = 200,
    *,
    rank: int = 3,
    density: float = 0.2,
    noise: float = 0.3,
    random_state: Any = None,
) -> _Columns:
    """Make ratings from 1 to 5 as a low-rank matrix plus offsets and noise.

    The value of item v for user u is the inner product of `rank` normal numbers each, plus an
    offset of v, an offset of u and noise; the rated values are cut at their quintiles. The number
    of ratings per user is about exponential; items with higher offsets are rated more often. Every
    user rates at least 4 items.

    Parameters
    ----------
    n_users, n_items : int
        At least 4 items.
    rank : int
    density : float
        About the share of user-item pairs with a rating.
    noise : float
        Standard deviation of the noise; that of the inner products is about 1.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    user : int64 array of shape (n_ratings,)
    item : int64 array of shape (n_ratings,)
    rating : float64 array of shape (n_ratings,)
        By user, then by item.

    Raises
    ------
    PairrankError
        If a size is below 1.

    Notes
    -----
    Costs O(n_users n_items).

    Examples
    --------
    >>> user, item, rating = make_ratings(5, 20, random_state=0)
    >>> np.unique(rating)
    array([1., 2., 3., 4., 5.])
    """
    _check_sizes(n_users=n_users, n_items=n_items - 3, rank=rank)
    rng = _rng(random_state)
    tastes = rng.normal(size=(n_users, rank)) @ rng.normal(size=(n_items, rank)).T / np.sqrt(rank)
    worth = rng.normal(size=n_items)
    liking = tastes + worth + rng.normal(size=(n_users, 1)) / 2
    liking += noise * rng.normal(size=liking.shape)
    activity = rng.exponential(size=(n_users, 1))
    chance = np.minimum(1.0, density * activity * np.exp(worth - worth.max() / 4))
    draws = rng.random(liking.shape) / np.maximum(chance, 1e-300)
    least = np.partition(draws, 3, axis=1)[:, 3:4]
    user, item = np.nonzero(draws <= np.maximum(1.0, least))
    found = liking[user, item]
    edges = np.quantile(found, [0.2, 0.4, 0.6, 0.8])
    return user, item, 1.0 + np.searchsorted(edges, found)
