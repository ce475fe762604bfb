"""Models whose cost grows with the square or cube of the rows, up to a limit of size."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.preferences import Levels
from pairrank.report.pair_sample import draw_pairs

MOST_PAIRS = 200_000
MOST_ROWS = 2_000


class PairsSVC(BaseEstimator):
    """scikit-learn's LinearSVC on the explicit differences of all pairs, without an intercept.

    It minimises |w|^2/2 + C W/T sum over pairs of weight max(0, 1 - w'(x_i - x_j))^2, W the total
    weight of the rows and T that of the pairs: RankSVM's objective with ``reduction="rows"``.

    Parameters
    ----------
    C : float
        Weight of the loss.
    graph : "full", "chain" or OrderGraph
        Which labels are preferred to which.
    max_pairs : int
        More pairs than this are refused.
    random_state : int
        The seed of the solver.

    Notes
    -----
    Holds n_pairs * n_features numbers.
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        graph: Any = "full",
        max_pairs: int = MOST_PAIRS,
        random_state: int = 0,
    ) -> None:
        self.C = C
        self.graph = graph
        self.max_pairs = max_pairs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Learn from every pair of rows of a query."""
        from sklearn.svm import LinearSVC

        levels = Levels.build(y, qid, graph=self.graph, sample_weight=sample_weight)
        levels.require_pairs()
        if levels.n_pairs > self.max_pairs:
            raise PairrankError(
                f"it lists pairs, and there are more than {self.max_pairs:,} in the training rows"
            )
        pairs = draw_pairs(levels, self.max_pairs, np.random.default_rng(0))
        differences = X[pairs.winner] - X[pairs.loser]
        sign = np.where(np.arange(pairs.winner.size) % 2 == 0, 1.0, -1.0)
        turned = sparse.diags_array(sign) @ differences
        total = X.shape[0] if sample_weight is None else float(np.sum(sample_weight))
        model = LinearSVC(
            C=self.C * total / pairs.weight.sum(),
            fit_intercept=False,
            dual="auto",
            max_iter=10_000,
            random_state=self.random_state,
        )
        self.coef_ = model.fit(turned, sign, sample_weight=pairs.weight).coef_[0]
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the scores of rows."""
        return np.asarray(X @ self.coef_, dtype=np.float64)


class GaussianProcess(BaseEstimator):
    """scikit-learn's Gaussian process on the labels, with an RBF kernel and noise.

    The length scale, the size and the noise maximise the marginal likelihood.

    Parameters
    ----------
    max_rows : int
        More rows than this are refused.
    random_state : int
        The seed of the optimiser.

    Notes
    -----
    Costs O(n_rows^3) per step of the optimiser.
    """

    def __init__(self, *, max_rows: int = MOST_ROWS, random_state: int = 0) -> None:
        self.max_rows = max_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the labels of rows."""
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

        if X.shape[0] > self.max_rows:
            raise PairrankError(
                f"its time grows with the cube of the rows, and there are more than "
                f"{self.max_rows:,} training rows"
            )
        kernel = ConstantKernel() * RBF(np.sqrt(X.shape[1])) + WhiteKernel()
        self.model_ = GaussianProcessRegressor(
            kernel, normalize_y=True, random_state=self.random_state
        ).fit(X, y)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the scores of rows."""
        return np.asarray(self.model_.predict(X), dtype=np.float64)
