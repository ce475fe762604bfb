"""RankSVM: large-scale linear ranking support vector machine."""

from __future__ import annotations

from typing import Any

from pairrank import _validation as validation
from pairrank.estimators._pair_loss import PairLossRanker, Problem
from pairrank.exceptions import PairrankError
from pairrank.losses import SquaredHinge


class RankSVM(PairLossRanker):
    r"""Linear RankSVM with the squared hinge loss over every pair (Lee & Lin 2014, Eq. 3).

    .. math:: \min_w \tfrac12 \|w\|^2 + C \, a \sum_{(i, j)} \max(0, 1 - w^T (x_i - x_j))^2

    over all preferences (i, j), i preferred to j, solved by a trust region Newton method whose sums
    over pairs cost O(m log k) for m rows of k levels, never O(m^2).

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss.
    loss : "squared_hinge"
        What a pair costs.
    graph : "full", "chain" or OrderGraph, default "full"
        Which labels are preferred to which: every higher one, the next higher one present in the
        query (the paper's partial pairs), or explicit edges (low, high).
    normalize : "rows", "query" or None, default "rows"
        The factor a: W/T for "rows", so that C means the same for ten rows and ten million; 1 for
        None, the paper's plain sum; "query" takes (W/n_queries) times the sum over queries of their
        mean pair loss. W is the total row weight, T the total pair weight.
    tol : float, default 1e-3
        Stop at \|gradient\| <= tol \|gradient at 0\|.
    max_iter : int, default 1000
        Newton steps at the most.
    solver : "auto" or "tron", default "auto"
        "tron" takes every Hessian product over every pair, as in the paper. "auto" takes the
        Hessian from a sample where that is cheaper; value and gradient are of every pair, so the
        optimum is the same.
    pair_sum : "auto", "flat_tree", "selection_tree" or "direct", default "auto"
        The algorithm of the pair sum; all give the same numbers.
    kernel : None, "rbf", "poly", "precomputed" or callable, default None
        k(x, x') for scores that are not linear in x; None is linear. See
        `pairrank.kernels.FeatureMap` for this and the next five; "poly" with degree=2 and gamma=1
        is (x.y + c)^2, the quadratic RankSVM of Raykar's comparison.
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
        Seeds the samples behind "auto" and "nystroem"; None is a fixed seed, so that two fits
        agree.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
        With a kernel, the weights of its features.
    n_iter_ : int
        Newton steps taken on all rows.
    status_ : str
        How the solver ended, such as "converged".
    history_ : list of Step
        Value, gradient norm, seconds, evaluations and Hessian products an iteration.
    objective_ : float
        The objective at `coef_`.
    n_pairs_ : int
        The number of preferences.
    feature_map_ : FeatureMap
        The features of the kernel, where there is one.
    validation_scores_ : ndarray of shape (n_iter_ + 1,)
        Pairwise accuracy on the validation rows along the iterations, where they were given.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had names.

    Notes
    -----
    A Newton step costs two products with X and O(m log m) for sorting the scores. Memory beyond X
    is below 120 bytes a row. float32 X stays float32.

    References
    ----------
    C.-P. Lee and C.-J. Lin, "Large-scale linear RankSVM", Neural Computation 26(4), 2014. (Its
    Eq. 5 means y_i > y_s, and Eq. 27 sums x_j.)

    Examples
    --------
    >>> from pairrank import RankSVM
    >>> X, y, qid = [[0.0], [1.0], [2.0], [0.5]], [0, 1, 2, 0], ["a", "a", "b", "b"]
    >>> RankSVM().fit(X, y, qid=qid).rank(X, qid=qid)
    array([2, 1, 1, 2])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared_hinge",
        graph: Any = "full",
        normalize: str | None = "rows",
        tol: float = 1e-3,
        max_iter: int = 1000,
        solver: str = "auto",
        pair_sum: str = "auto",
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
        self.loss = loss
        self.graph = graph
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.pair_sum = pair_sum
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
        if self.loss == "hinge":
            raise PairrankError('loss="hinge" is not available yet: use loss="squared_hinge"')
        validation.check_choice(self.loss, "loss", ("squared_hinge",))
        validation.check_choice(self.solver, "solver", ("auto", "tron"))
        validation.check_number(self.C, "C")
        super()._check_parameters()

    def _problem(self) -> Problem:
        return Problem(SquaredHinge(), factor=float(self.C), penalty=1.0, solver=self.solver)
