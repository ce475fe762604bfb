"""Evaluation: every user's ranker fitted and judged in one call."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._docstrings import described_by
from pairrank._protocols import FloatArray
from pairrank.exceptions import NoPairsWarning, PairrankError
from pairrank.metrics import m1d, msd, pairwise_accuracy
from pairrank.recommend._pool import Interrupted, Progress, work_on
from pairrank.recommend.item_means import ItemMeans
from pairrank.recommend.personal import (
    DESCRIBED,
    Setting,
    UserFit,
    fit_one,
    means_of,
    score_items,
    warn_of_unconverged,
)
from pairrank.recommend.protocols import UserProblems, UserTask
from pairrank.recommend.sharing import SharedFeatures

METRICS: dict[str, Callable[..., dict[Any, float]]] = {
    "accuracy": pairwise_accuracy,
    "wmw": partial(pairwise_accuracy, ties="correct"),
    "misranking": partial(pairwise_accuracy, ties="error"),
    "msd": msd,
    "m1d": m1d,
}
"""Metrics by name, called with (y_true, scores, qid=, per_query=True); misranking is 1 less it."""


class _Judged(NamedTuple):
    """One user's test ratings and their scores."""

    task: UserTask
    ratings: FloatArray
    scores: FloatArray
    means: FloatArray
    converged: bool
    seconds: float


@described_by(DESCRIBED)
@dataclass(frozen=True)
class Evaluation:
    """How well a ranker does, user by user.

    Attributes
    ----------
    users : ndarray of shape (n_users,)
        The names of the evaluated users.
    metrics : dict of str to ndarray of shape (n_users,)
        "accuracy" (share of pairs in the right order, ties count half), "wmw" (ties count as right,
        as in Raykar), "misranking" (ties count as wrong: Cortes, Eq. 32), "msd" and "m1d" (Eq. 30,
        31). NaN where the metric has no pair.
    item_means : dict of str to ndarray of shape (n_users,)
        The same metrics of the items' mean ratings by others, without any ranker: what a ranker has
        to beat.
    n_train, n_test : int64 array of shape (n_users,)
    seconds : ndarray of shape (n_users,)
        The time of each fit, including its features or kernel values.
    n_skipped : int
        Users who rated too few items, or whose training ratings are equal where the ranker needs a
        preference.
    n_unconverged, interrupted
    """

    users: NDArray[Any]
    metrics: Mapping[str, FloatArray]
    item_means: Mapping[str, FloatArray]
    n_train: NDArray[np.int64]
    n_test: NDArray[np.int64]
    seconds: FloatArray
    n_skipped: int
    n_unconverged: int
    interrupted: bool

    def mean(self, metric: str, *, item_means: bool = False) -> float:
        """Return a metric's mean over the users who have it; NaN if nobody has.

        `item_means` asks for the metric of the item means instead of the ranker's.
        """
        values = self._known(metric, self.item_means if item_means else self.metrics)
        return float(values.mean()) if values.size else float("nan")

    def spread(self, metric: str) -> float:
        """Return a metric's standard deviation over the users who have it."""
        values = self._known(metric, self.metrics)
        return float(values.std(ddof=1)) if values.size > 1 else float("nan")

    def summary(self) -> dict[str, tuple[float, float]]:
        """Return mean and standard deviation of every metric."""
        return {name: (self.mean(name), self.spread(name)) for name in self.metrics}

    @staticmethod
    def _known(metric: str, metrics: Mapping[str, FloatArray]) -> FloatArray:
        if metric not in metrics:
            raise PairrankError(f"no metric {metric!r}; there are {', '.join(metrics)}")
        values = metrics[metric]
        return values[~np.isnan(values)]


@described_by(DESCRIBED)
def evaluate_users(
    problems: UserProblems,
    ranker: Any,
    *,
    baseline: str | None = None,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> Evaluation:
    """Fit a ranker to each user's training ratings and evaluate it on the test ratings.

    Parameters
    ----------
    problems : UserProblems
        What a protocol's `draw` returns.
    ranker : estimator
        Any ranker of pairrank, or any regressor of scikit-learn, which learns from ratings minus
        their mean; it is cloned for each user. Kernels "rbf" and "poly" are computed once for all.

    baseline : "item-mean" or None
        See `fit_users`. None: the ranker alone, as in the papers. The result has the metrics of the
        item means alone in either case.

    Returns
    -------
    Evaluation
        The same for any `n_jobs`, except rounding and seconds.

    Raises
    ------
    PairrankError
        If nobody could be fitted.

    Warns
    -----
    ConvergenceWarning
        Once, with the number of fits that stopped early.
    NoPairsWarning
        Once, with the number of users who are skipped, because their training ratings are equal
        and the ranker needs a preference.

    Notes
    -----
    Costs one fit per user, and the inner products of the rated items' rows or of all items' rows,
    whichever are fewer. Metrics are computed for all users at once.

    Examples
    --------
    >>> from pairrank import RankRLS
    >>> from pairrank.datasets import make_ratings
    >>> from pairrank.recommend import Protocol
    >>> problems = Protocol((5, 99), 20, 10, (10, 99)).draw(make_ratings(random_state=0), 0)
    >>> evaluate_users(problems, RankRLS(10.0)).mean("accuracy") > 0.6
    True
    """
    table = problems.table
    n_products = sum(
        task.train.size * (task.train.size + task.test.size) for task in problems.tasks
    )
    shared = SharedFeatures(problems.references, ranker, n_products)
    users = np.array([task.user for task in problems.tasks])
    setting = Setting(table, users, shared, means_of(table, baseline, ranker))
    work = partial(_judge, setting, setting.means or ItemMeans.build(table))
    results, interrupted = work_on(work, problems.tasks, n_jobs=n_jobs, callback=callback)
    judged = [result for result in results if result is not None]
    n_skipped = len(results) - len(judged)
    if not judged:
        reason = (
            "interrupted before any user was done" if interrupted else "no user has a preference"
        )
        raise PairrankError(f"{reason}: nothing was judged")
    if n_skipped:
        warnings.warn(
            f"{n_skipped} of {len(results)} users are skipped: their training ratings are equal, "
            "so that the ranker has no preference to learn from",
            NoPairsWarning,
            stacklevel=2,
        )
    n_unconverged = warn_of_unconverged(judged)
    users = np.array([each.task.user for each in judged])
    return Evaluation(
        users=table.user_ids[users],
        metrics=_measure(users, judged, "scores"),
        item_means=_measure(users, judged, "means"),
        n_train=np.array([each.task.train.size for each in judged]),
        n_test=np.array([each.task.test.size for each in judged]),
        seconds=np.array([each.seconds for each in judged]),
        n_skipped=problems.n_skipped + n_skipped,
        n_unconverged=n_unconverged,
        interrupted=interrupted,
    )


def _judge(setting: Setting, means: ItemMeans, task: UserTask) -> _Judged | Interrupted | None:
    """Return a user's test ratings and scores; None if there is no preference to learn from."""
    start = time.perf_counter()
    fitted = fit_one(setting, task.user, task.train)
    seconds = time.perf_counter() - start
    if not isinstance(fitted, UserFit):
        return fitted
    items = setting.table.items_of(task.user)[task.test]
    ratings = setting.table.ratings_of(task.user)[task.test]
    scores = score_items(setting, fitted, items, task.train)
    others = means.of(task.user, items)
    return _Judged(task, ratings, scores, others, fitted.converged, seconds)


def _measure(users: NDArray[np.int64], judged: list[_Judged], scored: str) -> dict[str, FloatArray]:
    """Return every metric of every user, from all test ratings at once."""
    qid = np.repeat(users, [each.ratings.size for each in judged])
    ratings = np.concatenate([each.ratings for each in judged])
    scores = np.concatenate([getattr(each, scored) for each in judged])
    measured = {}
    for name, metric in METRICS.items():
        values = metric(ratings, scores, qid=qid, per_query=True)
        measured[name] = np.array([values.get(user, np.nan) for user in users.tolist()])
    measured["misranking"] = 1.0 - measured["misranking"]
    return measured
