"""Artificial judged queries, for examples and trials."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pairrank._protocols import Array
from pairrank._validation import check_number
from pairrank.exceptions import PairrankError


class Generated(NamedTuple):
    """Artificial rows.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of float64, shape (n_rows,)
    qid : ndarray of int64, shape (n_rows,)
    utility : ndarray of float64, shape (n_rows,)
        The utility that y was made from, noise included.
    coef : ndarray of float64, shape (n_features,)
        Weights of the utility without noise.
    """

    X: Array
    y: Array
    qid: Array
    utility: Array
    coef: Array


def _rng(random_state: Any) -> np.random.Generator:
    """Return a generator; a RandomState gives its seed."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    return np.random.default_rng(random_state)


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        check_number(size, name, low=1, inclusive=True, integer=True)


def make_queries(
    n_queries: int = 100,
    rows_per_query: Any = 20,
    n_features: int = 20,
    n_levels: int = 5,
    *,
    noise: float = 1.0,
    latent: int | None = None,
    condition: float = 1e4,
    dtype: Any = np.float64,
    random_state: Any = None,
) -> Generated:
    """Make judged documents: rows in queries, with a few levels.

    The utility is X @ coef, of variance 1, plus normal noise; level l holds a share proportional to
    2^-l of all rows.

    Parameters
    ----------
    n_queries : int
    rows_per_query : int, (low, high) or array of shape (n_queries,)
        One size for all queries, a uniform size from low to high (both included), or the size of
        each query. A tuple of two numbers is (low, high); pass an array for sizes of two queries.
    n_features, n_levels : int
    noise : float
        Standard deviation of the noise.
    latent : int, optional
        Number of latent factors that correlate the features (25 is like LETOR's 136 features).
        None: independent features.
    condition : float
        Condition number of the features' covariance with latent factors.
    dtype : float64 or float32
        Of X.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Generated
        Rows of a query are contiguous, `qid` counts from 0.

    Raises
    ------
    PairrankError
        If a size is below 1, there are more factors than features, or the condition is at most 1.

    Notes
    -----
    O(n_rows n_features latent).

    Examples
    --------
    >>> data = make_queries(3, (2, 4), n_features=5, random_state=0)
    >>> data.X.shape[1], len(set(data.qid.tolist()))
    (5, 3)
    """
    _check_sizes(n_queries=n_queries, n_features=n_features, n_levels=n_levels)
    rng = _rng(random_state)
    sizes = _query_sizes(rng, n_queries, rows_per_query)
    n_rows = int(sizes.sum())
    kind = np.float32 if np.dtype(dtype) == np.float32 else np.float64
    X = _features(rng, n_rows, n_features, latent, condition, kind)
    coef = rng.standard_normal(n_features)
    signal = np.asarray(X @ coef.astype(X.dtype), dtype=np.float64)
    spread = float(signal.std()) or 1.0
    utility = signal / spread + noise * rng.standard_normal(n_rows)
    shares = 0.5 ** np.arange(n_levels)
    bounds = np.quantile(utility, np.cumsum(shares / shares.sum())[:-1])
    y = np.searchsorted(bounds, utility).astype(np.float64)
    return Generated(X, y, np.repeat(np.arange(n_queries), sizes), utility, coef / spread)


def _query_sizes(rng: np.random.Generator, n_queries: int, rows_per_query: Any) -> Array:
    if isinstance(rows_per_query, tuple) and len(rows_per_query) == 2:
        low, high = rows_per_query
        _check_sizes(rows_per_query=low)
        if high < low:
            raise PairrankError(f"rows_per_query is ({low}, {high}); give the lower number first")
        return rng.integers(low, high, n_queries, endpoint=True)
    given = np.asarray(rows_per_query, dtype=np.int64)
    if given.ndim > 1 or given.size not in (1, n_queries):
        raise PairrankError(f"rows_per_query has {given.size} sizes for {n_queries} queries")
    sizes = np.broadcast_to(given.ravel(), (n_queries,))
    _check_sizes(rows_per_query=int(sizes.min()))
    return sizes


def _features(
    rng: np.random.Generator,
    n_rows: int,
    n_features: int,
    latent: int | None,
    condition: float,
    kind: Any,
) -> Array:
    """Return normal features of mean variance 1; with factors, F S Q' + sigma E.

    The eigenvalues of the covariance Q S^2 Q' + sigma^2 I decrease geometrically from 1 + sigma^2
    over the factors; the others are sigma^2.
    """
    X = rng.standard_normal((n_rows, n_features), dtype=kind)
    if latent is None:
        return X
    if not 1 <= latent <= n_features:
        raise PairrankError(f"latent must be from 1 to n_features = {n_features} (got {latent})")
    if condition <= 1:
        raise PairrankError(f"condition must be greater than 1 (got {condition})")
    floor = 1.0 / (condition - 1.0)
    axes, _ = np.linalg.qr(rng.standard_normal((n_features, latent)))
    strengths = np.geomspace(1.0, 1.0 / np.sqrt(condition), latent)
    scale = np.sqrt(n_features / (strengths.sum() + n_features * floor))
    loadings = (axes * (np.sqrt(strengths) * scale)).T.astype(kind)
    X *= kind(np.sqrt(floor) * scale)
    X += rng.standard_normal((n_rows, latent), dtype=kind) @ loadings
    return X
