"""PairwiseRanker: any loss over every pair, by name or as an object with phi."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from pairrank._protocols import MarginCost
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._pair_loss import PairLossRanker


@ranker
class PairwiseRanker(PairLossRanker):
    r"""A linear or kernel ranker that minimises any loss over every pair.

    .. math:: \min_w \tfrac12 \|w\|^2 + C \, a \sum_{(i, j)} \varphi(w^T (x_i - x_j))

    over all preferences (i, j), i preferred to j. Losses of a known family are summed in time
    linear in the rows, or nearly so; a new loss is summed pair by pair.

    Parameters
    ----------
    loss : str or object, default "exponential"
        A name in `pairrank.losses.LOSSES`, or an object whose ``phi(d, magnitude=0.0, order=0)``
        returns the cost of each margin or its first or second derivative. It may say its `family`
        (a record of `pairrank._protocols`), by which a fast sum is found, and `smooth`: False
        where it has no second derivative, so that cutting planes are taken. It must be convex.
    eps : float, default 1e-6
        The error allowed in the sums of logistic and probit, as in `RankNCG`; others are exact.
    solver : "auto", "tron", "ncg" or "bundle", default "auto"
        "tron" is trust region Newton, "ncg" conjugate gradients, "bundle" cutting planes, which
        losses with a kink need. "auto" takes Newton with a line search, with a sampled Hessian
        where that is cheaper, and cutting planes for losses with a kink; all have the same optimum.
    pair_sum : str, default "auto"
        The algorithm of the pair sum; "direct" is every pair. The others depend on the loss, see
        `pairrank.pair_sums.bind`.
    tol : float, default 1e-3
        Stop at \|gradient\| <= tol \|gradient at 0\|, or by the duality gap, as `RankSVM` does.

    Notes
    -----
    A step costs two products with X and one pair sum: O(m) for sigmoids and the exponential,
    O(m) or O(m log m) for hinges, O(pairs) for other losses, about 25 ns per pair.

    Examples
    --------
    >>> from pairrank import PairwiseRanker
    >>> X, y, qid = [[0.0], [1.0], [2.0], [0.5]], [0, 1, 2, 0], ["a", "a", "b", "b"]
    >>> PairwiseRanker("modified_huber").fit(X, y, qid=qid).rank(X, qid=qid)
    array([2, 1, 1, 2])
    """

    loss: (
        Literal[
            "squared_hinge",
            "hinge",
            "logistic",
            "probit",
            "raykar",
            "exponential",
            "modified_huber",
            "huberised_hinge",
        ]
        | MarginCost
    ) = "exponential"
    _: KW_ONLY
    C: float = 0.1
    eps: float = 1e-6
    solver: Literal["auto", "tron", "ncg", "bundle"] = "auto"
    pair_sum: Literal[
        "auto",
        "cells",
        "sorted",
        "selection_tree",
        "level_counting",
        "boxes",
        "beaulieu",
        "separable",
        "direct",
    ] = "auto"
