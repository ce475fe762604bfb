"""RankSVM: large-scale linear ranking support vector machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank import _validation as validation
from pairrank._protocols import FloatArray
from pairrank.estimators._pair_loss import PairLossRanker, Problem
from pairrank.exceptions import PairrankError
from pairrank.losses import LOSSES
from pairrank.preferences import Preferences

_NAMES = ("squared_hinge", "hinge")


class RankSVM(PairLossRanker):
    r"""Linear RankSVM with the squared hinge or the hinge over every pair (Lee & Lin 2014).

    .. math:: \min_w \tfrac12 \|w\|^2 + C \, a \sum_{(i, j)} \max(0, 1 - w^T (x_i - x_j))^p

    over all preferences (i, j), i preferred to j; p = 2 is Eq. 3, p = 1 Eq. 2. The squared hinge is
    solved by a trust region Newton method, the hinge by cutting planes (the TreeRankSVM of Airola
    et al. 2011), and both by sums over pairs that cost O(m log k) for m rows of k levels, never
    O(m^2).

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss.
    loss : "squared_hinge" or "hinge", default "squared_hinge"
        What a pair costs, p = 2 or 1. Both rank about as well (Lee & Lin, Section 4.4); the squared
        hinge is solved faster, the hinge minds outliers less.
    graph : "full", "chain" or OrderGraph, default "full"
        Which labels are preferred to which: every higher one, the next higher one present in the
        query (the paper's partial pairs), or explicit edges (low, high).
    reduction : "auto", "rows", "query" or "sum", default "auto"
        The factor a: W/T for "rows", so that C means the same for ten rows and ten million; 1 for
        "sum", the paper's plain sum; "query" takes (W/n_queries) times the sum over queries of
        their mean pair loss. W is the total row weight, T the total pair weight. "auto" is "rows"
        for labels and "sum" for Pairs, where every further comparison adds to what is known.
    tol : float, default 1e-3
        Stop at \|gradient\| <= tol \|gradient at 0\|. With cutting planes, where the duality gap,
        how far above its minimum the objective may be, is at most tol times the objective, or times
        \|gradient at 0\|^2/2, the most that it can fall by, if that is less.
    max_iter : int, default 1000
        Newton steps, or cutting planes, at the most.
    solver : "auto", "tron" or "bundle", default "auto"
        "tron" takes every Hessian product over every pair, as in the paper. "auto" takes the
        Hessian from a sample where that is cheaper; value and gradient are of every pair, so the
        optimum is the same. "bundle" is cutting planes, `pairrank.solvers.bundle.Bundle`; so is
        "auto" for the hinge, which has no Hessian, but of many rows it starts from a sample's
        solution.
    pair_sum : "auto", "sorted", "selection_tree", "level_counting" or "direct", default "auto"
        The algorithm of the pair sum; all give the same numbers. "direct" is every pair.
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
        Newton steps, or cutting planes, on all rows.
    status_ : str
        How the solver ended, such as "converged" or "gap_closed".
    history_ : list of Step
        Value, gradient norm, seconds, evaluations, Hessian products and gap an iteration.
    objective_ : float
        The objective at `coef_`.
    gap_ : float
        How far `objective_` may be above the minimum, at most; of cutting planes alone.
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
    A Newton step or a cutting plane costs two products with X and O(m log m) for sorting the
    scores. Memory beyond X is below 120 bytes a row; at most 128 planes take 8 bytes a feature
    each, 256 MB in all. float32 X stays float32.

    References
    ----------
    C.-P. Lee and C.-J. Lin, "Large-scale linear RankSVM", Neural Computation 26(4), 2014. (Its
    Eq. 5 means y_i > y_s, and Eq. 27 sums x_j.) For the hinge T. Joachims, "Training linear SVMs in
    linear time", KDD 2006; C. H. Teo, S. V. N. Vishwanathan, A. Smola and Q. V. Le, "Bundle methods
    for regularized risk minimization", JMLR 11, 2010; V. Franc and S. Sonnenburg, "Optimized
    cutting plane algorithm for large-scale risk minimization", JMLR 10, 2009; A. Airola, T.
    Pahikkala and T. Salakoski, "Training linear ranking SVMs in linearithmic time using red-black
    trees", Pattern Recognition Letters 32, 2011.

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
        reduction: str = "auto",
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
        self.reduction = reduction
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
        validation.check_choice(self.loss, "loss", _NAMES)
        validation.check_choice(self.solver, "solver", ("auto", "tron", "bundle"))
        if self.loss == "hinge" and self.solver == "tron":
            raise PairrankError(
                'solver="tron" needs second derivatives, of which the hinge has none: use '
                'solver="bundle" (or "auto"), or loss="squared_hinge"'
            )
        validation.check_number(self.C, "C")
        super()._check_parameters()

    def _problem(self) -> Problem:
        return Problem(LOSSES[self.loss](), float(self.C), penalty=1.0, solver=self.solver)

    def _conclude(
        self,
        X: Any,
        preferences: Preferences,
        qid: NDArray[Any] | None,
        sample_weight: FloatArray | None,
    ) -> None:
        self.__dict__.pop("gap_", None)
        if self.history_ and not np.isnan(self.history_[-1].gap):
            self.gap_ = self.history_[-1].gap
