"""Artificial sparse rows like text: documents of two classes, and parses of sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pairrank._validation import check_number
from pairrank.datasets.generators import Generated, _check_sizes, _csr, _rng
from pairrank.exceptions import PairrankError

_BLOCK_WORDS = 1 << 22
_COMMONEST = 2.7
"""A word's probability is proportional to 1/(rank + this): the law of Zipf and Mandelbrot."""


def make_documents(
    n_rows: int = 1000,
    n_features: int = 47_000,
    *,
    words_per_row: float = 88.0,
    contrast: float = 0.6,
    noise: float = 0.015,
    dtype: Any = np.float64,
    random_state: Any = None,
) -> Generated:
    """Make documents of two classes as tf-idf rows of norm 1, in one query.

    With the defaults a row has about 75 distinct terms of 47,000 (0.16 %), and 47 % of the rows
    have label 1, like the Reuters RCV1 collection with its category CCAT (Airola et al. 2010). A
    document's length is log-normal; its words follow Zipf's law, with different odds per class.

    Parameters
    ----------
    n_rows, n_features : int
    words_per_row : float
        Mean number of words in a document, repeated words included.
    contrast : float
        Standard deviation of the logarithm of a word's odds between the classes.
    noise : float
        Share of the labels that are flipped.
    dtype : float64 or float32
        Of X.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Generated
        y is 0 or 1; `qid` and `coef` are None; `utility` is the class before the noise.

    Raises
    ------
    PairrankError
        If a size or `words_per_row` is below 1, or noise is outside 0 to 1.

    Notes
    -----
    O(words log words) time, O(entries of X) memory.

    Examples
    --------
    >>> data = make_documents(50, 200, random_state=0)
    >>> data.X.shape, sorted(set(data.y.tolist()))
    ((50, 200), [0.0, 1.0])
    """
    _check_sizes(n_rows=n_rows, n_features=n_features)
    check_number(words_per_row, "words_per_row", low=1, inclusive=True)
    if not 0.0 <= noise <= 1.0:
        raise PairrankError(f"noise must be from 0 to 1 (got {noise})")
    rng = _rng(random_state)
    topic = (rng.random(n_rows) < 0.47).astype(np.int64)
    lengths = _lengths(rng, n_rows, words_per_row)
    tilt = np.exp(0.5 * contrast * rng.standard_normal(n_features))
    chances = _word_chances(n_features)
    columns = rng.permutation(n_features)
    by_topic = [_cumulated(chances / tilt), _cumulated(chances * tilt)]
    step = max(1, int(_BLOCK_WORDS / words_per_row))
    blocks = []
    for start in range(0, n_rows, step):
        rows = slice(start, min(start + step, n_rows))
        blocks.append(_counts(rng, lengths[rows], topic[rows], by_topic, columns, np.dtype(dtype)))
    X = sparse.vstack(blocks, format="csr") if len(blocks) > 1 else blocks[0]
    _weigh_by_rarity(X)
    y = topic.astype(np.float64)
    flipped = rng.random(n_rows) < noise
    y[flipped] = 1.0 - y[flipped]
    return Generated(X, y, None, topic.astype(np.float64), None)


def make_parses(
    n_queries: int = 50,
    n_features: int = 195_100,
    *,
    parses_per_query: float = 20.0,
    features_per_row: int = 700,
    noise: float = 0.5,
    random_state: Any = None,
) -> Generated:
    """Make sentences with candidate parses: wide sparse rows in queries, real utilities.

    With the defaults rows have the width and density (0.27 %) of the parse ranking set of Airola et
    al. (2010). The parses of a sentence share two thirds of their features. All features follow
    Zipf's law.

    Parameters
    ----------
    n_queries, n_features : int
    parses_per_query : float
        Mean number of rows per query (Poisson, at least 2).
    features_per_row : int
        Draws per row; a feature drawn twice counts once.
    noise : float
        Standard deviation of the noise, against 1 of the utility among a sentence's parses.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Generated
        y is the utility with noise, `utility` the one without.

    Raises
    ------
    PairrankError
        If a size is below 1.

    Notes
    -----
    O(entries of X log entries).

    Examples
    --------
    >>> data = make_parses(4, 1000, parses_per_query=5, features_per_row=30, random_state=0)
    >>> data.X.shape[1], len(set(data.qid.tolist()))
    (1000, 4)
    """
    _check_sizes(n_queries=n_queries, n_features=n_features, features_per_row=features_per_row)
    rng = _rng(random_state)
    sizes = np.maximum(rng.poisson(parses_per_query, n_queries), 2)
    qid = np.repeat(np.arange(n_queries), sizes)
    n_shared = 2 * features_per_row // 3
    cumulated = _cumulated(_word_chances(n_features))
    columns = rng.permutation(n_features)
    shared = _draw(rng, cumulated, (n_queries, n_shared))[qid]
    own = _draw(rng, cumulated, (qid.size, features_per_row - n_shared))
    drawn = columns[np.hstack((shared, own))]
    rows = np.repeat(np.arange(qid.size), features_per_row)
    key = np.unique(rows * np.int64(n_features) + drawn.ravel())
    X = _from_keys(key, np.ones(key.size), qid.size, n_features)
    _scale_rows(X)
    coef = rng.standard_normal(n_features)
    utility = X @ coef
    utility -= (np.bincount(qid, utility) / sizes)[qid]
    spread = float(utility.std()) or 1.0
    utility /= spread
    y = utility + noise * rng.standard_normal(qid.size)
    return Generated(X, y, qid, utility, coef / spread)


def _lengths(rng: np.random.Generator, n_rows: int, mean: float) -> np.ndarray:
    spread = 0.5
    lengths = mean * np.exp(spread * rng.standard_normal(n_rows) - spread**2 / 2)
    return np.maximum(np.rint(lengths), 1).astype(np.int64)


def _word_chances(n_words: int) -> np.ndarray:
    return 1.0 / (np.arange(n_words) + _COMMONEST)


def _cumulated(chances: np.ndarray) -> np.ndarray:
    cumulated = np.cumsum(chances)
    return np.asarray(cumulated / cumulated[-1])


def _draw(rng: np.random.Generator, cumulated: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    drawn = np.searchsorted(cumulated, rng.random(shape[0] * shape[1]), side="right")
    return np.minimum(drawn, cumulated.size - 1).reshape(shape)


def _counts(
    rng: np.random.Generator,
    lengths: np.ndarray,
    topic: np.ndarray,
    by_topic: list[np.ndarray],
    columns: np.ndarray,
    dtype: np.dtype,
) -> sparse.csr_array:
    """Return the count of each word in each document of a block."""
    rows = np.repeat(np.arange(lengths.size), lengths)
    words = np.empty(rows.size, dtype=np.int64)
    for one, cumulated in enumerate(by_topic):
        here = topic[rows] == one
        words[here] = _draw(rng, cumulated, (int(here.sum()), 1)).ravel()
    key, counts = np.unique(rows * np.int64(columns.size) + columns[words], return_counts=True)
    return _from_keys(key, counts.astype(dtype), lengths.size, columns.size)


def _from_keys(key: Any, values: Any, n_rows: int, n_columns: int) -> sparse.csr_array:
    """Return the matrix with entries at the ascending keys row * n_columns + column."""
    rows, columns = np.divmod(key, n_columns)
    return _csr(values, columns, np.searchsorted(rows, np.arange(n_rows + 1)), n_columns)


def _weigh_by_rarity(X: sparse.csr_array) -> None:
    """Turn counts into (1 + log tf) log(n/df), with rows of norm 1, in place."""
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    rarity = np.log((1.0 + X.shape[0]) / (1.0 + frequency)) + 1.0
    X.data[:] = (1.0 + np.log(X.data)) * rarity[X.indices].astype(X.dtype)
    _scale_rows(X)


def _scale_rows(X: sparse.csr_array) -> None:
    norms = np.sqrt(np.add.reduceat(np.square(X.data, dtype=np.float64), X.indptr[:-1]))
    X.data /= np.repeat(norms, np.diff(X.indptr)).astype(X.dtype)
