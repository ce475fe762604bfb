"""Covariance of a likelihood's weights: Laplace's, and sandwiches by rows or by queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from pairrank._protocols import FloatArray, LikelihoodSum, MultipleCurvature
from pairrank.design import Design
from pairrank.exceptions import PairrankError
from pairrank.preferences._codes import query_codes

KINDS = ("laplace", "rows", "queries")
MOST_FEATURES = 10_000
"""A covariance of so many features takes 800 MB."""

_BLOCK_ENTRIES = 1 << 23


def check_covariance(kind: str, n_features: int, qid: NDArray[Any] | None) -> None:
    """Raise a PairrankError where there is no such covariance, before any work."""
    if n_features > MOST_FEATURES:
        raise PairrankError(
            f"covariance={kind!r} of {n_features} features is a matrix of {n_features} x "
            f"{n_features}: leave covariance=None, or keep at most {MOST_FEATURES} features"
        )
    if kind == "queries" and (qid is None or query_codes(qid)[0].size < 2):
        raise PairrankError(
            'covariance="queries" needs rows in two queries at least: pass qid, or use "rows"'
        )


def coefficient_covariance(
    X: Any,
    pair_sum: LikelihoodSum,
    coef: FloatArray,
    *,
    kind: str,
    factor: float,
    penalty: float,
    qid: NDArray[Any] | None = None,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    r"""Return the covariance of the weights that minimise a penalised likelihood of pairs.

    With H the Hessian of penalty/2 \|w\|^2 + factor * pair sum at the weights,

    .. math:: V_{laplace} = H^{-1}, \qquad
              V = H^{-1} \Big( \sum_c (h_c - \bar h)(h_c - \bar h)^T \Big) H^{-1}

    where a cluster's h_c adds the gradients of the pairs that it takes part in: for "rows"

    .. math:: h_i = factor \sum_{(a, b) \ni i} \phi'(s_a - s_b) (x_a - x_b)

    counts a pair for each of its two rows (Hajek's projection of the sum over pairs, whose terms
    are dependent because they share rows), for "queries" once, since no pair leaves its query.
    Where rows meet few others, each pair's own part at both its rows makes standard errors by rows
    too large, by sqrt(2) where no two pairs share a row. A row of weight w counts as w rows, as
    everywhere; G queries are corrected by G/(G - 1).

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
    pair_sum : LikelihoodSum
        The loss bound to the preferences among the rows.
    coef : ndarray of shape (n_features,)
        The weights.
    kind : "laplace", "rows" or "queries"
        What is taken to be independent: pairs, rows or queries.
    factor, penalty : float
        As for the objective.
    qid : ndarray of shape (n_rows,), optional
        The queries, for "queries".
    sample_weight : ndarray of shape (n_rows,), optional
        The rows' weights, for "rows".

    Returns
    -------
    ndarray of shape (n_features, n_features)

    Raises
    ------
    PairrankError
        If the Hessian is not positive definite in float64.

    Notes
    -----
    Costs O(m d^2) for m rows of d features, 2 d pair sums, and memory for blocks of columns; "rows"
    keeps m d numbers. Columns are centred, which changes no difference of two rows.
    """
    scores = Design(X).scores(coef)
    columns = _Columns(X)
    inverse = _inverse(_hessian(columns, pair_sum.curvature(scores), factor, penalty))
    if kind == "laplace":
        return inverse
    if kind == "rows":
        weight = np.ones(columns.n_rows) if sample_weight is None else sample_weight
        pulls = _row_pulls(columns, pair_sum, scores)
        spread = _spread(pulls, weight)
    else:
        assert qid is not None
        _, codes = query_codes(qid)
        kept = codes if sample_weight is None else codes[sample_weight > 0]
        n_clusters = np.unique(kept).size
        pulls = _query_pulls(columns, pair_sum, scores, codes)
        totals = pulls.sum(axis=1)
        spread = pulls @ pulls.T - np.outer(totals, totals) / n_clusters
        spread *= n_clusters / max(n_clusters - 1, 1)
    return factor**2 * (inverse @ spread @ inverse)


class _Columns:
    """The columns of X as the rows of small float64 arrays, centred, a block at a time."""

    def __init__(self, X: Any) -> None:
        self.n_rows, self.n_features = X.shape
        self._X = X.tocsc() if sparse.issparse(X) else X
        self._step = max(1, _BLOCK_ENTRIES // max(1, self.n_rows))

    def __iter__(self) -> Iterator[tuple[slice, FloatArray]]:
        for start in range(0, self.n_features, self._step):
            yield self.block(slice(start, min(start + self._step, self.n_features)))

    def block(self, features: slice) -> tuple[slice, FloatArray]:
        """Return some columns, (n_columns, n_rows) in C order."""
        block = self._X[:, features]
        dense = block.toarray() if sparse.issparse(block) else block
        rows = np.array(dense.T, dtype=np.float64, order="C")
        rows -= rows.mean(axis=1, keepdims=True)
        return features, rows


def _hessian(
    columns: _Columns, curvature: MultipleCurvature, factor: float, penalty: float
) -> FloatArray:
    matrix = np.empty((columns.n_features, columns.n_features))
    for here, block in columns:
        bent = curvature.matmat(block)
        for there, other in columns:
            if there.start > here.start:
                break
            matrix[there, here] = other @ bent.T
            matrix[here, there] = matrix[there, here].T
    matrix = factor * 0.5 * (matrix + matrix.T)
    matrix.flat[:: columns.n_features + 1] += penalty
    return matrix


def _inverse(matrix: FloatArray) -> FloatArray:
    try:
        factor = linalg.cho_factor(matrix)
    except (linalg.LinAlgError, ValueError):
        raise PairrankError(
            "the Hessian at the weights is not positive definite in float64, so they have no "
            "covariance: raise alpha, or scale the features"
        ) from None
    inverse = linalg.cho_solve(factor, np.eye(matrix.shape[0]))
    return 0.5 * (inverse + inverse.T)


def _row_pulls(columns: _Columns, pair_sum: LikelihoodSum, scores: FloatArray) -> FloatArray:
    """Return the gradients of each row's pairs, (n_features, n_rows)."""
    pulls = np.empty((columns.n_features, columns.n_rows))
    for features, block in columns:
        pulls[features] = pair_sum.influence(scores, block)
    return pulls


def _query_pulls(
    columns: _Columns, pair_sum: LikelihoodSum, scores: FloatArray, codes: NDArray[np.int32]
) -> FloatArray:
    """Return each query's gradient, (n_features, n_queries): half of what its rows pull."""
    n_queries = int(codes.max()) + 1
    pulls = np.empty((columns.n_features, n_queries))
    for features, block in columns:
        of_rows = pair_sum.influence(scores, block)
        for place, row in zip(range(features.start, features.stop), of_rows, strict=True):
            pulls[place] = 0.5 * np.bincount(codes, row, n_queries)
    return pulls


def _spread(pulls: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the sum of squares about the mean, a pull of weight w being w equal ones."""
    totals = pulls.sum(axis=1)
    scaled = np.divide(pulls, np.sqrt(weight), out=pulls, where=weight > 0)
    return scaled @ scaled.T - np.outer(totals, totals) / weight.sum()
