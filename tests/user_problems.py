"""Ranking problems of made users, and their metrics one by one."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.kernel_ridge import KernelRidge

from pairrank import RankRLS, RankSVM
from pairrank.datasets import make_ratings
from pairrank.metrics import m1d, msd, pairwise_accuracy
from pairrank.recommend import Protocol

RATINGS = make_ratings(60, 80, random_state=0)


PROBLEMS = Protocol((8, 60), 15, 10, (10, 70)).draw(RATINGS, random_state=0)


KERNELS = {
    "RankRLS rbf": RankRLS(0.5, kernel="rbf", gamma=0.01),
    "RankRLS default width": RankRLS(0.5, kernel="rbf"),
    "RankRLS poly": RankRLS(5e3, kernel="poly", gamma=0.1, degree=2, coef0=0.5),
    "RankSVM rbf": RankSVM(0.5, kernel="rbf", gamma=0.01, tol=1e-10),
    "KernelRidge": KernelRidge(alpha=0.5, kernel="rbf", gamma=0.01),
}


METRICS = {
    "accuracy": pairwise_accuracy,
    "wmw": lambda y, scores: pairwise_accuracy(y, scores, ties="correct"),
    "misranking": lambda y, scores: 1 - pairwise_accuracy(y, scores, ties="error"),
    "msd": msd,
    "m1d": m1d,
}


def one_by_one(problems, ranker):
    """Return every user's metrics: rows made, ranker fitted and judged with nothing shared."""
    found = {name: [] for name in METRICS}
    for problem in problems:
        fitted = clone(ranker).fit(problem.X_train, problem.y_train - problem.y_train.mean())
        scores = fitted.predict(problem.X_test)
        for name, metric in METRICS.items():
            found[name].append(metric(problem.y_test, scores))
    return found


class Impatient(BaseEstimator):
    """A regressor that Ctrl-C meets in its n-th fit, heeded by the fit or not."""

    fits = 0

    def __init__(self, at=4, heeded=False):
        self.at = at
        self.heeded = heeded

    def fit(self, X, y):
        Impatient.fits += 1
        self.status_ = "converged"
        if Impatient.fits == self.at:
            if not self.heeded:
                raise KeyboardInterrupt
            self.status_ = "interrupted"
        return self

    def predict(self, X):
        return np.asarray(X).sum(axis=1)


def with_a_dull_user():
    """Return ratings in which user 99 likes everything alike."""
    user, item, rating = RATINGS
    dull = np.unique(item)[:20]
    return (
        np.append(user, np.full(20, 99)), np.append(item, dull), np.append(rating, np.full(20, 3.0))
    )  # fmt: skip
