"""RankSVM: large-scale linear ranking support vector machine."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pairrank import _validation as validation
from pairrank._protocols import Callback, Step
from pairrank.design import Design
from pairrank.estimators._base import BaseRanker
from pairrank.estimators._descent import combined, minimize, progress_printer
from pairrank.exceptions import PairrankError
from pairrank.losses import SquaredHinge


class RankSVM(BaseRanker):
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
    warm_start : bool, default False
        Start from the previous `coef_`.
    verbose : int, default 0
        1 prints a line an iteration to standard error.
    random_state : int, RandomState or None, default None
        Seeds the sample behind "auto"; None is a fixed seed, so that two fits agree.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,), float64
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
        """Learn the weights from every preference.

        Parameters
        ----------
        X : array-like, CSR matrix or frame of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), or Pairs
            Labels (numbers, or text where `graph` is an OrderGraph), or explicit comparisons.
        qid : array-like of shape (n_rows,), optional
            Query identifiers, any hashable values in any order; None: all rows are one query.
        sample_weight : array-like of shape (n_rows,), optional
            A pair weighs the product of its rows' weights.
        X_val, y_val, qid_val, sample_weight_val : optional
            Validation rows, for `validation_scores_`.
        callback : callable, optional
            Called with a `Step` after every iteration; returning True stops the fit.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Before any work, if input is not finite, lengths differ, a parameter is out of range, or
            there is no preference to learn from.
        """
        self._check_parameters()
        X, y, identifiers, weights = self._check_fit_input(X, y, qid, sample_weight)
        validate = self._validator(X_val, y_val, qid_val, sample_weight_val)
        preferences = self._preferences(y, identifiers, weights, X.shape[0], self.normalize)
        n_pairs = preferences.n_pairs
        solution = minimize(
            X,
            preferences,
            SquaredHinge(),
            factor=float(self.C),
            penalty=1.0,
            route=self.pair_sum,
            solver=self.solver,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            w0=self._start(X.shape[1]),
            seed=self._seed(),
            callback=combined(progress_printer(self.verbose, n_pairs), validate, callback),
        )
        self._keep(solution)
        self.n_pairs_ = n_pairs
        return self

    def _check_parameters(self) -> None:
        if self.loss == "hinge":
            raise PairrankError('loss="hinge" is not available yet: use loss="squared_hinge"')
        validation.check_choice(self.loss, "loss", ("squared_hinge",))
        validation.check_choice(self.normalize, "normalize", ("rows", "query", None))
        validation.check_choice(self.solver, "solver", ("auto", "tron"))
        validation.check_number(self.C, "C")
        validation.check_number(self.tol, "tol")
        validation.check_number(self.max_iter, "max_iter", inclusive=True, integer=True)

    def _start(self, n_features: int) -> Any:
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        if self.coef_.size != n_features:
            raise PairrankError(
                f"warm_start: coef_ has {self.coef_.size} features but X has {n_features}"
            )
        return self.coef_

    def _seed(self) -> Any:
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, np.random.RandomState):
            return self.random_state.randint(2**31)
        return self.random_state

    def _validator(
        self, X_val: Any, y_val: Any, qid_val: Any, sample_weight_val: Any
    ) -> Callback | None:
        """Return a callback that scores every iterate on the validation rows."""
        self.__dict__.pop("validation_scores_", None)
        if X_val is None:
            if y_val is not None:
                raise PairrankError("y_val is given without X_val")
            return None
        X_val, y_val, qid_val, weights = self._check_fit_input(
            X_val, y_val, qid_val, sample_weight_val, reset=False
        )
        from pairrank.metrics import pairwise_accuracy

        design = Design(X_val)
        scores: list[float] = []

        def validate(step: Step) -> None:
            assert step.coef is not None
            scores.append(
                pairwise_accuracy(
                    y_val,
                    design.scores(step.coef),
                    qid=qid_val,
                    sample_weight=weights,
                    graph=self.graph,
                )
            )
            self.validation_scores_ = np.array(scores)

        return validate
