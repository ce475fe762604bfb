"""QueryKFold: folds of whole queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from pairrank._validation import check_identifiers, check_number
from pairrank.exceptions import PairrankError
from pairrank.preferences._codes import query_codes

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


class QueryKFold(BaseCrossValidator):
    """K folds of whole queries: no query is torn between training and test rows.

    It takes queries by `qid`, as the rankers do. Under scikit-learn's metadata routing
    (``sklearn.set_config(enable_metadata_routing=True)``) grid search and cross-validation hand
    the `qid` of their `fit` on to it by themselves.

    Parameters
    ----------
    n_splits : int
        Folds, at least 2 and at most as many as there are queries.
    shuffle : bool
        Deal queries out in random order, not in their order of appearance.
    random_state : int, RandomState or None
        Seeds the shuffling; not used without it.
    stratify_by_size : bool
        Give every fold as many large and small queries as the others, so that their rows balance.

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
            Not used; grid search passes them.

        Returns
        -------
        int
        """
        check_number(self.n_splits, "n_splits", low=2, inclusive=True, integer=True)
        return int(self.n_splits)

    def split(self, X: Any, y: Any = None, groups: Any = None, qid: Any = None) -> Iterator[Split]:
        """Return an iterator over (training rows, test rows), both ascending.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Only its rows are counted.
        y : array-like of shape (n_rows,) or Pairs, optional
            Not used. Of Pairs, indexing by a fold's rows keeps the pairs inside the fold.
        groups : object
            Not used: queries come as `qid`, so that the rankers learn of them too.
        qid : array-like of shape (n_rows,)
            Query identifiers, any hashable values in any order.

        Returns
        -------
        iterator of (ndarray of int, ndarray of int)
        """
        self.get_n_splits()
        if qid is None:
            raise PairrankError(_no_qid(groups))
        try:
            n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        except (TypeError, IndexError):
            raise PairrankError(f"X must have rows to split, got {X!r}") from None
        return self._iterate(self._fold_of_rows(check_identifiers(qid, "qid", n_rows)))

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
            try:
                generator = check_random_state(self.random_state)
            except ValueError as error:
                raise PairrankError(f"random_state is not a seed: {error}") from None
            order = generator.permutation(order)
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
