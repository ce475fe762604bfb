"""Folds for model choice: of queries (QueryKFold), of rows by label, of comparisons."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator, GroupKFold, KFold
from sklearn.utils import check_random_state

from pairrank._protocols import FloatArray
from pairrank._validation import check_choice, check_identifiers, check_number
from pairrank.exceptions import PairrankError
from pairrank.kernels import require_square
from pairrank.preferences import Pairs
from pairrank.preferences._codes import query_codes

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
LEAVE_QUERY_OUT, LEAVE_PAIR_OUT = "leave-query-out", "leave-pair-out"
"""What RankRLSCV and GreedyRankRLS leave out in closed form."""
_NO_QID = (
    "QueryKFold takes queries as qid, not as groups, and no qid reached it: call "
    "sklearn.set_config(enable_metadata_routing=True) and pass qid to the search's fit (or in "
    "params of cross_val_score); split takes it by name, as qid=..."
)


class QueryKFold(BaseCrossValidator):
    """K folds of whole queries: no query is split between training and test rows.

    With scikit-learn's metadata routing (``sklearn.set_config(enable_metadata_routing=True)``) grid
    search and cross-validation pass the `qid` of their `fit` to it.

    Parameters
    ----------
    n_splits : int
        The number of folds, at least 2 and at most as many as there are queries.
    shuffle : bool
        Take queries in random order, not in their order of appearance.
    random_state : int, RandomState or None
        Seeds the shuffling; ignored without it.

    Raises
    ------
    PairrankError
        From `split`, if no qid reaches it, lengths differ, or there are fewer queries than folds.

    Notes
    -----
    A split costs O(m) for m rows and O(n_queries log n_queries).

    Examples
    --------
    >>> folds = QueryKFold(2).split(range(5), qid=["a", "b", "a", "c", "b"])
    >>> [test.tolist() for train, test in folds]
    [[0, 1, 2, 4], [3]]
    """

    __metadata_request__split: ClassVar = {"qid": True}

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(
        self, X: Any = None, y: Any = None, groups: Any = None, qid: Any = None
    ) -> int:
        """Return the number of folds; all arguments are ignored, but grid search passes them."""
        check_number(self.n_splits, "n_splits", low=2, inclusive=True, integer=True)
        return int(self.n_splits)

    def split(self, X: Any, y: Any = None, groups: Any = None, qid: Any = None) -> Iterator[Split]:
        """Return an iterator over (training rows, test rows), both ascending.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Only its rows are counted.
        y, groups : object
            Ignored. Queries are given as `qid`, so that the rankers get them too. Indexing Pairs by
            the rows of a fold keeps the pairs inside the fold: all of them, as queries are whole.
        qid : array-like of shape (n_rows,)
            Query identifiers, any hashable values in any order.
        """
        self.get_n_splits()
        if qid is None:
            raise PairrankError(_NO_QID)
        try:
            n_rows = count_rows(X)
        except (TypeError, IndexError):
            raise PairrankError(f"X must have rows to split, got {X!r}") from None
        fold_of = self._folds(check_identifiers(qid, "qid", n_rows))
        inside = (fold_of == fold for fold in range(self.n_splits))
        return ((np.flatnonzero(~each), np.flatnonzero(each)) for each in inside)

    def _folds(self, identifiers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the fold whose test part holds each row, for checked identifiers."""
        _, codes = query_codes(identifiers)
        _, first_row = np.unique(codes, return_index=True)
        if first_row.size < self.n_splits:
            raise PairrankError(
                f"{first_row.size} queries cannot make {self.n_splits} folds: take fewer folds"
            )
        order = np.argsort(first_row)
        if self.shuffle:
            order = generator_of(self.random_state).permutation(order)
        fold_of_query = np.empty(order.size, dtype=np.int64)
        fold_of_query[order] = np.arange(order.size) * self.n_splits // order.size
        return fold_of_query[codes]


def generator_of(seed: Any) -> np.random.RandomState:
    """Return the generator of a seed; a PairrankError if it is none."""
    try:
        generator: np.random.RandomState = check_random_state(seed)
    except ValueError as error:
        raise PairrankError(f"random_state is not a seed: {error}") from None
    return generator


def splits_of(cv: Any, X: Any, y: Any, qid: Any, seed: Any) -> Iterable[Split]:
    """Return the (training rows, test rows) that `cv` stands for; `y` are labels.

    An int (None: 5) means a QueryKFold where there is a qid, else folds of rows. Splitters other
    than QueryKFold get the qid as their groups, which they may ignore. Pairs are split by
    `splits_of_pairs`.
    """
    cv = 5 if cv is None else cv
    if isinstance(cv, Integral):
        check_number(cv, "cv", low=2, inclusive=True, integer=True)
        if qid is None:
            return _folds_of_rows(y, X.shape[0], int(cv), seed)
        cv = QueryKFold(int(cv))
    return given_splits(cv, X.shape[0], "rows", qid, X, y)


def given_splits(
    cv: Any, n_rows: int, units: str, groups: NDArray[Any] | None, X: Any = None, y: Any = None
) -> list[Split]:
    """Return the checked splits of a splitter, or of an iterable of index pairs.

    `units` are "rows" or "comparisons". Without X and y a splitter gets columns of zeros.
    """
    is_text = isinstance(cv, (str, bytes, Mapping))
    is_splitter = hasattr(cv, "split") and not is_text
    if is_text or not (is_splitter or isinstance(cv, Iterable)):
        raise PairrankError(
            f"cv must be a number of folds, a splitter, or (training {units}, test {units}) pairs; "
            f"got {cv!r}"
        )
    X, y = (np.zeros((n_rows, 1)), np.zeros(n_rows)) if X is None else (X, y)
    given: dict[str, Any] = {"qid" if isinstance(cv, QueryKFold) else "groups": groups}
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
            splits = list(cv.split(X, y, **given) if is_splitter else cv)
    except ValueError as error:
        name = type(cv).__name__
        reason = f"{name} cannot split {n_rows} {units}: {error}"
        if groups is None and "groups" in str(error):
            own = ", or Pairs(..., groups=...)" if units == "comparisons" else ""
            reason = (
                f"{name} keeps groups whole, and the {units} have none: pass qid{own}, or take a "
                "number of folds as cv"
            )
        raise PairrankError(reason) from error
    if not splits:
        raise PairrankError(f"cv holds no split: give (training {units}, test {units}) pairs")
    return [_checked(split, at, n_rows, units) for at, split in enumerate(splits)]


def _checked(split: Any, at: int, n_rows: int, units: str) -> Split:
    """Return a checked split as two arrays of places."""
    try:
        train, test = (np.arange(n_rows)[np.asarray(rows)] for rows in split)
        if not (train.ndim == test.ndim == 1 and train.size and test.size):
            raise ValueError("a part is empty, or has more than one dimension")
    except (TypeError, ValueError, IndexError) as error:
        raise PairrankError(
            f"split {at} of cv is not (training {units}, test {units}) of {n_rows} {units}: {error}"
        ) from None
    return train, test


def _folds_of_rows(y: Any, n_rows: int, n_folds: int, seed: Any) -> Iterator[Split]:
    """Return folds of rows stratified by their (first) label."""
    if n_folds > n_rows:
        raise PairrankError(f"{n_rows} rows cannot make {n_folds} folds: take a smaller cv")
    seed = 0 if seed is None else seed
    labels = y if y.ndim == 1 else y[:, 0]
    order = generator_of(seed).permutation(n_rows)
    fold_of = np.empty(n_rows, dtype=np.int64)
    fold_of[order[np.argsort(labels[order], kind="stable")]] = np.arange(n_rows) % n_folds
    return ((np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(n_folds))


def count_rows(X: Any) -> int:
    """Return the number of rows of an array, a sparse matrix, a frame or a list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def matrix_part(X: Any, rows: NDArray[Any], columns: NDArray[Any] | None = None) -> Any:
    """Return some rows of an array, a CSR matrix, a frame or a list; of a kernel, some columns.

    Raises a PairrankError if columns are asked for and X is not a square matrix.
    """
    if columns is not None:
        X = X if sparse.issparse(X) else np.asarray(X)
        require_square(X)
    if hasattr(X, "iloc"):
        X = X.iloc[rows]
    elif hasattr(X, "shape"):
        X = X[rows]
    else:
        X = [X[row] for row in rows]
    return X if columns is None else X[:, columns]


def method_of(cv: Any, n_queries: int, *, small: bool, n_folds: int) -> Any:
    """Return what `cv` stands for: a way to leave out in closed form, or what makes folds.

    None is "leave-query-out" if there are two queries, else "leave-pair-out" if `small`, else
    `n_folds` folds. A PairrankError says if `cv` is an unknown word or needs more queries.
    """
    if cv is None:
        if n_queries > 1:
            return LEAVE_QUERY_OUT
        return LEAVE_PAIR_OUT if small else n_folds
    if isinstance(cv, str):
        check_choice(cv, "cv", (LEAVE_QUERY_OUT, LEAVE_PAIR_OUT))
        if cv == LEAVE_QUERY_OUT and n_queries < 2:
            raise PairrankError(
                'cv="leave-query-out" needs at least two queries, and there is one: give qid, or '
                'take cv="leave-pair-out" or a number of folds'
            )
    return cv


PairSplit = tuple[Pairs, Pairs]


def pair_folds(pairs: Pairs, n_splits: int = 5, *, random_state: Any = 0) -> Iterator[PairSplit]:
    """Return an iterator over (training comparisons, test comparisons), both over all rows.

    If the Pairs have `groups`, whole groups are dealt out, balanced by size. Otherwise single
    comparisons are: the same two rows may be compared in training and in test. If all weights are
    whole numbers, a comparison of weight w counts as w comparisons, each of which may fall into
    another fold; with other weights, every comparison stays in one piece.

    Parameters
    ----------
    pairs : Pairs
        The comparisons.
    n_splits : int
        The number of folds, at least 2 and at most the number of groups, or of comparisons.
    random_state : int, RandomState or None
        Seeds the folds.

    Returns
    -------
    iterator of (Pairs, Pairs)

    Raises
    ------
    PairrankError
        If `pairs` are no Pairs, or there are fewer groups or comparisons than folds.

    Notes
    -----
    A fold costs O(n_pairs).

    Examples
    --------
    >>> from pairrank import Pairs
    >>> votes = Pairs([0, 1, 2, 0], [1, 2, 0, 2], groups=["ann", "bob", "bob", "ann"])
    >>> sorted(test.i.tolist() for train, test in pair_folds(votes, 2))
    [[0, 0], [1, 2]]
    """
    check_number(n_splits, "n_splits", low=2, inclusive=True, integer=True)
    if not isinstance(pairs, Pairs):
        raise PairrankError(f"pairs must be Pairs (got a {type(pairs).__name__})")
    n_splits, generator = int(n_splits), generator_of(random_state)
    counts = None if pairs.groups is not None else pairs.repetitions()
    if pairs.groups is not None:
        n_units, units = query_codes(pairs.groups)[0].size, "groups"
    else:
        n_units, units = pairs.n_pairs if counts is None else int(counts.sum()), "comparisons"
    if n_units < n_splits:
        remedy = "take fewer folds" if n_units > 1 else f"more {units} are needed"
        raise PairrankError(f"{n_units} {units} cannot make {n_splits} folds: {remedy}")
    if counts is not None:
        return _thinned(pairs, counts, n_splits, generator)
    every = np.zeros(pairs.n_pairs)
    if pairs.groups is None:
        splits = KFold(n_splits, shuffle=True, random_state=generator).split(every)
    else:  # GroupKFold balances sizes; groups of one size are taken in random order
        groups = generator.permutation(n_units)[query_codes(pairs.groups)[1]]
        splits = GroupKFold(n_splits).split(every, groups=groups)
    return ((pairs.select(train), pairs.select(test)) for train, test in splits)


def splits_of_pairs(
    cv: Any, pairs: Pairs, qid: NDArray[Any] | None, seed: Any
) -> Iterable[PairSplit]:
    """Return the (training comparisons, test comparisons) that `cv` stands for.

    An int (None: 5) means `pair_folds`, or whole queries where there is a qid and no groups.
    QueryKFold keeps queries, or else groups, whole. Other splitters and index pairs are of
    comparisons; a splitter gets the groups, or else the queries, as its groups.
    """
    cv = 5 if cv is None else cv
    if isinstance(cv, Integral):
        check_number(cv, "cv", low=2, inclusive=True, integer=True)
        if pairs.groups is not None or qid is None:
            return pair_folds(pairs, int(cv), random_state=0 if seed is None else seed)
        cv = QueryKFold(int(cv))
    groups = pairs.groups
    if qid is not None and (groups is None or isinstance(cv, QueryKFold)):
        groups = qid[pairs.i]
    places = given_splits(cv, pairs.n_pairs, "comparisons", groups)
    return [(pairs.select(train), pairs.select(test)) for train, test in places]


def _thinned(
    pairs: Pairs, counts: FloatArray, n_splits: int, generator: np.random.RandomState
) -> Iterator[PairSplit]:
    """Yield folds of repeated comparisons: each repetition falls into a fold at random."""
    left = counts.astype(np.int64)
    for fold in range(n_splits):
        held = generator.binomial(left, 1.0 / (n_splits - fold))
        left = left - held
        yield pairs.reweighed(counts - held), pairs.reweighed(held)
