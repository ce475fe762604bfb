"""Artificial data: the two functions of Burges et al., judged queries, real utilities."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from pairrank._validation import check_number
from pairrank.datasets.discretize import discretize
from pairrank.exceptions import PairrankError


class Generated(NamedTuple):
    """Artificial rows.

    Attributes
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
    y : ndarray of float64, shape (n_rows,)
    qid : ndarray of int64, shape (n_rows,), or None
    utility : ndarray of float64, shape (n_rows,)
        The utility that y was made from, noise included.
    coef : ndarray of float64, shape (n_features,), or None
        Weights of the utility without noise, if it is linear.
    """

    X: np.ndarray[Any, Any] | sparse.csr_array
    y: np.ndarray[Any, Any]
    qid: np.ndarray[Any, Any] | None
    utility: np.ndarray[Any, Any]
    coef: np.ndarray[Any, Any] | None


def _rng(random_state: Any) -> np.random.Generator:
    """Return a generator; a RandomState gives its seed."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31)
    return np.random.default_rng(random_state)


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        check_number(size, name, low=1, inclusive=True, integer=True)


def _kind(dtype: Any) -> Any:
    """Return the class of X's numbers: float32 if asked for, else float64."""
    return np.float32 if np.dtype(dtype) == np.float32 else np.float64


def _binned(X: Any, utility: Any, n_bins: int, by: Literal["count", "width"]) -> Generated:
    y = discretize(utility, n_bins, by=by).astype(float)
    return Generated(X, y, None, utility, None)


def _noisy_utility(rng: np.random.Generator, X: Any, noise: float) -> tuple[Any, Any]:
    """Return a utility X coef of variance 1, plus noise, and coef."""
    coef = rng.standard_normal(X.shape[1])
    signal = np.asarray(X @ coef.astype(X.dtype), dtype=np.float64)
    spread = float(signal.std()) or 1.0
    return signal / spread + noise * rng.standard_normal(X.shape[0]), coef / spread


def make_randnet(
    n_rows: int = 1000,
    *,
    n_features: int = 50,
    n_hidden: int = 10,
    n_bins: int = 6,
    by: Literal["count", "width"] = "width",
    random_state: Any = None,
) -> Generated:
    """Make rows labelled by a random net of two layers (Burges et al. 2005, Section 5.1).

    Features and all weights are uniform in [-1, 1]. The hidden units are tanh; the linear output is
    cut into `n_bins` bins. Raykar et al. (2007) use 1,000 and 5,000 rows; by their numbers of
    pairs, their bins are of equal width, not of equal count.

    Parameters
    ----------
    n_rows, n_features : int
        Shape of X.
    n_hidden : int
        Hidden units.
    n_bins : int
        Labels run from 0 to n_bins - 1.
    by : {"width", "count"}
        Bins of equal width or of equal count, see `discretize`.
    random_state : int, Generator or None
        The seed; None draws anew.

    Returns
    -------
    Generated
        `coef` is None.

    Notes
    -----
    O(n_rows n_features n_hidden).

    Examples
    --------
    >>> data = make_randnet(100, random_state=0)
    >>> data.X.shape, sorted(set(data.y.tolist()))
    ((100, 50), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    """
    _check_sizes(n_rows=n_rows, n_features=n_features, n_hidden=n_hidden)
    rng = _rng(random_state)
    X = rng.uniform(-1.0, 1.0, (n_rows, n_features))
    hidden = rng.uniform(-1.0, 1.0, (n_features, n_hidden))
    output = rng.uniform(-1.0, 1.0, n_hidden)
    utility = np.tanh(X @ hidden) @ output
    return _binned(X, utility, n_bins, by)


def make_randpoly(
    n_rows: int = 1000,
    *,
    n_features: int = 50,
    n_bins: int = 6,
    by: Literal["count", "width"] = "width",
    random_state: Any = None,
) -> Generated:
    """Make rows labelled by a random cubic polynomial (Burges et al. 2005, Section 5.1).

    Features are uniform in [-1, 1]. The utility is the mean of three terms, each scaled to mean 0
    and variance 1 over the rows: a random linear one, sum_i x_i x_P(i) and sum_i x_i x_Q(i) x_R(i)
    with random permutations P, Q, R; it is cut into `n_bins` bins.

    Parameters
    ----------
    n_rows, n_features : int
        Shape of X.
    n_bins : int
        Labels run from 0 to n_bins - 1.
    by : {"width", "count"}
        Bins of equal width or of equal count, see `discretize`.
    random_state : int, Generator or None
        The seed; None draws anew.

    Returns
    -------
    Generated
        `coef` is None.

    Notes
    -----
    O(n_rows n_features).

    Examples
    --------
    >>> make_randpoly(100, random_state=0).X.shape
    (100, 50)
    """
    _check_sizes(n_features=n_features)
    check_number(n_rows, "n_rows", low=2, inclusive=True, integer=True)
    rng = _rng(random_state)
    X = rng.uniform(-1.0, 1.0, (n_rows, n_features))
    first, second, third = (rng.permutation(n_features) for _ in range(3))
    terms = (
        X @ rng.uniform(-1.0, 1.0, n_features),
        np.einsum("ij,ij->i", X, X[:, first]),
        np.einsum("ij,ij,ij->i", X, X[:, second], X[:, third]),
    )
    utility = sum((term - term.mean()) / term.std() for term in terms) / len(terms)
    return _binned(X, utility, n_bins, by)


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
    X = _features(rng, n_rows, n_features, latent, condition, _kind(dtype))
    utility, coef = _noisy_utility(rng, X, noise)
    shares = 0.5 ** np.arange(n_levels)
    bounds = np.quantile(utility, np.cumsum(shares / shares.sum())[:-1])
    y = np.searchsorted(bounds, utility).astype(np.float64)
    return Generated(X, y, np.repeat(np.arange(n_queries), sizes), utility, coef)


def _query_sizes(
    rng: np.random.Generator, n_queries: int, rows_per_query: Any
) -> np.ndarray[Any, Any]:
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
) -> np.ndarray[Any, Any]:
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


def make_utility(
    n_rows: int = 1000,
    n_features: int = 20,
    *,
    nnz_per_row: int | None = None,
    noise: float = 0.1,
    n_levels: int | None = None,
    dtype: Any = np.float64,
    random_state: Any = None,
) -> Generated:
    """Make rows of real utilities in one query, dense or sparse.

    The utility is X @ coef, of variance 1, plus normal noise.

    Parameters
    ----------
    n_rows, n_features : int
    nnz_per_row : int, optional
        Make X CSR with this many entries in every row, one in each of as many equal ranges of
        columns, and rows of norm 1. None: dense X of independent normal features.
    noise : float
        Standard deviation of the noise.
    n_levels : int, optional
        Cut the utility into this many levels of equal count. None: y is the utility.
    dtype : float64 or float32
        Of X.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Generated
        `qid` is None.

    Raises
    ------
    PairrankError
        If a size is below 1, or there are more entries per row than columns.

    Notes
    -----
    O(entries of X).

    Examples
    --------
    >>> data = make_utility(10, 100, nnz_per_row=5, random_state=0)
    >>> data.X.nnz, len(set(data.y.tolist()))
    (50, 10)
    """
    _check_sizes(n_rows=n_rows, n_features=n_features)
    rng = _rng(random_state)
    X: Any
    if nnz_per_row is None:
        X = rng.standard_normal((n_rows, n_features), dtype=_kind(dtype))
    else:
        X = _sparse_rows(rng, n_rows, n_features, nnz_per_row, _kind(dtype))
    utility, coef = _noisy_utility(rng, X, noise)
    y = utility if n_levels is None else discretize(utility, n_levels).astype(np.float64)
    return Generated(X, y, None, utility, coef)


def _sparse_rows(
    rng: np.random.Generator, n_rows: int, n_features: int, nnz: int, kind: Any
) -> sparse.csr_array:
    if not 1 <= nnz <= n_features:
        raise PairrankError(f"nnz_per_row must be from 1 to n_features = {n_features} (got {nnz})")
    bounds = np.linspace(0, n_features, nnz + 1).astype(np.int64)
    columns = rng.integers(bounds[:-1], bounds[1:], (n_rows, nnz), dtype=np.int64)
    values = rng.standard_normal((n_rows, nnz), dtype=kind)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    indptr = np.arange(0, n_rows * nnz + 1, nnz)
    return _csr(values.ravel(), columns.ravel(), indptr, n_features)


def _csr(values: Any, columns: Any, indptr: Any, n_columns: int) -> sparse.csr_array:
    """Return a CSR matrix with the smallest integers that can number its entries."""
    integer = np.int32 if values.size <= np.iinfo(np.int32).max else np.int64
    parts = (values, columns.astype(integer), indptr.astype(integer))
    return sparse.csr_array(parts, shape=(indptr.size - 1, n_columns))
