"""The weights of all pairs in a round of RankBoost, exp(-(H_i - H_j)), without a list of pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.pair_sums.separable import SeparableCurvature
from pairrank.preferences import Pairs, Preferences


class PairWeights(NamedTuple):
    """The weights of all pairs at some scores H: w_ij exp(-(H_i - H_j)) for i preferred to j.

    Attributes
    ----------
    total : float
        Their sum, the exponential loss.
    potential : float64 array of shape (n_rows,)
        The weight of the pairs that each row wins less that of those that it loses.
    apart : callable
        From a bool array of rows to the weights of the pairs whose winner alone is among them, and
        of those whose loser alone is: of the right and the wrong pairs of a ranking of 0 and 1.
    """

    total: float
    potential: FloatArray
    apart: Callable[[NDArray[np.bool_]], tuple[float, float]]


def weigher(preferences: Preferences) -> Callable[[FloatArray], PairWeights]:
    """Return the function from scores, (n_rows,), to the weights of all pairs.

    A call costs O(rows + groups), or O(rows + edges) under a graph that is not full, by the
    separable sum of exponentials; O(n_pairs) for `Pairs`.
    """
    if isinstance(preferences, Pairs):
        pairs = preferences
        return lambda scores: _of_comparisons(pairs, scores)
    levels = preferences

    def weigh(scores: FloatArray) -> PairWeights:
        point = SeparableCurvature(levels, scores)
        total, gradient = point.value_and_gradient()
        return PairWeights(total, -gradient, point.apart)

    return weigh


def _of_comparisons(pairs: Pairs, scores: FloatArray) -> PairWeights:
    i, j, n_rows = pairs.i, pairs.j, pairs.n_rows
    with np.errstate(under="ignore", over="ignore"):
        weight = pairs.pair_scale * np.exp(scores[j] - scores[i])
        if pairs.weight is not None:
            weight *= pairs.weight

    def apart(chosen: NDArray[np.bool_]) -> tuple[float, float]:
        winner, loser = chosen[i], chosen[j]
        return float(weight[winner & ~loser].sum()), float(weight[loser & ~winner].sum())

    potential = np.zeros(n_rows)
    potential += np.bincount(i, weight, n_rows)
    potential -= np.bincount(j, weight, n_rows)
    return PairWeights(float(weight.sum()), potential, apart)
