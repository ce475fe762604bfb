"""ConvexHullRanker: an order graph between classes, kept by the convex hulls of their rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from pairrank import _validation as validation
from pairrank._protocols import FloatArray, Solution
from pairrank.estimators._descent import combined
from pairrank.estimators._validated import ValidatedRanker
from pairrank.exceptions import PairrankError
from pairrank.objective import HullObjective
from pairrank.preferences import Levels, Pairs, as_graph
from pairrank.preferences._codes import query_codes
from pairrank.solvers.interior_point import BoundStep, InteriorPoint, LimitSolution

_MOST_EDGES = 1_000_000


class Violations(NamedTuple):
    """The training rows outside the limits of their class, the farthest first.

    Attributes
    ----------
    row : ndarray of int64, shape (n_violations,)
    slack : ndarray of float64, shape (n_violations,)
        How far outside.
    side : ndarray of int8, shape (n_violations,)
        1 above the upper limit, -1 below the lower one; of two limits crossed, the one farther off.
    """

    row: NDArray[np.int64]
    slack: FloatArray
    side: NDArray[np.int8]


class ConvexHullRanker(ValidatedRanker):
    r"""Rank by separating the convex hulls of classes along an order graph (Fung et al. 2006).

    .. math:: \min_w \nu \sum_i \omega_i y_i^2 + \tfrac12 \|w\|^2

    where every edge P -> Q of the graph (Q preferred) asks, of all points of the two classes'
    convex hulls, that those of Q score higher by a margin of 1, less the slacks y of the rows
    around them (formulation 28). Each row has one slack for all edges of its class. That is the
    same as limits that a class shares: an upper one L where it is the lower end of an edge, a lower
    one U where it is the higher end, U_Q - L_P >= 1 on every edge, and
    y_i = max(0, s_i - L, U - s_i). There are n_features + 2 n_classes unknowns, however many rows
    and pairs.

    Parameters
    ----------
    nu : float, default 1.0
        What a squared slack costs.
    graph : "chain", "full" or OrderGraph, default "chain"
        Which classes are preferred to which: the next higher one present in the query, every higher
        one, or explicit edges (low, high) without a cycle; several parts are welcome, and a class
        that no edge names has no say.
    kernel : None, "rbf", "poly", "precomputed" or callable, default None
        k(x, x') for scores that are not linear in x (formulation 27); None is linear. See
        `pairrank.kernels.FeatureMap` for this and the next five.
    regularizer : "rkhs" or "coefficients", default "rkhs"
        With a kernel, the penalty on s(x) = sum over j of v_j k(x, x_j): half the kernel's norm,
        v' K v/2, or half of v' v, as formulation (27) has it; there a landmark of weight omega
        counts as omega of them.
    gamma : float, "scale" or None, default None
        Of "rbf" and "poly"; None is 1/n_features.
    degree : int, default 3
        Of "poly".
    coef0 : float, default 1.0
        Of "poly".
    kernel_features : "auto", "exact" or "nystroem", default "auto"
        Every training row as landmark x_j, or a sample of them.
    n_components : int, optional
        The number of landmarks of "nystroem".
    tol : float, default 1e-6
        The objective ends no more than this part above the optimum, by the proof of a dual bound.
    max_iter : int, default 100
        Iterations at the most; ten to thirty are usual.
    verbose : int, default 0
        1 prints a line an iteration to standard error.
    random_state : int, RandomState or None, default None
        Seeds the sample of "nystroem"; None is a fixed seed.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
        With a kernel, the weights of its features; v is ``feature_map_.projection_ @ coef_``.
    limits_ : ndarray of shape (n_groups, 2)
        The lower and the upper limit of the scores of each class, with queries of each class in
        each query: -inf or inf where no edge asks for one.
    limit_labels_ : ndarray of shape (n_groups,)
        Which class each row of `limits_` is of.
    limit_qid_ : ndarray of shape (n_groups,)
        And of which query, where `qid` was given.
    slacks_ : ndarray of shape (n_rows,)
        How far each training row is outside its limits, 0 inside.
    objective_, lower_bound_ : float
        The objective reached, and what no weights can go below.
    n_pairs_, n_edges_ : int
        The number of preferences, and of edges between classes of a query.
    n_iter_ : int
    status_ : str
        How the solver ended, such as "converged".
    validation_scores_ : ndarray of shape (n_iter_ + 1,)
        Pairwise accuracy on the validation rows along the iterations, where they were given.
    history_ : list of BoundStep
        Objective, lower bound and seconds an iteration.
    feature_map_ : FeatureMap
        The features of the kernel, where there is one.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names.

    Notes
    -----
    An interior point method takes ten to thirty Newton steps of O(n_rows n_features^2), whatever
    the numbers of pairs and queries; beyond 2,000 features and 4,000 rows, of conjugate gradients
    in products with X. With queries the limits are a query's own and the weights shared. "full" has
    an edge for any two classes of a query: with S classes, O(S^3) a step beside the rows'.

    With two classes the optimum is half of the squared hinge support vector machine's with C = nu
    and a free intercept.

    The paper's Sections 1 and 2 disagree on the direction of an edge; here (low, high) holds.

    References
    ----------
    G. Fung, R. Rosales and B. Krishnapuram, "Learning rankings via convex hull separation", NIPS
    18, 2006.

    Examples
    --------
    >>> from pairrank import ConvexHullRanker
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> ranker = ConvexHullRanker(nu=1e6).fit(X, y)
    >>> ranker.coef_.round(3), ranker.limits_.round(3)
    (array([1.]), array([[-inf,   1.],
           [  2.,  inf]]))
    """

    def __init__(
        self,
        nu: float = 1.0,
        *,
        graph: Any = "chain",
        kernel: Any = None,
        regularizer: Literal["rkhs", "coefficients"] = "rkhs",
        gamma: float | Literal["scale"] | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_features: Literal["auto", "exact", "nystroem"] = "auto",
        n_components: int | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.nu = nu
        self.graph = graph
        self.kernel = kernel
        self.regularizer = regularizer
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_features = kernel_features
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
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
        callback: Callable[[BoundStep], object] | None = None,
    ) -> Self:
        """Learn the weights and the limits.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Classes: numbers, or text where `graph` is an OrderGraph.
        qid : array-like of shape (n_rows,), optional
            Query identifiers, any hashable values in any order; None: all rows are one query.
        sample_weight : array-like of shape (n_rows,), optional
            Multiplies a row's squared slack: 2 is the row twice, 0 its absence.
        X_val, y_val, qid_val, sample_weight_val : optional
            Validation rows, for `validation_scores_`.
        callback : callable, optional
            Called with a `BoundStep` after every iteration; returning True stops the fit.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Before any work, if input is not finite, lengths differ, a parameter is out of range,
            the graph has a cycle or there is no preference to learn from.
        """
        self._check_parameters()
        if isinstance(y, Pairs):
            raise PairrankError(
                "ConvexHullRanker learns from classes and a graph between them, got Pairs: give a "
                "label a row, or use RankSVM for comparisons"
            )
        X, y, identifiers, weights = self._check_fit_input(X, y, qid, sample_weight)
        checked_val = self._check_validation(X_val, y_val, qid_val, sample_weight_val)
        levels = Levels.build(y, identifiers, graph=self.graph, sample_weight=weights)
        levels.require_pairs()
        _check_edges(levels)
        features, lift = self._penalised_features(X, weights)
        objective = HullObjective(features, levels, float(self.nu))

        def coefficients(w: FloatArray) -> FloatArray:
            own = objective.coefficients(w)
            return own if lift is None else lift @ own

        shown: list[Any] = [_printer(self.verbose), self._validator(*checked_val), callback]
        solution = InteriorPoint()(
            objective,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            callback=_in_coefficients(combined(*shown), coefficients),
        )
        history: Any = solution.history
        self._keep(Solution(coefficients(solution.coef), solution.status, solution.n_iter, history))
        self.n_pairs_, self.n_edges_ = levels.n_pairs, objective.edges.shape[0]
        self.lower_bound_ = solution.lower_bound
        self._keep_limits(objective, solution, levels)
        self._name_limits(levels, identifiers, weights)
        return self

    def violations(self) -> Violations:
        """Return the training rows outside the limits of their class, the farthest first.

        Returns
        -------
        Violations
            The rows, how far outside they are, and on which side.

        Raises
        ------
        PairrankError
            If the ranker comes from a model file, which holds no training rows.
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        if not hasattr(self, "slacks_"):
            raise PairrankError(
                "a ranker from a model file knows no training rows, so it lists no violations: fit "
                "it again"
            )
        rows = np.flatnonzero(self.slacks_)
        rows = rows[np.argsort(-self.slacks_[rows], kind="stable")]
        return Violations(rows, self.slacks_[rows], self._sides[rows])

    def _check_parameters(self) -> None:
        validation.check_number(self.nu, "nu")
        validation.check_number(self.tol, "tol")
        validation.check_number(self.max_iter, "max_iter", inclusive=True, integer=True)
        validation.check_choices(self)
        as_graph(self.graph)
        self._check_kernel()
        if self.kernel is None and self.regularizer == "coefficients":
            raise PairrankError(
                'regularizer="coefficients" is of a kernel\'s expansion: give a kernel, or leave '
                'regularizer="rkhs"'
            )

    def _penalised_features(
        self, X: Any, sample_weight: FloatArray | None
    ) -> tuple[Any, FloatArray | None]:
        """Return what is penalised by its plain norm, and the matrix from its weights to `coef_`.

        A kernel's features z have the weights diag(lambda)^(1/2) U' v and the norm v' K v. For the
        norm of v itself the weights are M v, M = diag(lambda)^(1/2) U' diag(omega)^(1/2), v in the
        span of M' alone: a landmark of weight omega stands for omega equal ones.
        """
        features = self._learnt_features(X)
        if self.regularizer == "rkhs":
            return features, None
        feature_map = self.feature_map_
        lift = np.diag(np.sqrt(feature_map.eigenvalues_))
        if sample_weight is not None and feature_map.method_ == "exact":
            expansion = feature_map.eigenvalues_[:, None] * feature_map.projection_.T
            left, values, _ = linalg.svd(expansion * np.sqrt(sample_weight), full_matrices=False)
            lift = left * values
        return features @ lift, lift

    def _keep_limits(
        self, objective: HullObjective, solution: LimitSolution, levels: Levels
    ) -> None:
        """Set the limits, counted from a score of 0, and what lies outside of them."""
        limits = np.where(objective.bounded, solution.limits, [[-np.inf], [np.inf]])
        self.limits_ = np.tile([-np.inf, np.inf], (levels.group_level.size, 1))
        self.limits_[objective.groups] = (limits + objective.offsets(solution.coef)).T
        lower, upper = objective.by_row(limits)
        scores = objective.scores(solution.coef)
        below, above = lower - scores, scores - upper
        self.slacks_ = np.zeros(levels.n_rows)
        self.slacks_[objective.row_of] = np.maximum(0.0, np.maximum(below, above))
        self._sides = np.zeros(levels.n_rows, dtype=np.int8)
        self._sides[objective.row_of] = np.where(above >= below, 1, -1)

    def _name_limits(
        self, levels: Levels, qid: NDArray[Any] | None, sample_weight: FloatArray | None
    ) -> None:
        self.limit_labels_ = levels.labels[levels.group_level]
        self.__dict__.pop("limit_qid_", None)
        if qid is None:
            return
        kept = qid if sample_weight is None else qid[sample_weight > 0]
        self.limit_qid_ = np.repeat(query_codes(kept)[0], np.diff(levels.query_group))


def _in_coefficients(
    callback: Callable[[Any], object] | None, coefficients: Callable[[Any], FloatArray]
) -> Callable[[BoundStep], object] | None:
    """Return a callback that is handed the weights as `coef_` will have them."""
    if callback is None:
        return None
    return lambda step: callback(step._replace(coef=coefficients(step.coef)))


def _printer(verbose: int) -> Callable[[Any], object] | None:
    """Return a callback that prints a line an iteration to standard error, or None."""
    if not verbose:
        return None

    def show(step: BoundStep) -> None:
        print(
            f"iteration {step.n_iter:4d}  objective {step.value:.8e}  "
            f"lower bound {step.lower_bound:.8e}  {step.seconds:.2f} s",
            file=sys.stderr,
        )

    return show


def _check_edges(levels: Levels) -> None:
    if levels.edges is not None:
        return
    sizes = np.diff(levels.query_group)
    n_edges = int((sizes * (sizes - 1) // 2).sum())
    if n_edges > _MOST_EDGES:
        raise PairrankError(
            f'graph="full" has {n_edges} edges between the classes of y, at most {_MOST_EDGES} '
            'can be kept: use graph="chain", or bins of y (pairrank.datasets.discretize)'
        )
