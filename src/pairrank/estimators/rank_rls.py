"""RankRLS: regularised least squares over all pairs."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Literal

from pairrank import _validation as validation
from pairrank.estimators._descent import Method
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._targets import DifferenceRanker
from pairrank.exceptions import PairrankError
from pairrank.losses import Square


@ranker
class RankRLS(DifferenceRanker):
    r"""RankRLS: least squares over all pairs of rows, at the price of ridge regression.

    .. math:: \min_w \sum_q \frac1{2 n_q} \sum_{i, j \in q} w_i w_j
              \bigl((y_i - y_j) - (s_i - s_j)\bigr)^2 + \alpha \|w\|^2, \qquad s = X w

    over all differences: both directions, and ties too (Airola, Pahikkala & Salakoski 2010, Eq. 3,
    with row weights). The size of a difference of labels counts, not only its sign. Of `Pairs`
    it minimises the sum of weight (magnitude - d)^2 + alpha |w|^2, d = s_i - s_j (Eq. 9). The sum
    over a query is its centred residual's squared norm, so that a step costs as much as one of
    ridge regression; no pair is listed, X is never centred in memory, sparse X stays sparse.

    Parameters
    ----------
    alpha : float, default 1.0
        The paper's lambda; ignored by ``regularization="iteration"``, where it may be 0.
    regularization : "tikhonov", "iteration" or "hybrid", default "tikhonov"
        "tikhonov" solves for the minimum. "iteration" runs conjugate gradients with alpha = 0,
        keeps the iterate of the highest validation score and stops after `patience` iterates
        without improvement (Section 3.4). "hybrid" does the same with alpha.
    solver : "auto", "cg" or "direct", default "auto"
        "cg" is the paper's conjugate gradients on Eq. 8. "direct" is one factorisation: primal
        (Eq. 6) where rows outnumber features, else dual (Eq. 7). "auto" takes the cheaper one for
        "tikhonov", "cg" where the factorisation fails, and "cg" for the others. Where features
        differ in size, it takes preconditioned Newton steps instead of "cg".
    max_iter : int, default 500
        The largest number of iterations.
    tol : float, default 1e-5
        Stop when \|gradient\| <= tol \|gradient at 0\|.
    patience : int, default 10
        The number of iterates in a row without a better validation score that ends the fit.
    validation_fraction : float, default 0.1
        The share of the queries held out to validate on, where `regularization` needs it and `fit`
        is given no validation rows. From a single query rows are drawn, from its Pairs comparisons.

    Notes
    -----
    An iteration costs two products with X and O(n_rows), of Pairs O(n_pairs); a validation
    O(m log m) and a product with its m rows. Memory beyond X is below 64 bytes per row and feature.
    A direct solution costs O(m n^2 + n^3) or O(m^2 n + m^3) for m rows of n features. float32 X
    stays float32. Validation scores leave out
    queries of one level.

    On RowBlocks up to 1,000 features take one pass for the normal equations of all targets, with
    which "cg" iterates too; a query that crosses blocks sends n_features + n_targets numbers per
    block. More features, or sparse X of few entries per row, take a pass per iteration. Validation
    rows are not drawn: pass X_val.

    References
    ----------
    A. Airola, T. Pahikkala and T. Salakoski, "Large scale training methods for linear RankRLS",
    ECML/PKDD workshop on preference learning, 2010. (The identity after its Eq. 3 lost its square.)

    Examples
    --------
    >>> from pairrank import RankRLS
    >>> X, y, qid = [[0.0], [1.0], [2.0], [0.5]], [0, 1, 2, 0], ["a", "a", "a", "b"]
    >>> RankRLS(alpha=0.5).fit(X, y, qid=qid).coef_
    array([0.8])
    """

    _strength, _searched = "alpha", tuple(2.0**power for power in range(-10, 11))
    alpha: float = 1.0
    _: KW_ONLY
    regularization: Literal["tikhonov", "iteration", "hybrid"] = "tikhonov"
    solver: Literal["auto", "cg", "direct"] = "auto"
    max_iter: int = 500
    tol: float = 1e-5
    patience: int = 10
    validation_fraction: float = 0.1
    warm_start: bool = False

    @property
    def _stops_early(self) -> bool:
        return self.regularization != "tikhonov"

    def _needs_held(self, wanted: str) -> str:
        return (
            f'regularization="{self.regularization}" stops the fit by validation rows, and there '
            f'are none: pass {wanted} to fit, or take regularization="tikhonov"'
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        unused = self.regularization == "iteration"
        validation.check_number(self.alpha, "alpha", inclusive=unused)
        if self.solver == "direct" and self._stops_early:
            raise PairrankError(
                f'regularization="{self.regularization}" needs iterations, and solver="direct" '
                'has none: use solver="cg" or regularization="tikhonov"'
            )

    def _loss(self) -> Square:
        return Square()

    @property
    def _penalty(self) -> float:
        return 0.0 if self.regularization == "iteration" else 2.0 * float(self.alpha)

    def _method(self) -> Method:
        method = super()._method()
        return replace(method, solver="cg") if self._stops_early else method
