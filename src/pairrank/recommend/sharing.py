"""SharedFeatures: reference rows, and the kernel between them, computed once for many users."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning

from pairrank.kernels import Kernel
from pairrank.recommend.references import References

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_MOST_ITEMS = 8192
"""The inner products of so many items take half a gigabyte."""


class SharedFeatures:
    """One ranker's view of the references, from which it is fitted to user after user.

    A ranker with the kernel "rbf" or "poly" on every row (and gamma a number or None) is fitted on
    kernel values, as its "precomputed": both kernels need inner products of rows only. Where the
    users ask for more products than the items have, those of all items are computed once.
    Any other estimator gets the rows.

    Parameters
    ----------
    references : References
    ranker : estimator
        Anything with `fit(X, y)` and `predict(X)` that scikit-learn can clone.
    n_products : int
        How many inner products of rows all users together need.

    Notes
    -----
    Beyond the references it holds 8 n_items^2 bytes where products are shared.
    """

    def __init__(self, references: References, ranker: Any, n_products: int = 0) -> None:
        self.references = references
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
        """Return the ranker fitted to a user's ratings, and whether it converged.

        Regressors get ratings less their mean, and need no intercept; rankers get them as they are,
        as the labels that an order graph may name.

        Parameters
        ----------
        user : int
            Their own ratings are no features.
        items : int64 array of shape (n_rows,)
        ratings : ndarray of shape (n_rows,)

        Returns
        -------
        fitted estimator, bool

        Raises
        ------
        NoPairsError
            By rankers of pairrank, where all ratings are equal.
        """
        X = self._between(user, items, items)
        ranker = clone(self.ranker)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", ConvergenceWarning)
            ranker.fit(X, ratings - ratings.mean() if self.centred else ratings)
        slow = False
        for warning in told:
            if issubclass(warning.category, ConvergenceWarning):
                slow = True
            else:
                warnings.warn(warning.message, stacklevel=2)
        return ranker, not slow

    def scores(self, fitted: Any, user: int, trained: IntArray, items: IntArray) -> FloatArray:
        """Return a fitted ranker's scores of items for a user; of most items as of all.

        Parameters
        ----------
        fitted : estimator
            What `fit` returned for this user,
        user : int
        trained : int64 array
            and these items.
        items : int64 array of shape (n_rows,)

        Returns
        -------
        ndarray of shape (n_rows,), float64
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

        "rbf" sees differences only, which are of rows less `centre`: no digit goes to an offset.
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
            squares, other_squares = (
                squares - column[items] ** 2,
                other_squares - column[others] ** 2,
            )
            width -= 1
        return products, squares, other_squares, width


def _inner_products(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Return inner products, each of which depends on its two rows alone, to the bit."""
    from pairrank.compiled import products

    values = np.empty((len(rows), len(others)))
    products.multiply(np.ascontiguousarray(rows), np.ascontiguousarray(others.T), values)
    return values


def _shared_kernel(ranker: Any) -> Kernel | None:
    """Return a kernel where the ranker can as well be given its values, checked."""
    params = ranker.get_params(deep=False)
    name, gamma = params.get("kernel"), params.get("gamma")
    every_row = params.get("kernel_features", "exact") in ("auto", "exact")
    if name not in ("rbf", "poly") or isinstance(gamma, str) or not every_row:
        return None
    return Kernel(name, gamma, params.get("degree", 3), params.get("coef0", 1.0))
