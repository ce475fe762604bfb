"""What the papers compare pairrank's rankers with: models of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.svm import LinearSVC


class ExplicitPairs:
    """RankSVM as a classifier of differences: every pair of rows with unequal labels is listed.

    It minimises |w|^2/2 + C sum over pairs of max(0, 1 - w'(x_i - x_j))^2 by LIBLINEAR. The pairs
    take n_pairs * n_features numbers.
    """

    def __init__(self, C: float) -> None:
        self.C = C

    def fit(self, X: Any, y: Any) -> Self:
        """List the pairs and train; half of them are turned round, to have two classes."""
        winner, loser = np.nonzero(y[:, None] > y[None, :])
        sign = np.where(np.arange(winner.size) % 2 == 0, 1.0, -1.0)
        differences = X[winner]
        differences -= X[loser]
        differences *= sign[:, None]
        model = LinearSVC(C=self.C, fit_intercept=False, dual=False, tol=1e-3, max_iter=10_000)
        self.coef_ = model.fit(differences, sign).coef_[0]
        return self

    def predict(self, X: Any) -> Any:
        """Return the scores of rows."""
        return X @ self.coef_


def gaussian_process() -> Any:
    """Return a Gaussian process on the labels; its parameters maximise the marginal likelihood."""
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
