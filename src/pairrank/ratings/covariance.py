"""The covariance of scores: inverse Hessian, or sandwiches by comparison, group or item."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.ratings.likelihoods import Slopes
from pairrank.ratings.margins import Margins, distinct
from pairrank.ratings.objective import LikelihoodObjective

MOST_COEFFICIENTS = 10_000
"""A covariance of this many coefficients takes 800 MB."""

_BLOCK_ENTRIES = 1 << 23
_SPARSE_COST = 20.0
"""A product of sparse entries costs as much as this many of dense ones."""


def score_covariance(
    objective: LikelihoodObjective,
    w: FloatArray,
    kind: str,
    weight: FloatArray,
    group: NDArray[np.int32] | None,
) -> FloatArray:
    r"""Return the covariance of all coefficients, the scores less their mean.

    With H the Hessian and g_c the gradient of comparison c, times its weight,

    .. math:: V_{hessian} = H^+, \qquad V = H^+ M H^+, \qquad
              M_{robust} = \sum_c g_c g_c^T, \quad
              M_{clusters} = \tfrac{G}{G - 1} \sum_{groups} h h^T, \quad
              M_{dyadic} = \sum_{c, c'} g_c g_{c'}^T

    where h is the sum of a group's gradients less their mean, and the last sum is over comparisons
    that share an item (Fafchamps & Gubert 2007). M_dyadic may be indefinite; then comparisons of
    the same two items are counted for each of both items. `weight` and `group` have one entry per
    comparison. Costs O(N^3) for N coefficients, and O(m) for m comparisons in groups of a few.
    """
    slopes, margins = objective.slopes(w), objective.margins
    inverse = _centred_inverse(objective.curvature(w).dense(), margins.n_items)
    if kind == "hessian":
        return inverse
    if kind == "robust":
        spread = _of_comparisons(objective, slopes)
    elif kind == "clusters":
        assert group is not None
        spread = _of_groups(objective, slopes, weight, group)
    else:
        spread = _of_items(objective, slopes)
    return inverse @ spread @ inverse


def check_size(n_coefficients: int, kind: str) -> None:
    """Raise a PairrankError if a covariance takes too much memory."""
    if n_coefficients > MOST_COEFFICIENTS:
        raise PairrankError(
            f"covariance={kind!r} of {n_coefficients} items is a matrix of {n_coefficients} x "
            f"{n_coefficients}: set covariance=None, or keep at most {MOST_COEFFICIENTS} items"
        )


def _centred_inverse(hessian: FloatArray, n_items: int) -> FloatArray:
    """Return P H^-1 P, where P subtracts the mean of the scores; H may be 0 along it.

    The vector of ones is an eigenvector of H, so adding its square changes nothing that P keeps.
    """
    hessian[:n_items, :n_items] += hessian.diagonal()[:n_items].mean() / n_items
    factor, failed = linalg.lapack.dpotrf(hessian, lower=1, overwrite_a=1, clean=1)
    if not failed:
        lower, failed = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed or not np.isfinite(lower).all():
        raise PairrankError(
            "the Hessian at the scores is not positive definite in float64, so they have no "
            "covariance: set alpha (such as alpha=0.1), or covariance=None"
        )
    result: FloatArray = np.tril(lower) + np.tril(lower, -1).T
    result[:n_items] -= result[:n_items].mean(axis=0)
    result[:, :n_items] -= result[:, :n_items].mean(axis=1, keepdims=True)
    return result


def _of_comparisons(objective: LikelihoodObjective, slopes: Slopes) -> FloatArray:
    """Return the sum over comparisons of the squares of their gradients."""
    square, design, width = objective.margins.square, objective.design, objective.width
    result = np.zeros((objective.n_features,) * 2)
    of_margins = _scaled((square * slopes.margin**2).sum(axis=0), design)
    result[:width, :width] = (design.T @ of_margins).toarray()
    if objective.has_tie:
        across = design.T @ (square * slopes.margin * slopes.tie).sum(axis=0)
        result[:width, width] = result[width, :width] = across
        result[width, width] = (square * slopes.tie**2).sum()
    return result


def _of_groups(
    objective: LikelihoodObjective,
    slopes: Slopes,
    weight: FloatArray,
    group: NDArray[np.int32],
) -> FloatArray:
    """Return the scatter of the groups' gradients about their mean, times G/(G - 1)."""
    margins = objective.margins
    _, code = distinct(group.astype(np.int64), int(group.max()) + 1)
    n_groups, size = int(code.max()) + 1, margins.first.size
    if n_groups < 2:
        raise PairrankError(
            'covariance="clusters" needs at least two groups of positive weight: pass groups of '
            'more than one kind, or use "robust"'
        )
    cells, place = distinct(code * size + margins.place, n_groups * size)
    at, margin = np.divmod(cells, size)
    of_margin = weight * slopes.margin[margins.outcome, margins.place]
    per_cell = np.bincount(place, of_margin, cells.size)
    shape = (n_groups, size)
    joined = sparse.coo_array((per_cell, (at, margin)), shape=shape).tocsr()
    gradients = joined @ objective.design
    if objective.has_tie:
        of_ties = np.bincount(code, weight * slopes.tie[margins.outcome, margins.place], n_groups)
        gradients = sparse.hstack([gradients, of_ties[:, None]], format="csr")
    total = np.asarray(gradients.sum(axis=0)).ravel()
    scatter = _gram(gradients) - np.outer(total, total) / n_groups
    return scatter * n_groups / (n_groups - 1)


def _of_items(objective: LikelihoodObjective, slopes: Slopes) -> FloatArray:
    """Return the sum over pairs of comparisons that share an item of their gradients' products."""
    margins = objective.margins
    dyad = margins.first * margins.n_items + margins.second
    found, place = distinct(dyad, margins.n_items**2)
    ones = np.ones(place.size)
    to_dyads = sparse.coo_array(
        (ones, (place, np.arange(place.size))), shape=(found.size, place.size)
    ).tocsr()
    gradients = _scaled((margins.weight * slopes.margin).sum(axis=0), objective.design)
    if objective.has_tie:
        of_ties = (margins.weight * slopes.tie).sum(axis=0)
        gradients = sparse.hstack([gradients, of_ties[:, None]], format="csr")
    of_dyads = to_dyads @ gradients
    low, high = np.divmod(found, margins.n_items)
    both = np.concatenate((low, high)), np.tile(np.arange(found.size), 2)
    shape = (margins.n_items, found.size)
    to_items = sparse.coo_array((np.ones(both[0].size), both), shape=shape).tocsr()
    spread, own = _gram(to_items @ of_dyads), _gram(of_dyads)
    least = linalg.eigvalsh(spread - own, check_finite=False)
    return spread - own if least[0] >= -1e-12 * abs(least[-1]) else spread


def _scaled(factor: FloatArray, rows: Any) -> Any:
    """Return the rows of a sparse matrix, each times its factor."""
    return sparse.dia_array((factor[None], [0]), shape=(factor.size,) * 2) @ rows


def _gram(rows: Any) -> FloatArray:
    """Return R'R for sparse R; by dense blocks of rows where that is cheaper."""
    rows = rows.tocsr()
    n_rows, width = rows.shape
    if _SPARSE_COST * float((np.diff(rows.indptr).astype(np.float64) ** 2).sum()) < (
        float(n_rows) * width**2
    ):
        found: FloatArray = (rows.T @ rows).toarray()
        return found
    result = np.zeros((width, width))
    step = max(1, _BLOCK_ENTRIES // width)
    for start in range(0, n_rows, step):
        block = rows[start : start + step].toarray()
        result += block.T @ block
    return result
