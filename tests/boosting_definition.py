"""Slow definition of what boosted trees are given: gradient and Hessian of all pairs, scaled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from definitions import preferences_of, sums_over

FLOOR = 0.01


class Expected(NamedTuple):
    """Gradient and Hessian, and what their errors are measured against, one number per row."""

    gradient: np.ndarray
    hessian: np.ndarray
    gradient_size: np.ndarray
    pair_weight: np.ndarray


def expected(
    y: Any,
    scores: Any,
    definition: Any,
    *,
    qid: Any = None,
    weight: Any = None,
    graph: Any = "full",
    reduction: str = "auto",
    newton: bool = True,
) -> Expected | None:
    """Return the definition, pair by pair; None where there is no pair.

    `newton` is False for losses without curvature at margin 0.
    """
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    qid = np.zeros(len(y), dtype=int) if qid is None else np.asarray(qid)
    kept = np.flatnonzero(weight > 0)
    pairs = preferences_of([y[i] for i in kept], [qid[i] for i in kept], graph)
    pairs = [(int(kept[i]), int(kept[j])) for i, j in pairs]
    if not pairs:
        return None
    of_rows = {q: sum(weight[qid == q]) for q in set(qid.tolist())}
    of_pairs = dict.fromkeys(of_rows, 0.0)
    for i, j in pairs:
        of_pairs[qid[i].item()] += weight[i] * weight[j]
    shares = {"auto": of_rows, "query": dict.fromkeys(of_rows, 1.0), "rows": of_pairs}[reduction]

    def scale(i: int) -> float:
        query = qid[i].item()
        return float(shares[query] / of_pairs[query])

    cost, slope, curvature = definition
    sums = sums_over(pairs, scores, definition, np.zeros(len(y)), weight, scale)
    each = curvature(0.0) if newton else slope(0.0) ** 2 / (2.0 * cost(0.0))
    at_zero = each * sums.row_weight
    hessian = np.maximum(sums.diagonal, FLOOR * at_zero) if newton else at_zero
    mean_one = sum(of_rows[q] for q in of_rows if of_pairs[q] > 0) / at_zero.sum()
    return Expected(
        mean_one * sums.gradient,
        mean_one * hessian,
        mean_one * sums.gradient_size,
        mean_one * sums.row_weight,
    )
