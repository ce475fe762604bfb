"""SGD: the settings of stochastic steps on drawn pairs, a ranker's `solver`."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from sklearn.base import BaseEstimator

from pairrank import _validation as validation


@dataclass(eq=False, repr=False)
class SGD(BaseEstimator):
    r"""Stochastic steps on drawn pairs, as the `solver` of RankSVM and RankNCG.

    ``solver="sgd"`` is ``solver=SGD()``. Pairs are drawn in proportion to their weights. An
    iteration draws as many pairs as there are rows (or comparisons) and computes the objective of
    every pair. The fit ends when the objective fell by less than tol times itself in the last half
    of the iterations. Steps are shortened so that none leaps over the minimum for its pair.

    Parameters
    ----------
    learning_rate : "invscaling" or "pegasos", default "invscaling"
        The length of step t: eta0/sqrt(1 + t/1000), or Pegasos' 1/(lambda t), which suits strong
        regularisation. The objective per unit of pair weight is lambda/2 \|w\|^2 + the mean loss.
    eta0 : float or None, default None
        The first step length of "invscaling"; None is 1 over the loss's largest curvature (of the
        hinge, 1) and over the mean square of the differences of rows.
    average : bool, default True
        Whether the mean of the weights over all steps is taken, in which step t counts t^2, in
        place of the last weights.

    Examples
    --------
    >>> from pairrank import SGD, RankSVM
    >>> X, y, qid = [[0.0], [1.0], [2.0], [0.5]], [0, 1, 2, 0], ["a", "a", "b", "b"]
    >>> RankSVM(solver=SGD(eta0=0.1)).fit(X, y, qid=qid).rank(X, qid=qid)
    array([2, 1, 1, 2])
    """

    learning_rate: Literal["invscaling", "pegasos"] = "invscaling"
    _: KW_ONLY
    eta0: float | None = None
    average: bool = True

    def check(self) -> None:
        """Raise a PairrankError if a parameter is out of range."""
        validation.check_choices(self)
        if self.eta0 is not None:
            validation.check_number(self.eta0, "eta0")
