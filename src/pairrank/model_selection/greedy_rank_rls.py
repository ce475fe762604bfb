"""GreedyRankRLS: forward selection of features by RankRLS's leave-out error."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from numbers import Integral, Real
from os import PathLike
from typing import Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank._protocols import Features
from pairrank.estimators._base import Seed
from pairrank.estimators._docstrings import of_rows, ranker
from pairrank.estimators._targets import TargetsMixin
from pairrank.estimators.rank_rls import RankRLS
from pairrank.exceptions import PairrankError, ZeroWeightsWarning
from pairrank.metrics._inputs import RowArguments, takes_rows
from pairrank.model_selection.rls_equations import CentredRows, Comparisons, least_squares
from pairrank.model_selection.rls_greedy import BlocksLeftOut, PairsLeftOut
from pairrank.model_selection.splits import (
    LEAVE_PAIR_OUT,
    LEAVE_QUERY_OUT,
    method_of,
    splits_of,
)
from pairrank.preferences import Pairs

LeftOut = BlocksLeftOut | PairsLeftOut
_SMALL = 200
_EQUAL = 1e-12


@ranker
class GreedyRankRLS(SelectorMixin, TargetsMixin):
    r"""RankRLS on few features, chosen one by one by its error on what is left out.

    Starting from none, the feature is added whose addition gives the least squared error

    .. math:: \sum_q \frac1{2 n_q} \sum_{i, j \in q} w_i w_j
              \bigl((y_i - y_j) - (s_i - s_j)\bigr)^2

    where the scores s of a query are learnt from all other queries, with the features so far. With
    folds of rows, q runs over the part of each query in each fold; with pairs, every pair has
    scores of its own. No ranker is fitted: the error of each candidate has a closed form, in
    O(rows).

    Parameters
    ----------
    n_features_to_select : int, float or None, default None
        The number of features, or the share of them; None: as long as the error falls.
    alpha : float, default 1.0
        RankRLS's.
    cv : None, "leave-query-out", "leave-pair-out", int, splitter or iterable of splits
        What is left out in turn: each query (of `Pairs` with groups, each group); every two rows of
        a single query, which costs O(rows) times as much (of `Pairs`, each comparison, which does
        not); or folds, as in `RankSVMCV`, with each row in one of them. None is "leave-query-out"
        if there are two queries or groups; else "leave-pair-out" for Pairs and up to 200 rows, and
        10 folds of rows beyond.
    random_state : int, RandomState or None, default None
        Seeds folds; None is a fixed seed.

    Attributes
    ----------
    support_ : ndarray of bool, shape (n_features,)
        Which features were chosen.
    selected_ : ndarray of int, shape (n_features_to_select_,)
        The chosen features, in the order of choice; the lowest of equals comes first.
    errors_ : ndarray of shape (n_features_to_select_ + 1,)
        The error above with 0, 1, ... features, divided by the total weight of the rows (of Pairs,
        of the comparisons).
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        RankRLS's weights on the chosen features, 0 for all others.
    n_features_to_select_ : int
    cv_ : object
        The way to leave rows out that `cv` stands for.

    Notes
    -----
    Choosing k of n features of m rows costs O(k m n); if pairs of rows are left out, O(k m^2 n).
    Memory is 16 bytes per entry of X, also for sparse X, because centred rows are dense. Several
    targets share the features, chosen by the sum of their errors. Scale features to similar size
    first.

    References
    ----------
    T. Pahikkala, A. Airola, P. Naula and T. Salakoski, "Greedy RankRLS: a linear time algorithm for
    learning sparse ranking models", SIGIR workshop on feature generation and selection, 2010.

    Examples
    --------
    >>> X = [[0, 5, 1], [1, 3, 2], [2, 4, 3], [0, 0, 2], [1, 2, 1], [3, 1, 0]]
    >>> chosen = GreedyRankRLS(1).fit(X, [0, 1, 2, 0, 1, 3], qid=[1, 1, 1, 2, 2, 2])
    >>> chosen.selected_, chosen.transform(X).ravel()
    (array([0]), array([0, 1, 2, 0, 1, 3]))
    """

    n_features_to_select: int | float | None = None
    _strength = "alpha"
    alpha: float = 1.0
    _: KW_ONLY
    cv: Any = None
    random_state: Seed = None

    @of_rows
    @takes_rows("")
    def fit(
        self,
        X: Features,
        y: ArrayLike | Pairs | None = None,
        **rows_by_name: Unpack[RowArguments],
    ) -> Self:
        """Choose the features.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        winner_weight, loser_weight : None
            Refused: in a difference no row wins or loses.

        Returns
        -------
        self
        """
        validation.check_number(self.alpha, "alpha")
        rows = self._check_rows(X, y, rows_by_name)
        wanted = self._wanted(rows.X.shape[1])
        problem = least_squares(rows)
        self.cv_ = self._method(problem)
        one_query = problem.query_start.size == 2
        with np.errstate(over="ignore", invalid="ignore"):
            left_out = self._left_out(problem, (rows.X, rows.y, None if one_query else rows.qid))
            self._choose(left_out, wanted, float(np.square(problem.root).sum()))
        chosen = np.flatnonzero(self.support_)
        with warnings.catch_warnings(action="ignore", category=ZeroWeightsWarning):
            found = RankRLS(self.alpha, solver="direct")
            found.fit(rows.X[:, chosen], rows.y, **rows.layout)
        self.coef_ = np.zeros((*found.coef_.shape[:-1], self.n_features_in_))
        self.coef_[..., chosen] = found.coef_
        self.n_pairs_ = found.n_pairs_
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write the RankRLS with these weights to a model file; see `load_model`."""
        check_is_fitted(self)
        fitted = RankRLS(self.alpha)
        names = "coef_", "n_pairs_", "n_features_in_", "feature_names_in_"
        fitted.__dict__.update({name: vars(self)[name] for name in names if hasattr(self, name)})
        fitted.save(path)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _wanted(self, n_features: int) -> int | None:
        wanted = self.n_features_to_select
        if wanted is None:
            return None
        if isinstance(wanted, Real) and not isinstance(wanted, bool):
            if isinstance(wanted, Integral) and 1 <= wanted <= n_features:
                return int(wanted)
            if 0 < wanted < 1:
                return max(1, int(wanted * n_features))
        raise PairrankError(
            f"n_features_to_select must be from 1 to the {n_features} features of X, a share "
            f"between 0 and 1, or None, got {wanted!r}"
        )

    def _method(self, problem: CentredRows | Comparisons) -> Any:
        """Return what `cv` stands for; an error if that cannot be left out."""
        n_equations, n_queries = problem.root.size, problem.query_start.size - 1
        of_pairs = isinstance(problem, Comparisons)
        if n_equations < 2:
            raise PairrankError(
                "there is 1 comparison of positive weight, so nothing is left to learn from "
                "without it: give more"
            )
        method = method_of(self.cv, n_queries, small=of_pairs or n_equations <= _SMALL, n_folds=10)
        if of_pairs and not isinstance(method, str):
            raise PairrankError(
                'Pairs are left out by cv="leave-pair-out" or "leave-query-out", not in folds: '
                f"got cv={self.cv!r}"
            )
        if method == LEAVE_PAIR_OUT and n_queries > 1 and not of_pairs:
            raise PairrankError(
                f'cv="leave-pair-out" is for rows of one query, and there are {n_queries}: take '
                'cv="leave-query-out"'
            )
        return method

    def _left_out(self, problem: CentredRows | Comparisons, rows: tuple[Any, ...]) -> LeftOut:
        """Return the errors that features are chosen by; `rows` are X, y and qid."""
        alpha = float(self.alpha)
        if self.cv_ == LEAVE_QUERY_OUT:
            block_of = problem.query_of
        elif not isinstance(problem, CentredRows):
            block_of = np.arange(problem.root.size)
        elif self.cv_ == LEAVE_PAIR_OUT:
            return PairsLeftOut(problem, alpha)
        else:
            block_of = self._folds(*rows)[problem.row_of]
        return BlocksLeftOut(problem, alpha, block_of)

    def _folds(self, X: Any, y: Any, qid: NDArray[Any] | None) -> NDArray[np.int64]:
        """Return the fold of each row."""
        fold_of = np.full(X.shape[0], -1)
        for fold, (train, test) in enumerate(splits_of(self.cv_, X, y, qid, self.random_state)):
            again, rest = fold_of[test] >= 0, np.ones(X.shape[0], dtype=bool)
            rest[test] = False
            if again.any() or not np.array_equal(np.sort(train), np.flatnonzero(rest)):
                raise PairrankError(
                    f"fold {fold} of cv does not fit the others: every row must be left out once, "
                    "and be a training row of all other folds"
                )
            fold_of[test] = fold
        if (fold_of < 0).any():
            raise PairrankError(f"row {int(fold_of.argmin())} is in no test part of cv")
        return fold_of

    def _choose(self, left_out: LeftOut, wanted: int | None, weight: float) -> None:
        n_features = self.n_features_in_
        self.support_ = np.zeros(n_features, dtype=bool)
        selected: list[int] = []
        errors = [left_out.error]
        while len(selected) < (n_features if wanted is None else wanted):
            candidates = np.where(self.support_, np.inf, left_out.errors())
            least = candidates.min()
            if not np.isfinite(least):
                raise PairrankError("products of features overflow: scale X and y down")
            if wanted is None and selected and least >= errors[-1] * (1 - _EQUAL):
                break
            feature = int(np.flatnonzero(candidates <= least + _EQUAL * errors[0])[0])
            left_out.add(feature)
            self.support_[feature] = True
            selected.append(feature)
            errors.append(left_out.error)
        self.selected_, self.errors_ = np.array(selected), np.array(errors) / weight
        self.n_features_to_select_ = len(selected)
