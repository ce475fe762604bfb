"""Contributions of features to scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank._protocols import FloatArray
from pairrank.plotting.subject import Subject, subject_of


class Share(NamedTuple):
    """A feature's contribution to a score."""

    name: str
    value: float


def contributions(model: Any, X: Any) -> Any:
    """Return the contribution of each feature to each row's score: its weight times its value.

    A row's contributions sum to its score, up to rounding.

    Parameters
    ----------
    model : estimator
        A fitted linear ranker, or a Pipeline or search that ends with one. Of a Pipeline the
        features are those that its ranker sees.
    X : array-like, CSR matrix or frame of shape (n_rows, n_features)

    Returns
    -------
    ndarray, or CSR matrix if X is sparse, of shape (n_rows, n_features), float64

    Raises
    ------
    PairrankError
        If the scores are not linear in the features, as with a kernel, or there are several
        targets.

    Notes
    -----
    Costs O(n_rows n_features), or O(non-zeros).

    Examples
    --------
    >>> from pairrank import RankRLS
    >>> X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]]
    >>> ranker = RankRLS().fit(X, [0, 1, 2])
    >>> bool(abs(contributions(ranker, X).sum(axis=1) - ranker.predict(X)).max() < 1e-12)
    True
    """
    subject = subject_of(model, X)
    weights = subject.ranker.linear_coef()
    if sparse.issparse(subject.X):
        return sparse.csr_matrix(subject.X.astype(np.float64).multiply(weights))
    return subject.X * weights


def largest_shares(
    subject: Subject, rows: NDArray[Any], mean: FloatArray, n_shown: int
) -> list[list[Share]]:
    """Return the largest contributions to some rows' scores, less those of `mean` features.

    `mean` is (n_features,). Costs O(rows n_features).
    """
    weights = subject.ranker.linear_coef()
    part = subject.X[rows]
    values = (part.toarray() if sparse.issparse(part) else part) - mean
    shares = values * weights
    n_shown = min(n_shown, weights.size)
    order = np.argsort(-np.abs(shares), axis=1, kind="stable")[:, :n_shown]
    return [
        [Share(subject.names[at], float(row[at])) for at in places if row[at] != 0]
        for row, places in zip(shares, order.tolist(), strict=True)
    ]
