"""One ranking problem per user: the protocols of Cortes and Raykar, and their metrics."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor

from pairrank.metrics import m1d, msd, pairwise_accuracy
from reproduction.data.ratings import restricted
from reproduction.protocols import Fold, fit_quietly

METRICS: dict[str, Callable[..., Any]] = {
    "msd": msd,
    "m1d": m1d,
    "misranking": partial(pairwise_accuracy, ties="error"),
}
"""Metrics by name; the share of misranked pairs is 1 less the accuracy, tied scores are wrong."""

LEAST_PER_SIDE = 2
"""A pair needs two ratings: the least number for training, and for testing."""


@dataclass(frozen=True)
class Protocol:
    """Who is judged, who refers, and how ratings are split; `PROTOCOLS` has those of the papers.

    Users with fewer than `min_user_ratings` ratings are dropped, then items that fewer than
    `min_item_ratings` of the others have rated; numbers of ratings are those that are left.
    `n_references` users refer, drawn once per draw from those whose number of ratings is in
    [group[0], group[1]); None: all users. A judged user's own ratings are never features. `n_users`
    are judged (None: all), drawn from those whose number of ratings is within `activity`, both ends
    included, or else the users that `users` names; no judged user refers if references are drawn.
    In gaps `impute` sets the "median" of the reference user's ratings (Cortes), samples of a
    "gaussian" with the moments of the item's ratings by the reference users (Raykar), or, by
    "missing", NaN.
    """

    group: tuple[int, int] = (0, sys.maxsize)
    n_references: int | None = 300
    n_users: int | None = 300
    activity: tuple[int, int] = (0, sys.maxsize)
    train_share: float = 0.5
    impute: str = "median"
    users: Sequence[Any] | None = None
    min_user_ratings: int = 0
    min_item_ratings: int = 0

    def draw(self, table: Any, seed: int) -> list[Fold]:
        """Return the problems of one draw from a table of ratings.

        Users with less than four ratings, or equal training ratings, are left out.
        """
        generator = np.random.default_rng(seed)
        table = restricted(
            table, min_user_ratings=self.min_user_ratings, min_item_ratings=self.min_item_ratings
        )
        counts = table.groupby("user").size()
        judged = np.asarray(self.users)
        if self.users is None:
            judged = counts.index[counts.between(*self.activity)].to_numpy()
            if self.n_users is not None:
                judged = np.sort(generator.choice(judged, self.n_users, replace=False))
        refer = counts.index.to_numpy()
        if self.n_references is not None:
            in_group = counts.index[counts.between(*self.group, inclusive="left")]
            able = np.setdiff1d(in_group, judged)
            refer = np.sort(generator.choice(able, self.n_references, replace=False))
        items = np.unique(table["item"])
        known = table[table["user"].isin(refer)].pivot(
            index="item", columns="user", values="rating"
        )
        known = known.reindex(index=items, columns=refer).to_numpy()
        features = _imputed(known, self.impute, generator)
        problems, by_user = [], dict(iter(table[table["user"].isin(judged)].groupby("user")))
        for user in judged:  # their order is that of the draws
            own = by_user[user]
            y = own["rating"].to_numpy()
            if y.size < 2 * LEAST_PER_SIDE:
                continue
            n_train = round(self.train_share * y.size)
            n_train = min(max(n_train, LEAST_PER_SIDE), y.size - LEAST_PER_SIDE)
            places = generator.permutation(y.size)
            train, test = np.sort(places[:n_train]), np.sort(places[n_train:])
            if np.ptp(y[train]) > 0.0:
                X = features[np.searchsorted(items, own["item"])][:, refer != user]
                problems.append(Fold(X[train], y[train], X[test], y[test]))
        return problems


PROTOCOLS = {
    "raykar": Protocol(
        n_references=400, n_users=100, activity=(4, sys.maxsize), train_share=0.7, impute="gaussian"
    ),
    "cortes": Protocol((20, 40), activity=(50, 300)),
    "leave-one-out": Protocol(
        n_references=None, n_users=None, min_user_ratings=200, min_item_ratings=10
    ),
}
"""The papers' protocols; change one by `dataclasses.replace(PROTOCOLS["cortes"], group=(40, 60))`.

"raykar": Raykar, Duraiswami & Krishnapuram 2007, Section 7 and Table 2. Random users refer,
n_references is the paper's d, 50 to 1600.

"cortes": Cortes, Mohri & Rastogi 2007, Section 4.1, after Freund et al. 1998. The paper's groups
are (20, 40), (40, 60) and (60, 80); it draws references anew for each judged user.

"leave-one-out": Section 4.3 of the same, for the sparse Book-Crossing: each user is judged, and all
others refer.
"""


def evaluate_users(problems: Sequence[Fold], ranker: Any) -> dict[str, float]:
    """Return the metrics of a ranker that is fitted to each user, means over the users."""
    return {name: float(values.mean()) for name, values in user_metrics(problems, ranker).items()}


def user_metrics(problems: Sequence[Fold], ranker: Any) -> dict[str, NDArray[np.float64]]:
    """Return the metrics of each user who has them.

    Regressors of scikit-learn learn from ratings minus their mean, so that they need no intercept.
    """
    scores = []
    for X, y, X_test, _ in problems:
        fitted = clone(ranker)
        fit_quietly(fitted, X, y - y.mean() if is_regressor(ranker) else y)
        scores.append(fitted.predict(X_test))
    ratings = np.concatenate([each.y_test for each in problems])
    qid = np.repeat(np.arange(len(problems)), [each.y_test.size for each in problems])
    found = {}
    for name, metric in METRICS.items():
        by_user = metric(ratings, np.concatenate(scores), qid=qid, per_query=True)
        values = np.array([value for value in by_user.values() if not np.isnan(value)])
        found[name] = 1.0 - values if name == "misranking" else values
    return found


def _imputed(
    known: NDArray[np.float64], how: str, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return ratings with gaps filled, see `Protocol`.

    Items without a rating take the moments of all ratings.
    """
    if how == "missing":
        return known
    gaps = np.isnan(known)
    if how == "median":
        return np.where(gaps, np.nanmedian(known, axis=0), known)
    counts = np.count_nonzero(~gaps, axis=1, keepdims=True)
    filled = np.where(gaps, 0.0, known)
    mean = filled.sum(axis=1, keepdims=True) / np.maximum(counts, 1)
    squares = np.where(gaps, 0.0, known - mean) ** 2
    variance = squares.sum(axis=1, keepdims=True) / np.maximum(counts, 1)
    mean = np.where(counts, mean, np.nanmean(known))
    variance = np.where(counts, variance, np.nanvar(known))
    draws = generator.standard_normal(known.shape)
    return np.where(gaps, mean + np.sqrt(variance) * draws, known)
