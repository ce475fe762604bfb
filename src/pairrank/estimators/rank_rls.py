"""RankRLS: regularised least squares over all pairs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pairrank import _validation as validation
from pairrank._protocols import Callback, FloatArray, Solution
from pairrank.estimators._descent import Method
from pairrank.estimators._differences import minimizer
from pairrank.estimators._holdout import Watch, draw_holdout, row_scores
from pairrank.estimators._multi_target import MultiTargetRanker, columns_of
from pairrank.estimators._outcome import Held, conclude
from pairrank.exceptions import PairrankError
from pairrank.losses import Square
from pairrank.objective import Problem
from pairrank.preferences import Differences, Pairs

REGULARIZATIONS = ("tikhonov", "iteration", "hybrid")


class RankRLS(MultiTargetRanker):
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
        The paper's lambda; plays no part in ``regularization="iteration"``, where it may be 0.
    regularization : "tikhonov", "iteration" or "hybrid", default "tikhonov"
        "tikhonov" solves for the minimum. "iteration" takes conjugate gradients on alpha = 0, keeps
        the iterate of the least validation error and stops after `patience` worse ones (Section
        3.4). "hybrid" does the same with alpha.
    solver : "auto", "cg" or "direct", default "auto"
        "cg" is the paper's conjugate gradients on Eq. 8. "direct" is one factorisation: primal
        (Eq. 6) where rows outnumber features, else dual (Eq. 7). "auto" takes the cheaper one for
        "tikhonov", "cg" if its factorisation solves nothing, and "cg" for the others; where
        features differ in size, conjugate gradients are preconditioned Newton steps.
    max_iter : int, default 500
        Iterations at the most.
    tol : float, default 1e-5
        Stop at \|gradient\| <= tol \|gradient at 0\|.
    patience : int, default 10
        Iterates that may be no better in the validation error, in a row.
    kernel : None, "rbf", "poly", "precomputed" or callable, default None
        k(x, x') for scores that are not linear in x; None is linear. With "precomputed", X is the
        training rows' kernel matrix, or a scipy LinearOperator that multiplies by it, and to
        predict k(rows, training rows); `coef_` are then dual coefficients, one a training row. For
        the others, and the next five parameters, see `pairrank.kernels.FeatureMap`.
    gamma : float, "scale" or None, default None
        Of "rbf" and "poly"; None is 1/n_features.
    degree : int, default 3
        Of "poly".
    coef0 : float, default 1.0
        Of "poly".
    kernel_features : "auto", "exact" or "nystroem", default "auto"
        Every training row as landmark, or a sample of them.
    n_components : int, optional
        The number of landmarks of "nystroem".
    validation_fraction : float, default 0.1
        What part of the queries is kept back to validate on, where `regularization` needs it and
        `fit` is given no validation rows. Of one query rows are drawn, of its Pairs comparisons.
    warm_start : bool, default False
        Start conjugate gradients from the previous `coef_`.
    verbose : int, default 0
        1 prints a line an iteration to standard error.
    random_state : int, RandomState or None, default None
        Seeds the draw of validation rows and the landmarks of "nystroem"; None is a fixed seed.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features), float64
        With "rbf", "poly" or a callable the weights of the kernel's features; with "precomputed"
        dual coefficients.
    n_iter_ : int
        Iterations taken, of several targets the most; 1 for a direct solution.
    best_iteration_ : int
        The iteration whose weights `coef_` are; of several targets that of the last.
    status_ : str
        How the solver ended, such as "converged" or "validated".
    history_ : list of Step
        Value, gradient norm and seconds an iteration; of several targets a list of such lists.
    objective_ : float
        The objective at `coef_`, summed over targets.
    n_pairs_ : int
        The number of differences, n_q^2 a query, or of comparisons.
    validation_curve_ : ndarray of shape (n_iter_ + 1,) or (n_targets, n_iter_ + 1)
        The ranking error on the validation rows along the iterations, from that of zero weights on
        (Eq. 1, or of Pairs Eq. 2 over their number), where there are validation rows; NaN past a
        target's last iteration.
    feature_map_ : FeatureMap
        The features of the kernel, where there are such.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names.

    Notes
    -----
    An iteration costs two products with X and O(n_rows), of Pairs O(n_pairs); a validation
    O(m log m) and a product with its m rows. Memory beyond X is below 64 bytes a row and a feature.
    A direct solution costs O(m n^2 + n^3) or O(m^2 n + m^3) for m rows of n features. float32 X
    stays float32. Equal labels everywhere are no error: the scores are then equal too. The
    validation error leaves out queries of one level.

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

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        regularization: str = "tikhonov",
        solver: str = "auto",
        max_iter: int = 500,
        tol: float = 1e-5,
        patience: int = 10,
        kernel: Any = None,
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_features: str = "auto",
        n_components: int | None = None,
        validation_fraction: float = 0.1,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.regularization = regularization
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_features = kernel_features
        self.n_components = n_components
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        qid_val: Any = None,
        sample_weight_val: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn the weights from every difference.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
            With ``kernel="precomputed"`` the kernel matrix of the rows, or a LinearOperator.
        y : array-like of shape (n_rows,) or (n_rows, n_targets), or Pairs
            Numbers, or explicit comparisons; each column of numbers has weights of its own.
        qid : array-like of shape (n_rows,), optional
            Query identifiers, any hashable values in any order; None: all rows are one query.
        sample_weight : array-like of shape (n_rows,), optional
            A pair weighs the product of its rows' weights, n_q is a query's weight.
        X_val, y_val, qid_val, sample_weight_val : optional
            Validation rows, for `validation_curve_` and for "iteration" and "hybrid".
        callback : callable, optional
            Called with a `Step` after every iteration; returning True stops the fit.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Before any work, if input is not finite, lengths differ, a parameter is out of range,
            there is no comparison to learn from, or validation rows are needed and are neither
            given nor to be drawn.
        """
        self._check_parameters()
        X, y, qid, weight = self._check_fit_input(X, y, qid, sample_weight)
        if isinstance(y, Pairs):
            y = y.bound(X.shape[0], ties=False)
        held = self._given(X_val, y_val, qid_val, sample_weight_val, len(columns_of(y)))
        if held is None and self._stops_early:
            y, weight, held = self._drawn(y, qid, weight)
        errors = None if held is None else held.errors()
        preferences = _learnt_from(y, qid, weight, X.shape[0])
        features = self._learnt_features(X)
        watches = None
        if held is not None and errors is not None:
            scores = row_scores(features if held.X is None else self._features(held.X), held.rows)
            patience = int(self.patience) if self._stops_early else None
            watches = [Watch(error, scores, patience) for error in errors]
        self.n_pairs_ = preferences.n_pairs
        solutions = self._solve(features, preferences, columns_of(y), watches, callback)
        conclude(self, solutions, watches, columns_of(y), keep_best=self._stops_early)
        return self

    @property
    def _stops_early(self) -> bool:
        return self.regularization != "tikhonov"

    def _check_parameters(self) -> None:
        unused = self.regularization == "iteration"
        validation.check_number(self.alpha, "alpha", inclusive=unused)
        validation.check_choice(self.regularization, "regularization", REGULARIZATIONS)
        validation.check_choice(self.solver, "solver", ("auto", "cg", "direct"))
        validation.check_number(self.max_iter, "max_iter", low=1, inclusive=True, integer=True)
        validation.check_number(self.tol, "tol")
        validation.check_number(self.patience, "patience", low=1, inclusive=True, integer=True)
        validation.check_number(self.validation_fraction, "validation_fraction")
        if self.validation_fraction >= 1:
            raise PairrankError(
                f"validation_fraction must be below 1, got {self.validation_fraction!r}"
            )
        if self.solver == "direct" and self._stops_early:
            raise PairrankError(
                f'regularization="{self.regularization}" is by iterations, and solver="direct" '
                'takes none: use solver="cg" or regularization="tikhonov"'
            )
        self._check_kernel()

    def _drawn(
        self, y: Any, qid: NDArray[Any] | None, weight: FloatArray | None
    ) -> tuple[Any, FloatArray | None, Held]:
        """Keep validation rows back; return what is left to learn from, and them."""
        generator = np.random.default_rng(self._seed())
        drawn = draw_holdout(y, qid, weight, float(self.validation_fraction), generator)
        rest = (drawn.y_val, drawn.qid_val, drawn.weight_val, len(columns_of(y)))
        return drawn.y, drawn.weight, Held(None, drawn.rows, *rest)

    def _solve(
        self,
        features: Any,
        preferences: Differences | Pairs,
        targets: list[FloatArray | None],
        watches: list[Watch] | None,
        callback: Callback | None,
    ) -> list[Solution]:
        """Solve target by target; one that was interrupted is the last."""
        penalty = 0.0 if self.regularization == "iteration" else 2.0 * float(self.alpha)
        is_kernel = self._is_precomputed
        problem = Problem(features, preferences, Square(), penalty, is_kernel=is_kernel)
        starts = self._starts(len(targets), features.shape[1])
        name = "cg" if self._stops_early else self.solver
        solve = minimizer(problem, Method(name, float(self.tol), int(self.max_iter)))
        return self._solve_each(solve, targets, starts, watches, callback)


def _learnt_from(
    y: Any, qid: NDArray[Any] | None, weight: FloatArray | None, n_rows: int
) -> Differences | Pairs:
    """Return the differences of labels, those of the first target, or the comparisons."""
    if not isinstance(y, Pairs):
        return Differences.build(columns_of(y)[0], qid, sample_weight=weight)
    pairs = y.bound(n_rows, qid=qid, sample_weight=weight, ties=False)
    pairs.require_pairs()
    return pairs
