"""MPRank: magnitude-preserving ranking, the differences of scores those of labels."""

from __future__ import annotations

from typing import Any

from pairrank import _validation as validation
from pairrank.estimators._magnitude import MagnitudeRanker
from pairrank.losses import Square, Tube


class MPRank(MagnitudeRanker):
    r"""MPRank: scores whose differences are those of the labels, over all pairs of rows.

    .. math:: \min_w \|w\|^2 + \sum_q \frac{C}{m_q^2} \sum_{i, j \in q} w_i w_j
              \bigl|(s_i - s_j) - (y_i - y_j)\bigr|^n, \qquad s = X w

    over all differences: both directions, and ties too (Cortes, Mohri & Rastogi 2007, Eq. 24, with
    queries and row weights w_i, m_q those of a query). The size of a preference counts, not only
    its sign. Of `Pairs` it minimises |w|^2 + C/T times the sum of weight |magnitude - d|^n,
    d = s_i - s_j, T their total weight. No pair is listed.

    With n = 2 and one query it is `RankRLS` with alpha = m/(2 C).

    Parameters
    ----------
    C : float, default 1.0
        Weight of the costs, of which a query's are averaged over its m_q^2 pairs: it means the same
        for ten rows and ten million.
    n : 2 or 1, default 2
        The power of an error. 2 is least squares; 1 minds large errors less.
    solver : "auto", "cg", "direct" or "bundle", default "auto"
        For n = 2 "direct" is the closed form, primal (Eq. 27) where rows outnumber features, else
        dual (Eq. 29), "cg" conjugate gradients, and "auto" takes the cheaper one, "cg" if the
        factorisation solves nothing; where that is "cg" but features differ in size, it takes
        Newton steps preconditioned by the Hessian's diagonal. For n = 1 it is "bundle", cutting
        planes.
    max_iter : int, default 1000
        Iterations at the most.
    tol : float, default 1e-4
        For n = 2 stop at \|gradient\| <= tol \|gradient at 0\|; for n = 1 where the duality gap is
        at most tol times the objective, or times \|gradient at 0\|^2/4, the most that it can fall
        by, if that is less.
    kernel : None, "rbf", "poly", "precomputed" or callable, default None
        k(x, x') for scores that are not linear in x; None is linear. With "precomputed", X is the
        training rows' kernel matrix, and to predict k(rows, training rows); for n = 2 it may be a
        scipy LinearOperator, and `coef_` are dual coefficients, one a training row. For the others,
        and the next five parameters, see `pairrank.kernels.FeatureMap`.
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
    warm_start : bool, default False
        Start iterations from the previous `coef_`.
    verbose : int, default 0
        1 prints a line an iteration to standard error.
    random_state : int, RandomState or None, default None
        Seeds the landmarks of "nystroem"; None is a fixed seed.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features), float64
        With a kernel the weights of its features; with "precomputed" and n = 2 dual coefficients.
    n_iter_ : int
        Iterations taken, of several targets the most; 1 for a direct solution.
    best_iteration_ : int
        The last iteration, whose weights `coef_` are.
    status_ : str
        How the solver ended, such as "converged" or "gap_closed".
    history_ : list of Step
        Value, gradient norm and seconds an iteration; of several targets a list of such lists.
    objective_ : float
        The objective at `coef_`, summed over targets.
    gap_ : float
        How far `objective_` may be above the minimum, at most; of n = 1 alone.
    n_pairs_ : int
        The number of differences, m_q^2 a query, or of comparisons.
    validation_curve_ : ndarray of shape (n_iter_ + 1,) or (n_targets, n_iter_ + 1)
        The ranking error on the validation rows along the iterations, where they were given: the
        part of preferences in the wrong order, a query's mean or that of all comparisons; NaN past
        a target's last iteration.
    feature_map_ : FeatureMap
        The features of the kernel, where there are such.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names.

    Notes
    -----
    For n = 2 an iteration costs two products with X and O(n_rows), of Pairs O(n_pairs), a direct
    solution O(m n^2 + n^3) or O(m^2 n + m^3) for m rows of n features; for n = 1 an iteration costs
    two products with X and O(m log m). float32 X stays float32. Equal labels everywhere are no
    error: the scores are then equal too. An offset of all labels of a query changes nothing.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, "Magnitude-preserving ranking algorithms", technical report
    TR2007-887, Courant Institute, 2007. (Eq. 28 should invert I + C' A'A, A the centred columns:
    they do not commute, but pass through. Lemma 1 and Theorem 1 fail for c_HMP, which is neither
    convex nor continuous; for the stability bounds see `pairrank.metrics.stability_bound`.)

    Examples
    --------
    >>> from pairrank import MPRank
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [10, 12, 14, 16]
    >>> MPRank(C=100).fit(X, y).coef_.round(3)
    array([1.992])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        n: int = 2,
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        kernel: Any = None,
        gamma: float | str | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        kernel_features: str = "auto",
        n_components: int | None = None,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.n = n
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_features = kernel_features
        self.n_components = n_components
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        own = ("cg", "direct") if self.n == 2 else ("bundle",)
        validation.check_choice(self.solver, f"solver (for n = {self.n})", ("auto", *own))

    @property
    def _maps_features(self) -> bool:
        """For n = 2 a precomputed kernel is solved as it is."""
        return self.kernel is not None and not (self.n == 2 and self._is_precomputed)

    def _loss(self) -> Square | Tube:
        return Square() if self.n == 2 else Tube(0.0, 1)
