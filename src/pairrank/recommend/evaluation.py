"""Evaluation: every user's ranker fitted and judged in one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.metrics import m1d, msd, pairwise_accuracy
from pairrank.recommend._pool import Interrupted, Progress, work_on
from pairrank.recommend.problems import UserProblems, UserTask
from pairrank.recommend.rankers import warn_of_unconverged
from pairrank.recommend.sharing import SharedFeatures
from pairrank.recommend.table import RatingsTable

FloatArray = NDArray[np.float64]


def _misranking(y_true: Any, scores: Any, *, qid: Any, per_query: bool) -> dict[Any, float]:
    right = pairwise_accuracy(y_true, scores, qid=qid, ties="error", per_query=per_query)
    return {user: 1.0 - value for user, value in right.items()}


METRICS: dict[str, Callable[..., dict[Any, float]]] = {
    "accuracy": pairwise_accuracy,
    "wmw": partial(pairwise_accuracy, ties="correct"),
    "misranking": _misranking,
    "msd": msd,
    "m1d": m1d,
}
"""By name; each takes (y_true, scores, qid=, per_query=True)."""


class _Judged(NamedTuple):
    """One user's test ratings and the scores that they got."""

    task: UserTask
    ratings: FloatArray
    scores: FloatArray
    converged: bool
    seconds: float


@dataclass(frozen=True)
class Evaluation:
    """How well a ranker does, user by user.

    Attributes
    ----------
    users : ndarray of shape (n_users,)
        The names of those who were judged.
    metrics : dict of str to ndarray of shape (n_users,)
        "accuracy" (pairs in the right order, tied scores half), "wmw" (tied scores right, as Raykar
        counts), "misranking" (tied scores wrong: Cortes, Eq. 32), "msd" and "m1d" (Eq. 30, 31).
        NaN where the metric has no pair.
    n_train, n_test : int64 array of shape (n_users,)
    seconds : ndarray of shape (n_users,)
        Of each fit, its features or kernel values included.
    n_skipped : int
        Users who rated too little, or all alike where a ranker needs a preference.
    n_unconverged : int
        Fits that stopped early.
    interrupted : bool
        Whether Ctrl-C left users out; what is here is done.
    """

    users: NDArray[Any]
    metrics: Mapping[str, FloatArray]
    n_train: NDArray[np.int64]
    n_test: NDArray[np.int64]
    seconds: FloatArray
    n_skipped: int
    n_unconverged: int
    interrupted: bool

    def mean(self, metric: str) -> float:
        """Return a metric's mean over the users who have it; NaN where none has."""
        values = self._known(metric)
        return float(values.mean()) if values.size else float("nan")

    def spread(self, metric: str) -> float:
        """Return a metric's standard deviation over the users who have it."""
        values = self._known(metric)
        return float(values.std(ddof=1)) if values.size > 1 else float("nan")

    def summary(self) -> dict[str, tuple[float, float]]:
        """Return mean and standard deviation of every metric."""
        return {name: (self.mean(name), self.spread(name)) for name in self.metrics}

    def _known(self, metric: str) -> FloatArray:
        if metric not in self.metrics:
            raise PairrankError(f"no metric {metric!r}; there are {', '.join(self.metrics)}")
        values = self.metrics[metric]
        return values[~np.isnan(values)]


def evaluate_users(
    problems: UserProblems,
    ranker: Any,
    *,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> Evaluation:
    """Fit a ranker to each user's training ratings and judge it on the others.

    Parameters
    ----------
    problems : UserProblems
        What a protocol's `draw` returns.
    ranker : estimator
        Any ranker of pairrank, or any regressor of scikit-learn, which learns from ratings less
        their mean; it is cloned for each user. Kernels "rbf" and "poly" are computed once for all.
    n_jobs : int, optional
        Processes, as joblib counts them.
    callback : callable, optional
        Called with the number of users done and of all, chunk by chunk.

    Returns
    -------
    Evaluation
        The same for any `n_jobs`, but for rounding and seconds.

    Raises
    ------
    PairrankError
        If a user who was asked for by name has no preference to learn from, or nobody could be
        fitted.

    Warns
    -----
    ConvergenceWarning
        Once, with the number of fits that stopped early.

    Notes
    -----
    Costs a fit a user, and inner products of the rated items' rows or of all items' rows, whichever
    are fewer. The metrics are taken of all users at once.

    Examples
    --------
    >>> from pairrank import RankRLS
    >>> from pairrank.datasets import make_ratings
    >>> from pairrank.recommend import CortesProtocol
    >>> problems = CortesProtocol((5, 99), 20, 10, (10, 99)).draw(make_ratings(random_state=0), 0)
    >>> evaluate_users(problems, RankRLS(10.0)).mean("accuracy") > 0.6
    True
    """
    table = problems.table
    n_products = sum(
        task.train.size * (task.train.size + task.test.size) for task in problems.tasks
    )
    shared = SharedFeatures(problems.references, ranker, n_products)
    work = partial(_judge, shared, table, problems.named)
    results, interrupted = work_on(work, problems.tasks, n_jobs=n_jobs, callback=callback)
    judged = [result for result in results if result is not None]
    if not judged:
        reason = (
            "interrupted before any user was done" if interrupted else "no user has a preference"
        )
        raise PairrankError(f"{reason}: nothing was judged")
    n_unconverged = warn_of_unconverged(judged)
    users = np.array([each.task.user for each in judged])
    return Evaluation(
        users=table.user_ids[users],
        metrics=_measure(users, judged),
        n_train=np.array([each.task.train.size for each in judged]),
        n_test=np.array([each.task.test.size for each in judged]),
        seconds=np.array([each.seconds for each in judged]),
        n_skipped=problems.n_skipped + len(results) - len(judged),
        n_unconverged=n_unconverged,
        interrupted=interrupted,
    )


def _judge(shared: SharedFeatures, table: RatingsTable, named: bool, task: UserTask) -> Any:
    """Return a user's test ratings and scores; None where there is no preference to learn from."""
    user = task.user
    items, ratings = table.items_of(user), table.ratings_of(user)
    trained = items[task.train]
    start = time.perf_counter()
    try:
        fitted, converged = shared.fit(user, trained, ratings[task.train])
    except NoPairsError as error:
        if named:
            raise NoPairsError(f"user {table.user_ids[user]!s}: {error}; leave them out") from None
        return None
    seconds = time.perf_counter() - start
    if getattr(fitted, "status_", None) == "interrupted":
        return Interrupted()
    scores = shared.scores(fitted, user, trained, items[task.test])
    return _Judged(task, ratings[task.test], scores, converged, seconds)


def _measure(users: NDArray[np.int64], judged: list[_Judged]) -> dict[str, FloatArray]:
    """Return every metric of every user, from all test ratings at once."""
    qid = np.repeat(users, [each.ratings.size for each in judged])
    ratings = np.concatenate([each.ratings for each in judged])
    scores = np.concatenate([each.scores for each in judged])
    measured = {}
    for name, metric in METRICS.items():
        values = metric(ratings, scores, qid=qid, per_query=True)
        measured[name] = np.array([values.get(user, np.nan) for user in users.tolist()])
    return measured
