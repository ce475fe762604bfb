"""SVRank: magnitude-preserving ranking that forgives small errors of a difference."""

from __future__ import annotations

from typing import Any

from pairrank import _validation as validation
from pairrank.estimators._magnitude import MagnitudeRanker
from pairrank.losses import Tube


class SVRank(MagnitudeRanker):
    r"""SVRank: support vector regression on the differences of all pairs of rows.

    .. math:: \min_w \|w\|^2 + \sum_q \frac{C}{m_q^2} \sum_{i, j \in q} w_i w_j
              \max\bigl(0, \bigl|(s_i - s_j) - (y_i - y_j)\bigr| - \epsilon\bigr)^n,
              \qquad s = X w

    over all differences: both directions, and ties too (Cortes, Mohri & Rastogi 2007, Eq. 25, with
    queries and row weights w_i, m_q those of a query). Of `Pairs` it minimises |w|^2 + C/T times
    the sum of weight max(0, |magnitude - d| - epsilon)^n, d = s_i - s_j, T their total weight. The
    paper solves a quadratic program over all m^2 pairs; here a step sorts the residuals.

    With epsilon = 0 it is `MPRank` of the same n.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the costs, of which a query's are averaged over its m_q^2 pairs: it means the same
        for ten rows and ten million.
    epsilon : float, default 0.1
        What a difference of scores may be off by at no cost, in the unit of y.
    n : 1 or 2, default 1
        The power of what an error exceeds epsilon by.
    solver : "auto", "bundle" or "tron", default "auto"
        For n = 1 "bundle", cutting planes; for n = 2 "tron", trust region Newton.
    max_iter : int, default 1000
        Iterations at the most.
    tol : float, default 1e-4
        For n = 1 stop where the duality gap is at most tol times the objective, or times
        \|gradient at 0\|^2/4, the most that it can fall by, if that is less; for n = 2 at
        \|gradient\| <= tol \|gradient at 0\|.
    kernel : None, "rbf", "poly", "precomputed" or callable, default None
        k(x, x') for scores that are not linear in x; None is linear. With "precomputed", X is the
        training rows' kernel matrix, and to predict k(rows, training rows). For this and the next
        five parameters see `pairrank.kernels.FeatureMap`.
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
        Start from the previous `coef_`.
    verbose : int, default 0
        1 prints a line an iteration to standard error.
    random_state : int, RandomState or None, default None
        Seeds the landmarks of "nystroem"; None is a fixed seed.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features), float64
        With a kernel the weights of its features.
    n_iter_ : int
        Iterations taken, of several targets the most.
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
        The features of the kernel, where there is one.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names.

    Notes
    -----
    An iteration costs two products with X and O(m log m) for m rows, of Pairs O(n_pairs); for n = 2
    so does every product with the Hessian, bar the logarithm. Where least squares over the same
    pairs are solved by a small factorisation (`MPRank`), their solution is the start. float32 X
    stays float32. Labels that differ by no more than epsilon are no error: the scores are then
    equal.

    References
    ----------
    C. Cortes, M. Mohri and A. Rastogi, "Magnitude-preserving ranking algorithms", technical report
    TR2007-887, Courant Institute, 2007. (The dual in its Section 3.2 should have -1/4 for +1/2
    before the quadratic term, epsilon times the sum of alpha* + alpha, and C/m^2 for C in the box;
    for the stability bounds see `pairrank.metrics.stability_bound`.)

    Examples
    --------
    >>> from pairrank import SVRank
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [10, 12, 14, 16]
    >>> SVRank(C=100, epsilon=0.3, n=2).fit(X, y).coef_.round(2)
    array([1.88])
    """

    def __init__(
        self,
        C: float = 1.0,
        epsilon: float = 0.1,
        *,
        n: int = 1,
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
        self.epsilon = epsilon
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

    @property
    def _epsilon(self) -> float:
        return float(self.epsilon)

    @property
    def _maps_features(self) -> bool:
        """A precomputed kernel becomes features too."""
        return self.kernel is not None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validation.check_number(self.epsilon, "epsilon", inclusive=True)
        own = "tron" if self.n == 2 else "bundle"
        validation.check_choice(self.solver, f"solver (for n = {self.n})", ("auto", own))

    def _loss(self) -> Tube:
        return Tube(float(self.epsilon), int(self.n))
