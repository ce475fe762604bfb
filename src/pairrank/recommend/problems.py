"""UserProblems: one ranking problem a user, over features that all of them share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank import _validation as validation
from pairrank.exceptions import PairrankError
from pairrank.recommend.references import References
from pairrank.recommend.table import RatingsTable

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LEAST_A_SIDE = 2
"""A pair takes two ratings: so many at least to learn from, and as many to judge by."""


class UserTask(NamedTuple):
    """A user, and which of their ratings are to learn from and which to judge by.

    Attributes
    ----------
    user : int
        Index into the table's users.
    train, test : int64 array
        Places among the user's ratings, no place in both.
    """

    user: int
    train: IntArray
    test: IntArray


class UserProblem(NamedTuple):
    """One user's rows, as any estimator takes them.

    Attributes
    ----------
    user : Any
        The user's name.
    X_train, X_test : ndarray of shape (n_rows, n_references)
    y_train, y_test : ndarray of shape (n_rows,)
    items_train, items_test : int64 array
        Indices of the rated items.
    """

    user: Any
    X_train: FloatArray
    y_train: FloatArray
    X_test: FloatArray
    y_test: FloatArray
    items_train: IntArray
    items_test: IntArray


@dataclass(frozen=True)
class UserProblems:
    """What a protocol draws: users, the split of their ratings, and references for them all.

    Iterating yields a `UserProblem` a user, whose features are made on the way; `evaluate_users`
    takes the whole and makes less of them. No feature is made of a rating of the user concerned.

    Attributes
    ----------
    table : RatingsTable
    references : References
    tasks : list of UserTask
    n_skipped : int
        Users that the protocol would have had, but who rated too little.
    named : bool
        Whether the users were asked for by name: one that cannot be fitted is then an error.
    """

    table: RatingsTable
    references: References
    tasks: list[UserTask]
    n_skipped: int = 0
    named: bool = False

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[UserProblem]:
        for user, train, test in self.tasks:
            items, ratings = self.table.items_of(user), self.table.ratings_of(user)
            yield UserProblem(
                self.table.user_ids[user],
                self.references.rows(items[train], user=user),
                ratings[train],
                self.references.rows(items[test], user=user),
                ratings[test],
                items[train],
                items[test],
            )


def split_users(
    table: RatingsTable,
    users: IntArray,
    train_share: float,
    generator: np.random.Generator,
    *,
    named: bool = False,
) -> tuple[list[UserTask], int]:
    """Return a random split of each user's ratings, and how many users rated too little for one.

    Parameters
    ----------
    table : RatingsTable
    users : int64 array
    train_share : float
        The part to learn from, rounded; two ratings at least on either side.
    generator : numpy.random.Generator
    named : bool
        Raise an error for a user who rated too little, instead of counting them.

    Returns
    -------
    list of UserTask, int

    Raises
    ------
    PairrankError
        If `train_share` is not between 0 and 1, a named user rated too little, or nobody is left.
    """
    validation.check_number(train_share, "train_share")
    if train_share >= 1.0:
        raise PairrankError(f"train_share must be above 0 and below 1, got {train_share!r}")
    tasks: list[UserTask] = []
    counts = table.counts[users]
    for user, count in zip(users.tolist(), counts.tolist(), strict=True):
        if count < 2 * LEAST_A_SIDE:
            if named:
                raise PairrankError(
                    f"user {table.user_ids[user]!s} has {count} ratings; {2 * LEAST_A_SIDE} are "
                    "needed, two to learn from and two to judge by: leave them out"
                )
            continue
        n_train = round(train_share * count)
        n_train = min(max(n_train, LEAST_A_SIDE), count - LEAST_A_SIDE)
        places = generator.permutation(count)
        tasks.append(UserTask(user, np.sort(places[:n_train]), np.sort(places[n_train:])))
    if not tasks:
        raise PairrankError(
            f"none of {users.size} users has the {2 * LEAST_A_SIDE} ratings that a split takes"
        )
    return tasks, int(users.size - len(tasks))
