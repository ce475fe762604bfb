"""Folds for model choice: whole queries (QueryKFold), or rows dealt out by label."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator, KFold, check_cv
from sklearn.utils import check_random_state

from pairrank._validation import check_choice, check_number, check_query_ids
from pairrank.exceptions import PairrankError
from pairrank.preferences import Pairs
from pairrank.preferences._codes import query_codes

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
LEAVE_QUERY_OUT, LEAVE_PAIR_OUT = "leave-query-out", "leave-pair-out"
"""What RankRLSCV and GreedyRankRLS leave out in closed form."""


class QueryKFold(BaseCrossValidator):
    """K folds of whole queries: no query is split between training and test rows.

    Queries are given as `qid`, as for the rankers. With scikit-learn's metadata routing
    (``sklearn.set_config(enable_metadata_routing=True)``) grid search and cross-validation pass
    the `qid` of their `fit` to it.

    Parameters
    ----------
    n_splits : int
        Folds, at least 2 and at most as many as there are queries.
    shuffle : bool
        Take queries in random order, not in their order of appearance.
    random_state : int, RandomState or None
        Seeds the shuffling; ignored without it.
    stratify_by_size : bool
        Balance the rows of the folds: each gets as many large and small queries as the others.

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
        stratify_by_size: bool = False,
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        self.stratify_by_size = stratify_by_size

    def get_n_splits(
        self, X: Any = None, y: Any = None, groups: Any = None, qid: Any = None
    ) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups, qid : object
            Ignored; grid search passes them.

        Returns
        -------
        int
        """
        return int(self.n_splits)

    def split(self, X: Any, y: Any = None, groups: Any = None, qid: Any = None) -> Iterator[Split]:
        """Return an iterator over (training rows, test rows), both ascending.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Only its rows are counted.
        y : array-like of shape (n_rows,) or Pairs, optional
            Ignored. Indexing Pairs by the rows of a fold keeps the pairs inside the fold.
        groups : object
            Ignored: queries come as `qid`, so that the rankers get them too.
        qid : array-like of shape (n_rows,)
            Query identifiers, any hashable values in any order.

        Returns
        -------
        iterator of (ndarray of int, ndarray of int)
        """
        check_number(self.n_splits, "n_splits", low=2, inclusive=True, integer=True)
        identifiers = check_query_ids(qid)
        if identifiers is None:
            raise PairrankError(_no_qid(groups))
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if identifiers.size != n_rows:
            raise PairrankError(f"qid has {identifiers.size} entries for {n_rows} rows of X")
        fold_of = self._fold_of_rows(identifiers)
        return self._iterate(fold_of)

    def _iterate(self, fold_of: NDArray[np.int64]) -> Iterator[Split]:
        for fold in range(self.n_splits):
            inside = fold_of == fold
            yield np.flatnonzero(~inside), np.flatnonzero(inside)

    def _fold_of_rows(self, identifiers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the fold whose test part holds each row."""
        _, codes = query_codes(identifiers)
        _, first_row, sizes = np.unique(codes, return_index=True, return_counts=True)
        if sizes.size < self.n_splits:
            raise PairrankError(
                f"{sizes.size} queries cannot make {self.n_splits} folds: take fewer n_splits"
            )
        order = np.argsort(first_row)
        if self.shuffle:
            order = check_random_state(self.random_state).permutation(order)
        fold_of_query = np.empty(sizes.size, dtype=np.int64)
        if self.stratify_by_size:
            order = order[np.argsort(-sizes[order], kind="stable")]
            there_and_back = np.r_[0 : self.n_splits, self.n_splits - 1 : -1 : -1]
            fold_of_query[order] = np.resize(there_and_back, sizes.size)
        else:
            fold_of_query[order] = np.arange(sizes.size) * self.n_splits // sizes.size
        return fold_of_query[codes]


def _no_qid(groups: Any) -> str:
    remedy = (
        "call sklearn.set_config(enable_metadata_routing=True) and pass qid to the search's fit "
        "(or in params of cross_val_score); split takes it by name, as qid=..."
    )
    if groups is not None:
        return f"QueryKFold takes queries as qid, not as groups: {remedy}"
    return f"no qid reached QueryKFold: {remedy}"


def splits_of(cv: Any, X: Any, y: Any, qid: Any, seed: Any) -> Iterable[Split]:
    """Return the (training rows, test rows) that `cv` stands for.

    An int (None: 5) means a QueryKFold where there is a qid, else folds of rows. Splitters other
    than QueryKFold get the qid as their groups, which they may ignore.
    """
    cv = 5 if cv is None else cv
    if isinstance(cv, Integral):
        if qid is None:
            return _folds_of_rows(y, X.shape[0], int(cv), seed)
        cv = QueryKFold(int(cv))
    if isinstance(cv, QueryKFold):
        return cv.split(X, y, qid=qid)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
        return list(check_cv(cv).split(X, y, qid))


def _folds_of_rows(y: Any, n_rows: int, n_folds: int, seed: Any) -> Iterator[Split]:
    """Deal rows out in the order of their (first) labels, equal ones at random; Pairs by KFold."""
    check_number(n_folds, "cv", low=2, inclusive=True, integer=True)
    if n_folds > n_rows:
        raise PairrankError(f"{n_rows} rows cannot make {n_folds} folds: take a smaller cv")
    seed = 0 if seed is None else seed
    if isinstance(y, Pairs):
        return KFold(n_folds, shuffle=True, random_state=seed).split(y)
    labels = y if y.ndim == 1 else y[:, 0]
    order = check_random_state(seed).permutation(n_rows)
    fold_of = np.empty(n_rows, dtype=np.int64)
    fold_of[order[np.argsort(labels[order], kind="stable")]] = np.arange(n_rows) % n_folds
    return ((np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(n_folds))


def check_left_out(cv: str, n_queries: int) -> None:
    """Raise a PairrankError where `cv` names nothing that can be left out."""
    check_choice(cv, "cv", (LEAVE_QUERY_OUT, LEAVE_PAIR_OUT))
    if cv == LEAVE_QUERY_OUT and n_queries < 2:
        raise PairrankError(
            'cv="leave-query-out" needs at least two queries, and there is one: give qid, or take '
            'cv="leave-pair-out" or a number of folds'
        )
