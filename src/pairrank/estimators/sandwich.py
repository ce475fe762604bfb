"""Covariances of weights from a Hessian and score contributions: clusters, dyads, contrasts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.linalg import lapack

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError

FLAT = 1e-10
"""The curvature of a direction, relative to that of its features, that counts as none."""

_DENSE = 0.03
"""The share of entries from which a dense product is faster than a sparse one."""

_DETERMINED = 1e-6
"""The share of a contrast that may lie in flat directions: the rounding of a basis of them."""


def flat_directions(
    hessian: FloatArray, *, scale: FloatArray | None = None, tol: float = FLAT
) -> FloatArray:
    """Return an orthonormal basis, (n_flat, d), of the directions without curvature in a Hessian.

    The Hessian is that of the pair sum alone, without the penalty. A direction is flat if its
    curvature is at most `tol`, relative to `scale` or else to the diagonal. For a weight per player
    the flat directions are spanned by the indicators of connected components. Costs O(d^3).
    """
    if not np.isfinite(hessian).all():
        raise PairrankError("the Hessian is not finite, so weights have no covariance")
    size = hessian.shape[0]
    scale = hessian.diagonal() if scale is None else scale
    unit = np.sqrt(np.where(scale > 0, scale, 1.0))
    factor, pivots, rank, _ = lapack.dpstrf(hessian / np.outer(unit, unit), tol=tol, lower=1)
    if rank == size:
        return np.empty((0, size))
    basis = np.zeros((size, size - rank))
    order = pivots - 1
    basis[order[:rank]] = -linalg.solve_triangular(
        factor[:rank, :rank], factor[rank:, :rank].T, lower=True, trans="T"
    )
    basis[order[rank:]] = np.eye(size - rank)
    return np.ascontiguousarray(linalg.qr(basis / unit[:, None], mode="economic")[0].T)


def inverse_hessian(hessian: FloatArray, flat: FloatArray | None = None) -> FloatArray:
    """Return the inverse of a Hessian on the directions that are not flat; 0 on those that are.

    It is Z (Z' hessian Z)^-1 Z', the columns of Z a basis of the directions orthogonal to the rows
    of `flat`. Raises a PairrankError if the Hessian is not positive definite there, in float64.
    """
    matrix = hessian
    if flat is not None and len(flat):
        stiffness = float(hessian.diagonal().mean()) or 1.0
        matrix = without_flat(hessian, flat) + stiffness * (flat.T @ flat)
    inverse = _inverse(matrix)
    return inverse if flat is None else without_flat(inverse, flat)


def _inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a positive definite matrix, exactly symmetric; d^3 multiplications."""
    failed = int(not np.isfinite(matrix).all())
    if not failed:
        result, failed = lapack.dpotrf(matrix, lower=1, clean=1)
    if not failed:
        result, failed = lapack.dpotri(result, lower=1, overwrite_c=1)
    if failed:
        raise PairrankError(
            "the Hessian at the weights is not positive definite in float64, so they have no "
            "covariance: raise alpha, or scale the features"
        )
    result += np.tril(result, -1).T
    return np.asarray(result, dtype=np.float64)


def without_flat(matrix: FloatArray, flat: FloatArray) -> FloatArray:
    """Return P matrix P, P the orthogonal projection that removes the flat directions."""
    if not len(flat):
        return matrix
    half = matrix - (matrix @ flat.T) @ flat
    return np.asarray(half - flat.T @ (flat @ half), dtype=np.float64)


def sandwich(inverse: FloatArray, scatter: FloatArray) -> FloatArray:
    """Return inverse @ scatter @ inverse, exactly symmetric."""
    product = inverse @ scatter @ inverse
    return np.asarray(0.5 * (product + product.T), dtype=np.float64)


def cluster_scatter(
    gradients: Any, clusters: NDArray[np.integer[Any]], *, weight: FloatArray | None = None
) -> FloatArray:
    r"""Return the scatter of the clusters' gradients, the middle of a cluster-robust sandwich.

    .. math:: \frac{G}{G - 1} \Big( \sum_c g_c g_c^T / n_c - t t^T / G \Big), \qquad
              g_c = \sum_{k \in c} g_k, \quad t = \sum_c g_c, \quad G = \sum_c n_c

    `gradients`, (n, d), are those of each comparison's loss by the weights, times its weight, and
    `clusters` their clusters, numbered from 0; both halves of a tie are in one. Cluster c stands
    for `weight` n_c equal clusters. Costs O(n d + n_clusters d^2), less for sparse gradients.
    """
    n_clusters = int(clusters.max(initial=-1)) + 1 if weight is None else weight.size
    return scatter_of_totals([totals_of(gradients, clusters, n_clusters)], weight)


def scatter_of_totals(blocks: Iterable[Any], weight: FloatArray | None = None) -> FloatArray:
    """Return the scatter of `cluster_scatter` from the gradients of whole clusters.

    `blocks` are successive rows of the array or sparse matrix of the clusters' gradients,
    (n_clusters, d), so that it need not be in memory as a whole.
    """
    spread: Any = 0.0
    total: Any = 0.0
    n_clusters = 0
    for block in blocks:
        size, rows = block.shape[0], block
        total += np.asarray(block.sum(axis=0)).ravel()
        if weight is not None:
            part = weight[n_clusters : n_clusters + size]
            root = np.sqrt(np.divide(1.0, part, out=np.zeros(size), where=part > 0))
            rows = sparse.diags_array(root) @ block
        spread += _squared(rows)
        n_clusters += size
    count = float(n_clusters if weight is None else weight.sum())
    spread -= np.outer(total, total) / max(count, 1.0)
    return np.asarray(spread, dtype=np.float64) * (count / (count - 1.0) if count > 1.0 else 1.0)


def dyads(first: NDArray[np.integer[Any]], second: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return the number of each comparison's two rows among all that are compared, in any order."""
    low, high = np.minimum(first, second).astype(np.int64), np.maximum(first, second)
    key = low * (int(high.max(initial=0)) + 1) + high
    return np.unique(key, return_inverse=True)[1].astype(np.int64, copy=False)


def weight_errors(covariance: FloatArray, flat: FloatArray) -> FloatArray:
    """Return the standard errors of the weights; inf for weights that no comparison depends on."""
    errors = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    return np.where((flat**2).sum(axis=0) > 1.0 - _DETERMINED**2, np.inf, errors)


def contrast_errors(
    contrasts: Any, covariance: FloatArray, flat: FloatArray | None = None
) -> FloatArray:
    """Return the standard error of each linear combination of the weights, a row of `contrasts`.

    It is infinite for a combination that is not orthogonal to the `flat` directions, because these
    are not determined.
    """
    variances = _row_products(contrasts, contrasts @ covariance)
    errors = np.sqrt(np.maximum(variances, 0.0))
    if flat is None or not len(flat):
        return errors
    within = np.asarray(contrasts @ flat.T)
    lengths = np.sqrt(_row_products(contrasts, contrasts))
    errors[np.sqrt((within**2).sum(axis=1)) > _DETERMINED * lengths] = np.inf
    return errors


def totals_of(values: Any, codes: NDArray[np.integer[Any]], n_codes: int) -> Any:
    """Return the sum of the rows of each code, (n_codes, d); sparse if `values` are."""
    places = np.arange(codes.size)
    chosen = sparse.csr_array((np.ones(codes.size), (codes, places)), (n_codes, codes.size))
    return chosen @ values


def _row_products(rows: Any, others: Any) -> FloatArray:
    products = rows.multiply(others) if sparse.issparse(rows) else rows * others
    return np.asarray(products.sum(axis=1), dtype=np.float64).ravel()


def _squared(rows: Any) -> FloatArray:
    if sparse.issparse(rows) and rows.nnz > _DENSE * rows.shape[0] * rows.shape[1]:
        rows = rows.toarray()
    product = rows.T @ rows
    return product.toarray() if sparse.issparse(product) else np.asarray(product)
