"""Artificial rows, texts and ratings that stand in for the papers' data, and bins of targets."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from reproduction.protocols import Rows

_COMMONEST = 2.7
"""A word's probability is proportional to 1/(rank + this): the law of Zipf and Mandelbrot."""
_BLOCK_ROWS = int((1 << 22) / 88)
"""Documents whose words are drawn together, to bound memory."""


def discretize(y: Any, n_bins: int, *, by: Literal["count", "width"] = "count") -> NDArray[Any]:
    """Return the bin of each target, 0 to n_bins - 1; bins are of equal count or equal width.

    Bins are closed on the right, and equal targets share one; an empty bin's label is absent.
    """
    values = np.asarray(y, dtype=np.float64)
    if by == "width":
        edges = np.linspace(values.min(), values.max(), n_bins + 1)[1:-1]
        return np.searchsorted(edges, values, side="left")
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    twice_middle = 2 * np.cumsum(counts) - counts
    bins: NDArray[Any] = ((n_bins * twice_middle) // (2 * len(values)))[place]
    return bins


def make_randnet(n_rows: int = 1000, *, n_bins: int = 6, random_state: Any = None) -> Rows:
    """Make rows labelled by a random net of two layers (Burges et al. 2005, Section 5.1).

    50 features and all weights are uniform in [-1, 1]; 10 hidden units are tanh; the linear output
    is cut into bins. By the numbers of pairs in Raykar et al. (2007), their bins are of equal
    width, not of equal count.
    """
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-1.0, 1.0, (n_rows, 50))
    hidden = rng.uniform(-1.0, 1.0, (50, 10))
    output = rng.uniform(-1.0, 1.0, 10)
    return _binned(X, np.tanh(X @ hidden) @ output, n_bins)


def make_randpoly(n_rows: int = 1000, *, n_bins: int = 6, random_state: Any = None) -> Rows:
    """Make rows labelled by a random cubic polynomial (Burges et al. 2005, Section 5.1).

    50 features are uniform in [-1, 1]. The utility is the mean of three terms, each scaled to mean
    0 and variance 1 over the rows: a random linear one, sum_i x_i x_P(i) and
    sum_i x_i x_Q(i) x_R(i) with random permutations P, Q, R; it is cut into bins of equal width.
    """
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-1.0, 1.0, (n_rows, 50))
    first, second, third = (rng.permutation(50) for _ in range(3))
    terms = (
        X @ rng.uniform(-1.0, 1.0, 50),
        np.einsum("ij,ij->i", X, X[:, first]),
        np.einsum("ij,ij,ij->i", X, X[:, second], X[:, third]),
    )
    return _binned(X, sum((term - term.mean()) / term.std() for term in terms) / len(terms), n_bins)


def make_utility(
    n_rows: int = 1000,
    n_features: int = 20,
    *,
    nnz_per_row: int | None = None,
    noise: float = 0.1,
    n_levels: int | None = None,
    random_state: Any = None,
) -> Rows:
    """Make rows of one query with the utility X @ coef, of variance 1, plus normal noise.

    X is dense and normal, or, with `nnz_per_row`, CSR with so many entries per row, one in each of
    as many equal ranges of columns, and rows of norm 1. `n_levels` cuts the utility into levels of
    equal count.
    """
    rng = np.random.default_rng(random_state)
    X: Any
    if nnz_per_row is None:
        X = rng.standard_normal((n_rows, n_features))
    else:
        bounds = np.linspace(0, n_features, nnz_per_row + 1).astype(np.int64)
        columns = rng.integers(bounds[:-1], bounds[1:], (n_rows, nnz_per_row), dtype=np.int64)
        values = rng.standard_normal((n_rows, nnz_per_row))
        values /= np.linalg.norm(values, axis=1, keepdims=True)
        rows = np.repeat(np.arange(n_rows), nnz_per_row)
        X = _matrix(values.ravel(), rows, columns.ravel(), (n_rows, n_features))
    coef = rng.standard_normal(n_features)
    signal = X @ coef
    spread = float(signal.std()) or 1.0
    utility = signal / spread + noise * rng.standard_normal(n_rows)
    y = utility if n_levels is None else discretize(utility, n_levels).astype(np.float64)
    return Rows(X, y, None, utility)


def make_documents(
    n_rows: int = 1000, n_features: int = 47_000, *, random_state: Any = None
) -> Rows:
    """Make documents of two classes as tf-idf rows of norm 1, in one query.

    With the default columns a row has about 75 distinct terms (0.16 %) and 47 % of the rows have
    label 1, like Reuters RCV1 with its category CCAT (Airola et al. 2010). A document's length is
    log-normal with mean 88; its words follow Zipf's law, with different odds per class; 1.5 % of
    the labels are flipped. `utility` is the class before that.
    """
    rng = np.random.default_rng(random_state)
    topic = (rng.random(n_rows) < 0.47).astype(np.int64)
    spread = 0.5
    words = 88.0 * np.exp(spread * rng.standard_normal(n_rows) - spread**2 / 2)
    lengths = np.maximum(np.rint(words), 1).astype(np.int64)
    tilt = np.exp(0.3 * rng.standard_normal(n_features))
    chances = 1.0 / (np.arange(n_features) + _COMMONEST)
    columns = rng.permutation(n_features)
    blocks = []
    for first in range(0, n_rows, _BLOCK_ROWS):
        part = slice(first, first + _BLOCK_ROWS)
        rows = np.repeat(np.arange(lengths[part].size), lengths[part])
        drawn = np.empty(rows.size, dtype=np.int64)
        for one, odds in enumerate((chances / tilt, chances * tilt)):
            here = topic[part][rows] == one
            drawn[here] = _words(rng, odds, int(here.sum()))
        blocks.append(
            _matrix(np.ones(rows.size), rows, columns[drawn], (lengths[part].size, n_features))
        )
    X = sparse.vstack(blocks, format="csr")
    frequency = np.bincount(X.indices, minlength=n_features)
    rarity = np.log((1.0 + n_rows) / (1.0 + frequency)) + 1.0
    X.data[:] = (1.0 + np.log(X.data)) * rarity[X.indices]
    X.data /= np.repeat(
        np.sqrt(np.add.reduceat(np.square(X.data), X.indptr[:-1])), np.diff(X.indptr)
    )
    y = topic.astype(np.float64)
    flipped = rng.random(n_rows) < 0.015
    y[flipped] = 1.0 - y[flipped]
    return Rows(X, y, None, topic.astype(np.float64))


def make_parses(
    n_queries: int = 50, n_features: int = 195_100, *, random_state: Any = None
) -> Rows:
    """Make sentences with candidate parses: wide sparse rows in queries, real utilities.

    With the default columns rows have the width and density (0.27 %) of the parse ranking set of
    Airola et al. (2010). A query has 20 rows in the mean, with 700 features drawn by Zipf's law, of
    which the parses of a sentence share two thirds. y has noise of half the utility's deviation
    among a sentence's parses; `utility` is without noise.
    """
    rng = np.random.default_rng(random_state)
    sizes = np.maximum(rng.poisson(20.0, n_queries), 2)
    qid = np.repeat(np.arange(n_queries), sizes)
    chances = 1.0 / (np.arange(n_features) + _COMMONEST)
    columns = rng.permutation(n_features)
    shared = _words(rng, chances, n_queries * 466).reshape(n_queries, 466)[qid]
    own = _words(rng, chances, qid.size * 234).reshape(qid.size, 234)
    drawn = columns[np.hstack((shared, own))]
    rows = np.repeat(np.arange(qid.size), drawn.shape[1])
    X = normalize(_matrix(np.ones(rows.size), rows, drawn.ravel(), (qid.size, n_features)).sign())
    coef = rng.standard_normal(n_features)
    utility = X @ coef
    utility -= (np.bincount(qid, utility) / sizes)[qid]
    spread = float(utility.std()) or 1.0
    utility /= spread
    y = utility + 0.5 * rng.standard_normal(qid.size)
    return Rows(X, y, qid, utility)


def make_ratings(
    n_users: int, n_items: int, *, density: float, random_state: Any = None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """Make ratings from 1 to 5 as a matrix of rank 3 plus offsets and noise: user, item, rating.

    The values are cut at their quintiles. The number of ratings per user is about exponential;
    items with higher offsets are rated more often; every user rates at least four items. `density`
    is about the share of user-item pairs with a rating.
    """
    rng = np.random.default_rng(random_state)
    tastes = rng.normal(size=(n_users, 3)) @ rng.normal(size=(n_items, 3)).T / np.sqrt(3)
    worth = rng.normal(size=n_items)
    liking = tastes + worth + rng.normal(size=(n_users, 1)) / 2
    liking += 0.3 * rng.normal(size=liking.shape)
    activity = rng.exponential(size=(n_users, 1))
    chance = np.minimum(1.0, density * activity * np.exp(worth - worth.max() / 4))
    draws = rng.random(liking.shape) / np.maximum(chance, 1e-300)
    least = np.partition(draws, 3, axis=1)[:, 3:4]
    user, item = np.nonzero(draws <= np.maximum(1.0, least))
    found = liking[user, item]
    edges = np.quantile(found, [0.2, 0.4, 0.6, 0.8])
    return user, item, 1.0 + np.searchsorted(edges, found)


def _binned(X: Any, utility: Any, n_bins: int) -> Rows:
    y = discretize(utility, n_bins, by="width").astype(float)
    return Rows(X, y, None, utility)


def _words(rng: np.random.Generator, chances: Any, count: int) -> NDArray[Any]:
    """Return so many words, each drawn with its chance."""
    return rng.choice(chances.size, count, p=chances / chances.sum())


def _matrix(values: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> sparse.csr_array:
    """Return a matrix with the values at their places; those at one place are added."""
    places = rows.astype(np.int32), columns.astype(np.int32)
    return sparse.coo_array((values, places), shape=shape).tocsr()
