"""SharedFeatures: reference rows, and the kernel between them, computed once for many users."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.kernels import Kernel
from pairrank.recommend.references import References
from pairrank.recommend.table import IntArray

_MOST_ITEMS = 8192
"""The inner products of this many items take half a gigabyte."""


class SharedFeatures:
    """The features of one ranker, from which it is fitted to one user after another.

    A ranker with kernel "rbf" or "poly" on every row (gamma a number or None) is fitted on kernel
    values, as "precomputed", because both kernels need inner products of rows only. If all users
    together need more products (`n_products`) than there are between all items, these are computed
    once and take 8 n_items^2 bytes. Any other estimator with `fit(X, y)` and `predict(X)` that
    scikit-learn can clone is fitted on the rows.
    """

    def __init__(self, references: References, ranker: Any, n_products: int = 0) -> None:
        if np.isnan(references.matrix).any() and not get_tags(ranker).input_tags.allow_nan:
            raise PairrankError(
                f'impute="missing" leaves gaps, which a {type(ranker).__name__} does not take: use '
                'RankBoost, or another impute such as "median"'
            )
        self.references = references
        self.given = ranker
        self.ranker = clone(ranker)
        self.centred = is_regressor(ranker)
        self.kernel = _shared_kernel(ranker)
        self.products: FloatArray | None = None
        self.centre = 0.0
        if self.kernel is None:
            return
        self.ranker.set_params(kernel="precomputed")
        if self.kernel.function == "rbf":
            self.centre = float(references.matrix.mean())
        n_items = references.matrix.shape[0]
        if n_items <= _MOST_ITEMS and n_products > n_items * n_items // 2:
            centred = references.matrix - self.centre
            self.products = _inner_products(centred, centred)

    def fit(self, user: int, items: IntArray, ratings: FloatArray) -> tuple[Any, bool]:
        """Return the ranker fitted to a user's ratings of items, and whether it converged.

        Regressors get ratings minus their mean, and need no intercept. Rankers get the ratings
        unchanged, because an order graph may name them. If all ratings are equal, rankers that need
        a preference raise a NoPairsError.
        """
        X = self._between(user, items, items)
        ranker = clone(self.ranker)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            ranker.fit(X, ratings - ratings.mean() if self.centred else ratings)
        slow = False
        for warning in caught:
            if issubclass(warning.category, ConvergenceWarning):
                slow = True
            else:
                warnings.warn(warning.message, stacklevel=2)
        return ranker, not slow

    def scores(self, fitted: Any, user: int, trained: IntArray, items: IntArray) -> FloatArray:
        """Return the scores of items for a user, by the ranker that `fit` returned for `trained`.

        If most items are wanted, all are scored.
        """
        matrix = self.references.matrix
        most = 2 * items.size > len(matrix)
        if most and self.kernel is None and self.references.column_of(user) is None:
            return np.asarray(fitted.predict(matrix), dtype=np.float64)[items]
        return np.asarray(fitted.predict(self._between(user, items, trained)), dtype=np.float64)

    def _between(self, user: int, items: IntArray, others: IntArray) -> FloatArray:
        """Return the rows of items, or their kernel values with others."""
        if self.kernel is None:
            return self.references.rows(items, user=user)
        products, squares, other_squares, width = self._products(user, items, others)
        gamma: Any = 1.0 / width if self.kernel.gamma is None else self.kernel.gamma
        if self.kernel.function == "poly":
            return (gamma * products + self.kernel.coef0) ** self.kernel.degree
        products *= 2.0 * gamma
        products -= gamma * squares[:, None]
        products -= gamma * other_squares
        np.minimum(products, 0.0, out=products)
        return np.exp(products, out=products)

    def _products(
        self, user: int, items: IntArray, others: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, int]:
        """Return inner products of rows, their squares, and how many features they have.

        "rbf" depends on differences only, so `centre` is subtracted from rows: an offset would cost
        digits.
        """
        own = self.references.column_of(user)
        if self.products is None or (own is not None and self.references.draws is not None):
            rows = self.references.rows(items, user=user) - self.centre
            if others is items:
                products = _inner_products(rows, rows)
                squares = products.diagonal().copy()
                return products, squares, squares, rows.shape[1]
            columns = self.references.rows(others, user=user) - self.centre
            squares, other_squares = (np.einsum("ij,ij->i", each, each) for each in (rows, columns))
            return _inner_products(rows, columns), squares, other_squares, rows.shape[1]
        products = self.products[np.ix_(items, others)]
        squares = self.products[items, items]
        other_squares = self.products[others, others]
        width = self.references.users.size
        if own is not None:
            column = self.references.matrix[:, own] - self.centre
            products -= np.outer(column[items], column[others])
            squares = squares - column[items] ** 2
            other_squares = other_squares - column[others] ** 2
            width -= 1
        return products, squares, other_squares, width


def _inner_products(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Return inner products; each depends on its two rows only, to the bit."""
    from pairrank.compiled import products

    values = np.empty((len(rows), len(others)))
    products.multiply(np.ascontiguousarray(rows), np.ascontiguousarray(others.T), values)
    return values


def _shared_kernel(ranker: Any) -> Kernel | None:
    """Return the ranker's kernel, checked, where kernel values can replace the rows; else None."""
    params = ranker.get_params(deep=False)
    name, gamma = params.get("kernel"), params.get("gamma")
    every_row = params.get("kernel_features", "exact") in ("auto", "exact")
    if name not in ("rbf", "poly") or isinstance(gamma, str) or not every_row:
        return None
    return Kernel(name, gamma, params.get("degree", 3), params.get("coef0", 1.0))
