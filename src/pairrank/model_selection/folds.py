"""Folds for model choice: of queries where there are some, else of rows dealt out by label."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

from pairrank._validation import check_number
from pairrank.exceptions import PairrankError
from pairrank.model_selection.splits import QueryKFold, Split
from pairrank.preferences import Pairs


def splits_of(cv: Any, X: Any, y: Any, qid: Any, seed: Any) -> Iterable[Split]:
    """Return the (training rows, test rows) that `cv` stands for.

    An int (None: 5) means a QueryKFold where there is a qid, else folds of rows; splitters other
    than QueryKFold get the qid as their groups, of which they may make nothing.
    """
    cv = 5 if cv is None else cv
    if isinstance(cv, Integral):
        check_number(cv, "cv", low=2, inclusive=True, integer=True)
        if qid is None:
            return _folds_of_rows(y, X.shape[0], int(cv), seed)
        cv = QueryKFold(int(cv))
    if isinstance(cv, QueryKFold):
        return cv.split(X, y, qid=qid)
    is_text = isinstance(cv, (str, bytes))
    is_splitter = hasattr(cv, "split") and not is_text
    if is_text or isinstance(cv, Mapping) or not (is_splitter or isinstance(cv, Iterable)):
        raise PairrankError(
            f"cv must be a number of folds, a splitter, or (training rows, test rows) pairs; got "
            f"{cv!r}"
        )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The groups parameter is ignored", UserWarning)
        splits = list(cv.split(X, y, qid) if is_splitter else cv)
    if not splits:
        raise PairrankError("cv holds no split: give (training rows, test rows) pairs")
    return [_checked(split, at, X.shape[0]) for at, split in enumerate(splits)]


def _checked(split: Any, at: int, n_rows: int) -> Split:
    """Return a split as two arrays of row numbers, or say what is wrong with it."""
    try:
        train, test = (np.arange(n_rows)[np.asarray(rows)] for rows in split)
    except (TypeError, ValueError, IndexError) as error:
        raise PairrankError(
            f"split {at} of cv is not (training rows, test rows) of {n_rows} rows: {error}"
        ) from None
    for rows, name in ((train, "training"), (test, "test")):
        if rows.ndim != 1 or not rows.size:
            raise PairrankError(f"split {at} of cv has no {name} rows in one dimension")
    return train, test


def _folds_of_rows(y: Any, n_rows: int, n_folds: int, seed: Any) -> Iterator[Split]:
    """Deal rows out in the order of their (first) labels, equal ones at random; Pairs by KFold."""
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
