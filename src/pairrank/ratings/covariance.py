"""The covariance of scores: inverse Hessian, or sandwiches by comparison, group or two items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.estimators.covariance import inverse_hessian, sandwich, scatter_of_totals
from pairrank.objective.normal_equations import block_rows
from pairrank.ratings.comparisons import Comparisons
from pairrank.ratings.likelihoods import LikelihoodObjective, Slopes


def score_covariance(
    objective: LikelihoodObjective, w: FloatArray, kind: str, found: Comparisons
) -> tuple[FloatArray, float]:
    r"""Return the covariance of all coefficients, the scores less their mean, and its degrees.

    The degrees of freedom are the number of clusters less 1, infinity without clusters.

    With H the Hessian, g_c the gradient of comparison c times its weight, and h the sum of g_c over
    a cluster,

    .. math:: V_{hessian} = H^+, \qquad V = H^+ M H^+, \qquad M_{robust} = \sum_c g_c g_c^T, \qquad
              M_{clusters} = \tfrac{G}{G - 1} \sum (h - \bar h) (h - \bar h)^T

    "dyadic" has the comparisons of the same two items as clusters. Comparisons that share one item
    need no more: a gradient's sum over the comparisons of an item is 0 by the item's own score.
    Costs O(N^3) for N coefficients, and O(m N)
    at most for m comparisons in groups.
    """
    slopes, n_items = objective.slopes(w), objective.margins.n_items
    shift = np.zeros((1, objective.n_features))
    shift[0, :n_items] = 1.0 / np.sqrt(n_items)
    inverse = inverse_hessian(objective.hessian(slopes).toarray(), shift)
    if kind == "hessian":
        return inverse, np.inf
    if kind == "robust":
        square, by_margin, by_tie = objective.margins.square, slopes.margin, slopes.tie
        squares = (square * product for product in (by_margin**2, by_margin * by_tie, by_tie**2))
        return sandwich(inverse, objective.form(*squares).toarray()), np.inf
    margins, codes = objective.margins, np.asarray(found.group)
    if kind == "dyadic":
        codes = (margins.first * margins.n_items + margins.second)[margins.place]
    code = np.unique(codes, return_inverse=True)[1]
    gradients = _of_groups(objective, slopes, found.weight, code)
    parts = threads.blocks(gradients.shape[0], block_rows(gradients.shape[1]))
    blocks = (gradients[part] for part in parts)
    return sandwich(inverse, scatter_of_totals(blocks)), float(code.max())


def _of_groups(
    objective: LikelihoodObjective, slopes: Slopes, weight: FloatArray, code: NDArray[np.int64]
) -> Any:
    """Return the gradient of each group, sparse of shape (n_groups, N)."""
    place, outcome = objective.margins.place, objective.margins.outcome
    n_groups = int(code.max()) + 1
    of_margin = sparse.coo_array(
        (weight * slopes.margin[outcome, place], (code, place)),
        shape=(n_groups, objective.margins.first.size),
    ).tocsr()
    gradients = of_margin @ objective.design
    if objective.has_tie:
        of_ties = np.bincount(code, weight * slopes.tie[outcome, place], n_groups)
        gradients = sparse.hstack([gradients, of_ties[:, None]], format="csr")
    return gradients
