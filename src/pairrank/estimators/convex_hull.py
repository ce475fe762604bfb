"""ConvexHullRanker: classes in the order of a graph, separated by their convex hulls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from pairrank import _validation as validation
from pairrank._protocols import FloatArray, Status, Step
from pairrank.estimators._base import Graph
from pairrank.estimators._docstrings import ranker
from pairrank.estimators._fit import Solve, SolvedRanker
from pairrank.estimators._rows import Rows
from pairrank.exceptions import PairrankError
from pairrank.objective import HullObjective
from pairrank.objective.limit_rows import LimitRows
from pairrank.preferences import Levels, Pairs, as_graph
from pairrank.preferences._codes import query_codes
from pairrank.preferences.roles import OF_CLASSES
from pairrank.solvers.limits import minimize_with_limits

_MOST_EDGES = 1_000_000


class Violations(NamedTuple):
    """The training rows outside the limits of their class, the farthest first.

    Attributes
    ----------
    row : ndarray of int64, shape (n_violations,)
    slack : ndarray of float64, shape (n_violations,)
        The distance from the limit.
    side : ndarray of int8, shape (n_violations,)
        1 above the upper limit, -1 below the lower one; the farther limit if both are crossed.
    """

    row: NDArray[np.int64]
    slack: FloatArray
    side: NDArray[np.int8]


@ranker
class ConvexHullRanker(SolvedRanker):
    r"""Rank by separating the convex hulls of classes along an order graph (Fung et al. 2006).

    .. math:: \min_w \nu \sum_i \omega_i y_i^2 + \tfrac12 \|w\|^2

    Every edge P -> Q of the graph (Q preferred) requires each point of Q's convex hull to score
    higher than each point of P's by a margin of 1, less the slacks y of the rows around them
    (formulation 28). Each row has one slack for all edges of its class. This is equivalent to
    limits that the rows of a class share: an upper one L where it is the lower end of an edge, a
    lower one U where it is the higher end, U_Q - L_P >= 1 on every edge, and
    y_i = max(0, s_i - L, U - s_i). There are n_features + 2 n_classes unknowns, whatever the number
    of rows and pairs.

    Parameters
    ----------
    nu : float, default 0.1
        The cost of a squared slack.
    graph : "chain", "full" or OrderGraph, default "chain"
        Which classes are preferred to which: the next higher one present in the query, every higher
        one, or explicit edges (low, high) without a cycle. The graph may be in several parts; a
        class without an edge is ignored.
    regularizer : "rkhs" or "coefficients", default "rkhs"
        With a kernel, the penalty on s(x) = sum over j of v_j k(x, x_j): "rkhs" is half the
        kernel's norm, v' K v/2; "coefficients" is half of v' v (formulation 27), where a landmark
        of weight omega counts as omega landmarks.
    tol : float, default 1e-6
        Stop when the objective exceeds a dual lower bound by at most this share of it.
    max_iter : int, default 100
        The largest number of iterations; ten to thirty are usual.
    verbose : int, default 0
        1 prints one line per iteration to standard error.
    random_state : int, RandomState or None, default None
        Seeds the sample of "nystroem"; None is a fixed seed.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
        With a kernel, the weights of its features; v is ``kernel_.projection_ @ coef_``.
    limits_ : ndarray of shape (n_groups, 2)
        The lower and the upper limit of the scores of each class (with queries, of each class in
        each query): -inf or inf where no edge requires one.
    limit_labels_ : ndarray of shape (n_groups,)
        The class of each row of `limits_`.
    limit_qid_ : ndarray of shape (n_groups,)
        Its query, where `qid` was given.
    slacks_ : ndarray of shape (n_rows,)
        How far each training row is outside its limits, 0 inside.
    objective_, lower_bound_, gap_ : float
        The objective reached, a bound that no weights can go below, and their difference.
    n_pairs_, n_edges_ : int
        The number of preferences, and of edges between classes of a query.
    history_ : list of Step
        Objective, gap and seconds of each iteration.
    kernel_

    Notes
    -----
    An interior point method takes ten to thirty Newton steps of O(n_rows n_features^2), whatever
    the numbers of pairs and queries; beyond 2,000 features and 4,000 rows, steps use conjugate
    gradients and products with X. Each query has its own limits; the weights are shared. "full" has
    an edge for any two classes of a query: with S classes it adds O(S^3) per step.

    It needs all rows in memory; `RankSVM` with the same graph learns from RowBlocks.

    With two classes the optimum is half of the squared hinge support vector machine's with C = nu
    and a free intercept. The paper's Sections 1 and 2 disagree on the direction of an edge; here
    (low, high) holds.

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

    _role_refusal, _learns_pairs = OF_CLASSES, False
    _strength, _searched = "nu", tuple(10.0**power for power in range(-6, 5))
    nu: float = 0.1
    _: KW_ONLY
    graph: Graph = "chain"
    regularizer: Literal["rkhs", "coefficients"] = "rkhs"
    tol: float = 1e-6
    max_iter: int = 100

    def violations(self) -> Violations:
        """Return the training rows outside the limits of their class, the farthest first.

        A ranker from a model file holds no training rows: a PairrankError.

        Returns
        -------
        Violations
        """
        check_is_fitted(self)
        if not hasattr(self, "slacks_"):
            raise PairrankError(
                "a ranker from a model file has no training rows, so it lists no violations: fit "
                "it again"
            )
        rows = np.flatnonzero(self.slacks_)
        rows = rows[np.argsort(-self.slacks_[rows], kind="stable")]
        return Violations(rows, self.slacks_[rows], self._sides[rows])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validation.check_number(self.nu, "nu")
        as_graph(self.graph)
        if self._is_linear and self.regularizer == "coefficients":
            raise PairrankError(
                'regularizer="coefficients" needs a kernel: give one, or leave regularizer="rkhs"'
            )

    def _preferences(self, rows: Rows) -> Levels:
        if isinstance(rows.y, Pairs):
            raise PairrankError(
                "ConvexHullRanker learns from classes and a graph between them, got Pairs: give "
                "each row a label, or use RankSVM for comparisons"
            )
        levels = Levels.build(rows.y, graph=self.graph, **rows.layout)
        levels.require_pairs()
        _check_edges(levels)
        return levels

    def _solver_of(self, rows: Rows, features: Any, preferences: Levels) -> Solve:
        lift = self._lift(rows.sample_weight)
        objective = HullObjective(features if lift is None else features @ lift, preferences, 1.0)
        objective.cost *= float(self.nu)

        def coefficients(w: FloatArray) -> FloatArray:
            own = objective.coefficients(w)
            return own if lift is None else lift @ own

        def solve(target: Any, start: None, callback: Callable[[Step], Any] | None) -> _Hull:
            points: list[Any] = []

            def converted(step: Step, limits: FloatArray) -> Any:
                points.append((step.coef, limits))
                if callback is not None and step.coef is not None:
                    return callback(step._replace(coef=coefficients(step.coef)))
                return None

            stops: Any = {"tol": float(self.tol), "max_iter": int(self.max_iter)}
            found = minimize_with_limits(LimitRows(objective), **stops, callback=converted)
            points[found.n_iter :] = [(found.coef, found.limits)]
            ended = found.status, found.n_iter, found.history, found.lower_bound
            return _Hull(coefficients(found.coef), *ended, points, objective)

        return solve

    def _lift(self, weight: FloatArray | None) -> FloatArray | None:
        """Return the matrix from the penalised weights to `coef_`; None where they are the same.

        A kernel's features z have the weights diag(lambda)^(1/2) U' v and the norm v' K v. For the
        norm of v itself the weights are M v, M = diag(lambda)^(1/2) U' diag(omega)^(1/2), v in the
        span of M' alone: a landmark of weight omega stands for omega equal ones.
        """
        if self.regularizer == "rkhs":
            return None
        kernel = self.kernel_
        if weight is None or kernel.method_ != "exact":
            return np.diag(np.sqrt(kernel.eigenvalues_))
        expansion = kernel.eigenvalues_[:, None] * kernel.projection_.T
        left, values, _ = linalg.svd(expansion * np.sqrt(weight), full_matrices=False)
        return left * values

    def _conclude(
        self, rows: Rows, features: Any, preferences: Levels, solutions: list[_Hull]
    ) -> None:
        hull = solutions[0]
        self.lower_bound_, self.n_edges_ = hull.lower_bound, hull.objective.edges.shape[0]
        coef, found = hull.points[self.best_iteration_]
        limits = _limits_of(coef, found, hull.objective, preferences)
        self.limits_, self.slacks_, self._sides = limits
        self.limit_labels_ = preferences.labels[preferences.group_level]
        if rows.qid is not None:
            weight = rows.sample_weight
            kept = rows.qid if weight is None else rows.qid[weight > 0]
            per_query = np.diff(preferences.query_group)
            self.limit_qid_ = np.repeat(query_codes(kept)[0], per_query)


class _Hull(NamedTuple):
    """A solution: the weights for `coef_`, and weights and limits at each iteration."""

    coef: FloatArray
    status: Status
    n_iter: int
    history: list[Step]
    lower_bound: float
    points: list[tuple[FloatArray, FloatArray]]
    objective: HullObjective


def _limits_of(
    coef: FloatArray, found: FloatArray, objective: HullObjective, levels: Levels
) -> tuple[FloatArray, FloatArray, NDArray[np.int8]]:
    """Return the limits found with some weights by class, and slacks and sides by row."""
    limits = np.where(objective.bounded, found, [[-np.inf], [np.inf]])
    by_class = np.tile([-np.inf, np.inf], (levels.group_level.size, 1))
    by_class[objective.groups] = (limits + objective.offsets(coef)).T
    scores = objective.scores(coef)
    slacks, sides = np.zeros(levels.n_rows), np.zeros(levels.n_rows, dtype=np.int8)
    for piece in objective.pieces:
        (lower, upper), own = piece.by_row(limits), scores[piece.rows]
        below, above = lower - own, own - upper
        rows = objective.row_of[piece.rows]
        slacks[rows] = np.maximum(0.0, np.maximum(below, above))
        sides[rows] = np.where(above >= below, 1, -1)
    return by_class, slacks, sides


def _check_edges(levels: Levels) -> None:
    if levels.edges is not None:
        return
    sizes = np.diff(levels.query_group)
    n_edges = int((sizes * (sizes - 1) // 2).sum())
    if n_edges > _MOST_EDGES:
        raise PairrankError(
            f'graph="full" has {n_edges} edges between the classes of y, at most {_MOST_EDGES} '
            'can be kept: use graph="chain", or bins of y (numpy.digitize)'
        )
