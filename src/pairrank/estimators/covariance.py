"""The covariance of a likelihood's weights: Laplace's, and sandwiches by rows or clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.linalg import lapack

from pairrank import threads
from pairrank._protocols import FloatArray, PairLoss
from pairrank.design import Design
from pairrank.estimators._rows import Rows
from pairrank.exceptions import PairrankError
from pairrank.losses import as_loss
from pairrank.objective.normal_equations import block_rows, dense
from pairrank.pair_sums import bind
from pairrank.pair_sums.direct import ExplicitCurvature
from pairrank.preferences import Pairs, Preferences
from pairrank.preferences._codes import query_codes

_MOST = 10_000
"""A covariance of this many features takes 800 MB."""

_BLOCK_ENTRIES = 1 << 23

_EPS = 1e-9
"""The error of the sums: a direction of less curvature counts as flat."""

FLAT = 1e-10
"""The curvature of a direction, relative to that of its features, that counts as none."""

_DENSE = 0.03
"""The share of entries from which a dense product is faster than a sparse one."""

_DETERMINED = 1e-6
"""The share of a contrast that may lie in flat directions: the rounding of a basis of them."""


def check_covariance(kind: str, rows: Rows) -> None:
    """Raise a PairrankError if this covariance is impossible."""
    n_features, y, qid = rows.X.shape[1], rows.y, rows.qid
    check_size(kind, n_features, "features")
    if kind == "queries" and (qid is None or query_codes(qid)[0].size < 2):
        raise PairrankError(
            'covariance="queries" needs at least two queries: pass qid, or use "rows"'
        )
    n_compared = np.union1d(y.i, y.j).size if isinstance(y, Pairs) else np.inf
    if kind == "rows" and n_compared <= n_features:
        raise PairrankError(
            f'covariance="rows" treats rows as drawn at random, but {n_compared} compared '
            f"rows of {n_features} features can have a score each, as players do: use "
            '"clusters" (by the groups of Pairs, or by comparisons) or "laplace"'
        )
    if kind != "clusters":
        return
    if not isinstance(y, Pairs):
        raise PairrankError(
            'covariance="clusters" is by the groups of Pairs, and y holds labels: use "rows", or '
            '"queries" with qid'
        )
    if y.groups is not None and query_codes(y.groups)[0].size < 2:
        raise PairrankError(
            'covariance="clusters" needs at least two groups of Pairs; without groups each '
            "comparison is a cluster of its own"
        )


def check_size(kind: str, size: int, noun: str) -> None:
    """Raise a PairrankError if a covariance of so many features, or items, is too large."""
    if size > _MOST:
        raise PairrankError(
            f"covariance={kind!r} of {size} {noun} is a matrix of {size} x {size}: leave "
            f"covariance=None, or keep at most {_MOST} {noun}"
        )


def coefficient_covariance(
    ranker: Any, rows: Rows, X: Any, preferences: Preferences
) -> tuple[FloatArray, FloatArray]:
    r"""Return the covariance of the weights that minimise a penalised likelihood of pairs.

    With H the Hessian of penalty/2 \|w\|^2 + pair sum at the weights,

    .. math:: V_{laplace} = H^{-1}, \qquad
              V = H^{-1} \Big( \sum_c (h_c - \bar h)(h_c - \bar h)^T \Big) H^{-1}

    where a cluster's h_c is the sum of the gradients of its pairs. For "rows",

    .. math:: h_i = \sum_{(a, b) \ni i} g_{ab}, \qquad g_{ab} = \phi'(s_a - s_b) (x_a - x_b)

    counts a pair for each of its two rows (Hajek's projection); for "queries" and "clusters" it
    counts once. By rows, the square of a pair's gradient is counted for both of its rows. For
    `Pairs` it is subtracted once (Fafchamps & Gubert 2007, "The formation of risk sharing
    networks"), unless the rest would be indefinite. For labels it stays: it raises the standard
    errors by at most sqrt(2), and by far less with many pairs per row.

    `ranker.covariance` names the units that are independent: "laplace" pairs, "rows", "queries", or
    "clusters", the groups of `Pairs`, else the comparisons, repeated by their weights. `rows` have
    the queries and the weights, the numbers of rows that a row stands for; weights by role are in
    the pairs. G queries or clusters are corrected by G/(G - 1). A PairrankError says that the
    Hessian is not positive definite in float64. Costs O(m d^2) for m rows of d features, and 2 d
    pair sums.

    The second result, (n_flat, d), are the directions in which the pair sum has no curvature, such
    as a shift of all scores; the covariance is 0 there.
    """
    kind, loss, eps = ranker.covariance, as_loss(ranker.loss), min(float(ranker.eps), _EPS)
    scores = Design(X).scores(ranker.coef_)
    columns = X.tocsc() if sparse.issparse(X) else X
    pair_sum = bind(loss, preferences, pair_sum=ranker.pair_sum, eps=eps)
    curvature = pair_sum.at(scores).curvature()
    hessian = _quadratic(columns, curvature.matmat)
    flat = flat_directions(
        hessian,
        scale=np.concatenate([block**2 @ curvature.diagonal() for _, block in _columns(columns)]),
        tol=FLAT if isinstance(preferences, Pairs) else max(FLAT, 10.0 * eps),
    )
    hessian.flat[:: X.shape[1] + 1] += float(ranker.alpha)
    inverse = inverse_hessian(hessian, flat)
    if kind == "laplace":
        return inverse, flat
    if kind == "clusters":
        assert isinstance(preferences, Pairs)
        repetitions = rows.y.bound(X.shape[0], **rows.layout).repetitions()
        slopes = _slopes(preferences, loss, scores)
        spread = _spread_of_clusters(X, preferences, slopes, repetitions)
    else:
        gradients = np.concatenate(
            [pair_sum.influence(scores, block) for _, block in _columns(columns)]
        )
        kept = rows.kept_weight
        weight = np.ones(X.shape[0]) if kept is None else kept
        if kind == "queries":
            assert rows.qid is not None
            spread = _spread_of_queries(gradients, query_codes(rows.qid)[1], weight)
        else:
            spread = scatter_of_totals([gradients.T], weight, corrected=False)
        if kind == "rows" and isinstance(preferences, Pairs):
            own = _own_parts(columns, preferences, _slopes(preferences, loss, scores), weight)
            rest = linalg.eigvalsh(spread - own, check_finite=False)
            if rest[0] >= -1e-12 * rest[-1]:
                spread -= own
    return sandwich(inverse, spread), flat


def _columns(X: Any) -> Iterator[tuple[slice, FloatArray]]:
    """Yield some centred columns of X at a time, (n_columns, n_rows) in C order, and which."""
    n_rows, n_features = X.shape
    for features in threads.blocks(n_features, max(1, _BLOCK_ENTRIES // n_rows)):
        rows = np.ascontiguousarray(dense(X[:, features]).T)
        rows -= rows.mean(axis=1, keepdims=True)
        yield features, rows


def _quadratic(X: Any, times: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return X' A X for the symmetric map A of many vectors, (n_vectors, n_rows)."""
    matrix = np.empty((X.shape[1], X.shape[1]))
    for here, block in _columns(X):
        mapped = times(block)
        for there, other in _columns(X):
            matrix[there, here] = other @ mapped.T
    return 0.5 * (matrix + matrix.T)


def _spread_of_clusters(
    X: Any, pairs: Pairs, slopes: FloatArray, repetitions: FloatArray | None
) -> FloatArray:
    """Return the scatter of the gradients of groups, or else of comparisons."""
    if pairs.groups is not None:
        codes: NDArray[Any] = query_codes(pairs.groups)[1]
    else:
        codes = np.arange(pairs.n_pairs) if pairs.comparison is None else pairs.comparison
    n_clusters = int(codes.max()) + 1
    ends = (np.concatenate((codes, codes)), np.concatenate((pairs.i, pairs.j)))
    joined = sparse.csr_array(
        (np.concatenate((slopes, -slopes)), ends), shape=(n_clusters, pairs.n_rows)
    )
    centred = X if sparse.issparse(X) else X - X.mean(axis=0, dtype=np.float64)
    parts = threads.blocks(n_clusters, block_rows(X.shape[1]))
    blocks = (joined[part] @ centred for part in parts)
    return scatter_of_totals(blocks, None if pairs.groups is not None else repetitions)


def _slopes(pairs: Pairs, loss: PairLoss, scores: FloatArray) -> FloatArray:
    """Return the derivative of each comparison's weighted loss by its difference of scores."""
    slope = pairs.pair_scale * loss.phi(scores[pairs.i] - scores[pairs.j], order=1)
    return slope if pairs.weight is None else slope * pairs.weight


def _spread_of_queries(
    gradients: FloatArray, codes: NDArray[np.int32], weight: FloatArray
) -> FloatArray:
    """Return the scatter of the queries' gradients, each half the sum of its rows' gradients."""
    halves = np.full(codes.size, 0.5)
    of_query = sparse.csr_array((halves, (codes, np.arange(codes.size)))) @ gradients.T
    return scatter_of_totals([of_query[np.bincount(codes, weight) > 0]])


def _own_parts(columns: Any, pairs: Pairs, slopes: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the sum over all dyads of the square of the gradient of their comparisons."""
    i, j = pairs.i.astype(np.int64), pairs.j.astype(np.int64)
    slope = np.where(i < j, slopes, -slopes)
    key = np.minimum(i, j) * pairs.n_rows + np.maximum(i, j)
    dyads, place = np.unique(key, return_inverse=True)
    low, high = np.divmod(dyads, pairs.n_rows)
    square = np.bincount(place, slope) ** 2 / (weight[low] * weight[high])
    laplacian = ExplicitCurvature(Pairs(low, high, n_rows=pairs.n_rows), square)
    return _quadratic(columns, laplacian.matmat)


def flat_directions(hessian: FloatArray, scale: FloatArray, tol: float) -> FloatArray:
    """Return an orthonormal basis, (n_flat, d), of the directions without curvature in a Hessian.

    The Hessian is that of the pair sum alone, without the penalty. A direction is flat if its
    curvature is at most `tol`, relative to `scale`. For a weight per player
    the flat directions are spanned by the indicators of connected components. Costs O(d^3).
    """
    if not np.isfinite(hessian).all():
        raise PairrankError("the Hessian is not finite, so weights have no covariance")
    size = hessian.shape[0]
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


def inverse_hessian(hessian: FloatArray, flat: FloatArray) -> FloatArray:
    """Return the inverse of a Hessian on the directions that are not flat; 0 on those that are.

    It is Z (Z' hessian Z)^-1 Z', the columns of Z a basis of the directions orthogonal to the rows
    of `flat`. Raises a PairrankError if the Hessian is not positive definite there, in float64.
    """
    stiffness = float(hessian.diagonal().mean()) or 1.0
    matrix = without_flat(hessian, flat) + stiffness * (flat.T @ flat)
    try:
        factor = linalg.cholesky(matrix, lower=True)
    except (linalg.LinAlgError, ValueError):
        raise PairrankError(
            "the Hessian at the weights is not positive definite in float64, so they have no "
            "covariance: raise alpha, or scale the features"
        ) from None
    result = lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
    result += np.tril(result, -1).T
    return without_flat(result, flat)


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


def scatter_of_totals(
    blocks: Iterable[Any], weight: FloatArray | None = None, *, corrected: bool = True
) -> FloatArray:
    r"""Return the scatter of the clusters' gradients, the middle of a cluster-robust sandwich.

    .. math:: \frac{G}{G - 1} \Big( \sum_c g_c g_c^T / n_c - t t^T / G \Big), \qquad
              t = \sum_c g_c, \quad G = \sum_c n_c

    `blocks` are successive rows of the array or sparse matrix of the clusters' gradients g,
    (n_clusters, d), so that it need not be in memory as a whole. Cluster c stands for `weight` n_c
    equal clusters. The factor is left out unless `corrected`.
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
    return np.asarray(spread * (count / (count - 1.0) if corrected and count > 1.0 else 1.0))


def weight_errors(covariance: FloatArray, flat: FloatArray) -> FloatArray:
    """Return the standard errors of the weights; inf for weights that no comparison depends on."""
    errors = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    return np.where((flat**2).sum(axis=0) > 1.0 - _DETERMINED**2, np.inf, errors)


def contrast_errors(contrasts: Any, covariance: FloatArray, flat: FloatArray) -> FloatArray:
    """Return the standard error of each linear combination of the weights, a row of `contrasts`.

    It is infinite for a combination that is not orthogonal to the `flat` directions, because these
    are not determined.
    """
    variances = (contrasts * (contrasts @ covariance)).sum(axis=1)
    errors = np.sqrt(np.maximum(variances, 0.0))
    outside = np.square(contrasts @ flat.T).sum(axis=1)
    errors[outside > _DETERMINED**2 * (contrasts * contrasts).sum(axis=1)] = np.inf
    return errors


def _squared(rows: Any) -> FloatArray:
    if sparse.issparse(rows) and rows.nnz > _DENSE * rows.shape[0] * rows.shape[1]:
        rows = rows.toarray()
    product = rows.T @ rows
    return product.toarray() if sparse.issparse(product) else np.asarray(product)
