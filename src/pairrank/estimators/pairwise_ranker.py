"""PairwiseRanker: any loss over every pair, by name or as an object with phi."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

from pairrank import _validation as validation
from pairrank._protocols import PairLoss, Sigmoidal
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._fit import PairLossRanker
from pairrank.exceptions import PairrankError
from pairrank.losses import as_loss
from pairrank.objective import Problem
from pairrank.preferences import Preferences


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
    C : float, default 1.0
        Weight of the loss.
    eps : float, default 1e-6
        The error allowed in the sums of logistic and probit, as in `RankNCG`; others are exact.
    solver : "auto", "tron", "ncg" or "bundle", default "auto"
        "tron" is trust region Newton, "ncg" conjugate gradients, "bundle" cutting planes, which
        losses with a kink need. "auto" takes TRON with a sampled Hessian where that is cheaper,
        and cutting planes for losses with a kink; all have the same optimum.
    pair_sum : str, default "auto"
        The algorithm of the pair sum; "direct" is every pair. The others depend on the loss, see
        `pairrank.pair_sums.bind`.
    tol : float, default 1e-3
        Stop at \|gradient\| <= tol \|gradient at 0\|, or by the duality gap, as `RankSVM` does.
    max_iter : int, default 1000
        Steps at the most.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
        With a kernel, the weights of its features.
    n_iter_ : int
        Steps taken on all rows.
    status_
    history_
    objective_
    n_pairs_
    feature_map_
    validation_scores_
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names.

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

    loss: Any = "exponential"
    _: KW_ONLY
    C: float = 1.0
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

    def _check_parameters(self) -> None:
        loss = as_loss(self.loss)
        if self.solver in ("tron", "ncg") and not loss.smooth:
            raise PairrankError(
                f"solver={self.solver!r} needs a smooth loss, which {self.loss!r} is not: use "
                'solver="bundle" (or "auto")'
            )
        if _is_mixture(loss) and self.solver in ("tron", "bundle"):
            raise PairrankError(
                f"solver={self.solver!r} needs values that match gradients, which {self.loss!r} "
                'does not give: use solver="ncg" (or "auto")'
            )
        validation.check_number(self.C, "C")
        validation.check_number(self.eps, "eps")
        if self.eps >= 1:
            raise PairrankError(f"eps must be below 1, got {self.eps!r}: 1e-6 is usual")
        super()._check_parameters()

    def _problem(self, features: Any, preferences: Preferences) -> Problem:
        return Problem(
            features,
            preferences,
            as_loss(self.loss),
            factor=float(self.C),
            algorithm=self.pair_sum,
            eps=float(self.eps),
        )


def _is_mixture(loss: PairLoss) -> bool:
    """Whether value and gradient are those of different losses."""
    family = loss.family
    return isinstance(family, Sigmoidal) and family.value != family.slope
