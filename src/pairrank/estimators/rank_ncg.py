"""RankNCG: maximum a posteriori ranking by every pair's likelihood."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from pairrank._protocols import FloatArray
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._pair_loss import PairLossRanker, PairProbabilities, shapes_differ
from pairrank.estimators._rows import Rows
from pairrank.estimators.covariance import (
    check_covariance,
    coefficient_covariance,
    contrast_errors,
    weight_errors,
)
from pairrank.estimators.sgd import SGD
from pairrank.exceptions import PairrankError, UndeterminedWarning
from pairrank.preferences import Preferences


class PairErrors:
    """A ranker that gives standard errors of differences of scores, from a covariance."""

    coef_cov_: FloatArray
    flat_directions_: FloatArray
    _check_X: Any

    def pair_standard_errors(self, Xi: Any, Xj: Any) -> FloatArray:
        """Return the standard error of each difference of scores, of a row of Xi less one of Xj.

        Parameters
        ----------
        Xi, Xj : array-like, CSR matrix or frame of shape (n_pairs, n_features)

        Returns
        -------
        ndarray of shape (n_pairs,), float64
            Infinite for differences that no comparison determines, such as between items that are
            not connected by comparisons.

        Raises
        ------
        ValueError
            If the ranker was fitted without `covariance`, or Xi and Xj differ in shape.

        Notes
        -----
        Costs O(n_features^2) per pair.
        """
        check_is_fitted(self)
        if not hasattr(self, "coef_cov_"):
            raise PairrankError('there is no covariance: fit with covariance="clusters" or another')
        first, second = (self._check_X(X, reset=False) for X in (Xi, Xj))
        if first.shape != second.shape:
            raise PairrankError(shapes_differ(first, second))
        difference = first.astype(np.float64) - second.astype(np.float64)
        if sparse.issparse(difference):
            difference = sparse.csr_array(difference)  # its products are entry by entry
        return contrast_errors(difference, self.coef_cov_, self.flat_directions_)


@ranker
class RankNCG(PairProbabilities, PairErrors, PairLossRanker):
    r"""RankNCG: the likelihood of every pair, in linear time (Raykar, Duraiswami & Krishnapuram).

    .. math:: \min_w \tfrac{\alpha}2 \|w\|^2 - a \sum_{(i, j)} \log \Pr[i \succ j],
              \qquad \Pr[i \succ j] = S(w^T (x_i - x_j))

    over all preferences (i, j), i preferred to j: the maximum a posteriori estimate under a
    Gaussian prior (Section 3). Its sums over pairs cost O(m) for m rows, never O(m^2), to an error
    `eps` that is proven.

    Parameters
    ----------
    alpha : float, default 1.0
        The precision of the prior, the paper's lambda; greater than 0. Without a prior, rows that
        can be ranked without a mistake have no best weights.
    loss : "logistic", "probit" or "raykar", default "logistic"
        "logistic" has S(z) = 1/(1 + exp(-z)) (Eq. 2). "probit" is the loss whose exact gradient is
        the paper's approximate one (Eq. 3); its S(z) = 1 - erfc(sqrt(3) z/(sqrt(2) pi))/2 is within
        0.023 of the logistic. "raykar" is the paper's algorithm: it reports the logistic value and
        follows the gradient of probit, so that line searches use gradients only.
    eps : float, default 1e-6
        The error allowed in the sums over pairs, relative to the sum of their weights, 0 < eps < 1.
        It is reduced automatically where it would keep the descent from the optimum, and where rows
        are so few that exact sums cost nothing.
    solver : "auto", "ncg", "tron", "sgd" or SGD, default "auto"
        "ncg" is the paper's: Polak-Ribiere conjugate gradients. "tron" is trust region Newton with
        every Hessian product over every pair. "auto" is Newton with a line search, the Hessian from
        a sample where that is cheaper ("raykar" always uses "ncg"). All have the same optimum.
        "sgd" takes stochastic steps on drawn pairs, as `SGD` says.
    pair_sum : "auto", "boxes", "beaulieu" or "direct", default "auto"
        The algorithm of the pair sum: box sums, Beaulieu's series as in the paper (probit and
        raykar), or pair by pair. "auto" sums small queries directly, large ones by boxes.
    covariance : None, "laplace", "rows", "queries" or "clusters", default None
        How `coef_cov_` and `standard_errors_` are estimated, see Notes.
    tol : float, default 1e-3
        Stop when \|gradient\| <= tol \|gradient at 0\|.

    Attributes
    ----------
    coef_cov_ : ndarray of shape (n_features, n_features)
        The covariance of `coef_`, where `covariance` asks for it and the fit was not interrupted.
    standard_errors_ : ndarray of shape (n_features,)
        The square roots of its diagonal; infinite for weights that no pair depends on.
    flat_directions_ : ndarray of shape (n_directions, n_features)
        An orthonormal basis of the directions of `coef_` that no pair depends on; see Notes.

    Notes
    -----
    A step costs two products with X and O(m) for the pairs.

    The likelihood takes every pair to be drawn independently, "whereas only the original samples
    are" (Section 3): m rows make up to m^2/2 pairs, so that the posterior is far too narrow. On 400
    rows of two classes its standard errors were a twelfth of those from a bootstrap of rows.
    `covariance` offers:

    - "rows" and "queries" treat rows, or whole queries, as independent, and pairs as dependent
      through them: a sandwich, the cluster-robust covariance. With labels, "rows" errs on the large
      side where a row is in few pairs, by sqrt(2) at most.
    - "laplace" is the inverse Hessian, the posterior covariance of the model. With
      ``reduction="sum"`` it holds for `Pairs` that are independent, as games of players with a
      weight each, or pairs that share no rows; ``reduction="rows"`` makes all pairs together count
      as much as W observations.
    - "clusters" treats the groups of `Pairs` as independent: voters, sessions, tournaments. Without
      groups, each comparison is one; its weight counts comparisons if all weights are whole.

    For `Pairs`, "rows" is the dyadic covariance: comparisons that share a row at either end depend
    on one another. It is for more rows than features; if each row has a weight of its own (X is the
    identity), take "clusters".

    Some directions of the weights may change no pair: if X is the identity, a shift of all weights,
    or of a set of rows that is compared with no other. Standard errors are then those of weights
    that sum to 0 over each such set; `pair_standard_errors` has those of differences of scores. An
    UndeterminedWarning says if differences between compared rows are not determined.

    All are asymptotic, "queries" and "clusters" in their number: one query that holds most of the
    pairs makes the covariance far too small. They describe sampling error only, not the bias by
    alpha, and cost O(m d^2).

    References
    ----------
    V. C. Raykar, R. Duraiswami and B. Krishnapuram, "A fast algorithm for learning large scale
    preference relations", AISTATS 2007.

    Examples
    --------
    >>> from pairrank import RankNCG
    >>> X, y, qid = [[0.0], [1.0], [2.0], [0.5]], [0, 1, 2, 0], ["a", "a", "b", "b"]
    >>> ranker = RankNCG().fit(X, y, qid=qid)
    >>> ranker.predict_pair_proba([[2.0]], [[0.0]]).round(1)
    array([0.9])
    """

    _strength, _searched = "alpha", tuple(10.0**power for power in range(-4, 6))
    alpha: float = 1.0
    _: KW_ONLY
    loss: Literal["logistic", "probit", "raykar"] = "logistic"
    eps: float = 1e-6
    solver: Literal["auto", "ncg", "tron", "sgd"] | SGD = "auto"
    pair_sum: Literal["auto", "boxes", "beaulieu", "direct"] = "auto"
    covariance: Literal["laplace", "rows", "queries", "clusters"] | None = None

    def _check_parameters(self) -> None:
        if self.covariance is not None and not self._is_linear:
            raise PairrankError(
                f"covariance={self.covariance!r} is of the weights of X's features, and a ranker "
                "with a kernel has no such weights: leave covariance=None or kernel=None"
            )
        super()._check_parameters()
        if self.covariance is not None and self.patience is not None:
            raise PairrankError(
                f"covariance={self.covariance!r} is that of the optimum, which a fit that stops "
                "early does not reach: leave covariance=None or patience=None"
            )

    def _check_blocks(self) -> None:
        super()._check_blocks()
        if self.covariance is not None:
            raise PairrankError(
                f"covariance={self.covariance!r} needs all rows in memory: leave covariance=None, "
                "or fit on a sample of rows"
            )

    def _preferences(self, rows: Rows) -> Preferences:
        if self.covariance is not None:
            check_covariance(self.covariance, rows)
        return super()._preferences(rows)

    def _conclude(self, rows: Rows, features: Any, preferences: Any, solutions: list[Any]) -> None:
        if self.covariance is None or self.status_ == "interrupted":
            return
        found = coefficient_covariance(self, rows, features, preferences)
        self.coef_cov_, self.flat_directions_ = found
        self.standard_errors_ = weight_errors(self.coef_cov_, self.flat_directions_)
        compared = np.add(*preferences.wins_and_losses()) > 0
        _warn_of_undetermined(features, self.flat_directions_, compared)


def _warn_of_undetermined(X: Any, flat: FloatArray, compared: NDArray[np.bool_]) -> None:
    """Warn if compared rows differ along flat directions: not all their scores are comparable."""
    if not len(flat):
        return
    largest = abs(X).max(axis=0)
    largest = largest.toarray().ravel() if sparse.issparse(largest) else largest
    along = np.asarray(X @ flat.T, dtype=np.float64)[compared]
    if (np.ptp(along, axis=0) <= 1e-6 * (np.abs(flat) @ largest)).all():
        return
    warnings.warn(
        "some differences of scores are not determined, as between items that no chain of "
        "comparisons connects, or by features that are constant within queries: no pair depends on "
        f"{len(flat)} direction(s) of the weights (flat_directions_). Standard errors are of the "
        "other directions; pair_standard_errors is infinite where a difference is not determined",
        UndeterminedWarning,
        stacklevel=4,
    )
