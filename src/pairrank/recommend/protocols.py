"""The papers' protocols: reference users, test users and the split of their ratings."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pairrank import _validation as validation
from pairrank._protocols import FloatArray
from pairrank.exceptions import NoPairsWarning, PairrankError
from pairrank.recommend.references import References
from pairrank.recommend.table import IntArray, RatingsTable

LEAST_PER_SIDE = 2
"""A pair needs two ratings: the least number for training, and for testing."""


class UserTask(NamedTuple):
    """A user, and the split of their ratings into training and test ratings.

    Attributes
    ----------
    user : int
        Index into the table's users.
    train, test : int64 array
        Positions among the user's ratings; no position is in both.
    """

    user: int
    train: IntArray
    test: IntArray


class UserProblem(NamedTuple):
    """One user's rows for any estimator.

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
    """The draw of a protocol: users, the split of their ratings, and their references.

    Iterating yields one `UserProblem` per user and makes its features; `evaluate_users` makes fewer
    of them. No feature of a user's problem uses a rating of that user.

    Attributes
    ----------
    table : RatingsTable
    references : References
    tasks : list of UserTask
    n_skipped : int
        Users of the protocol who rated too few items.
    """

    table: RatingsTable
    references: References
    tasks: list[UserTask]
    n_skipped: int = 0

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


@dataclass(frozen=True)
class Protocol:
    """Who is judged, who refers, and how ratings are split; `PROTOCOLS` has those of the papers.

    Users and items with few ratings are dropped first. Numbers of ratings are those that are left.

    Attributes
    ----------
    group : (int, int)
        The number of ratings of reference users: at least the first, less than the second.
    n_references : int or None
        The number of reference users, drawn from the group once per draw. None: all users, also
        those who are judged.
    n_users : int or None
        The number of judged users, drawn from the active; none of them refers if references are
        drawn. None: all of the active.
    activity : (int, int)
        The number of ratings of judged users, both ends included.
    train_share : float
        The share of a judged user's ratings that is for training.
    impute : "median", "gaussian", "gaussian-item" or "missing"
        See `pairrank.recommend.impute`.
    users : sequence of names, optional
        The users to judge, instead of random ones, whatever their activity.
    min_user_ratings : int
        Only users with at least so many ratings are kept.
    min_item_ratings : int
        Then only items that at least so many of them have rated.

    Examples
    --------
    >>> from pairrank.datasets import make_ratings
    >>> ratings = make_ratings(60, 80, random_state=0)
    >>> problems = Protocol((10, 80), n_references=20, n_users=5).draw(ratings, random_state=0)
    >>> bool(np.isin([task.user for task in problems.tasks], problems.references.users).any())
    False
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

    def draw(self, ratings: Any, random_state: Any = None) -> UserProblems:
        """Return the problems of one draw; the same seed gives the same problems.

        `ratings` are what `RatingsTable.build` takes. A PairrankError says if there are too few
        users, or if one that is named is unknown. Named users who rated too few items are left out
        with a NoPairsWarning.
        """
        generator = np.random.default_rng(random_state)
        table = RatingsTable.build(ratings)
        if self.min_user_ratings or self.min_item_ratings:
            table = table.restricted(
                min_user_ratings=self.min_user_ratings, min_item_ratings=self.min_item_ratings
            )
        if table.n_users < 2:
            raise PairrankError(
                "one user is left, and nobody to refer to; lower min_user_ratings (got "
                f"{self.min_user_ratings})"
            )
        counts = table.counts
        if self.users is None:
            low, high = self.activity
            judged = np.flatnonzero((counts >= low) & (counts <= high))
            if self.n_users is not None:
                judged = _drawn(judged, self.n_users, "n_users", "judged", table, generator)
        else:
            judged = table.find_users(self.users)
        refer = np.arange(table.n_users)
        if self.n_references is not None:
            low, high = self.group
            group = np.setdiff1d(np.flatnonzero((counts >= low) & (counts < high)), judged)
            refer = _drawn(group, self.n_references, "n_references", "references", table, generator)
        references = References.build(table, refer, impute=self.impute, random_state=generator)
        tasks = self._split(table, judged, generator)
        return UserProblems(table, references, tasks, int(judged.size - len(tasks)))

    def _split(
        self, table: RatingsTable, users: IntArray, generator: np.random.Generator
    ) -> list[UserTask]:
        """Return a random split of each user's ratings, with at least two on either side.

        Users with fewer than four ratings are skipped; a warning tells of those who are named.
        """
        validation.check_number(self.train_share, "train_share")
        if self.train_share >= 1.0:
            raise PairrankError(f"train_share must be less than 1 (got {self.train_share!r})")
        tasks: list[UserTask] = []
        for user, count in zip(users.tolist(), table.counts[users].tolist(), strict=True):
            if count >= 2 * LEAST_PER_SIDE:
                n_train = round(self.train_share * count)
                n_train = min(max(n_train, LEAST_PER_SIDE), count - LEAST_PER_SIDE)
                places = generator.permutation(count)
                tasks.append(UserTask(user, np.sort(places[:n_train]), np.sort(places[n_train:])))
            elif self.users is not None:
                warnings.warn(
                    f"left out user {table.user_ids[user]!s}, who has {count} ratings; "
                    f"{2 * LEAST_PER_SIDE} are needed, two to learn from and two to judge by",
                    NoPairsWarning,
                    stacklevel=3,
                )
        if not tasks:
            raise PairrankError(
                f"none of {users.size} users has the {2 * LEAST_PER_SIDE} ratings that a split "
                "takes"
            )
        return tasks


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

"raykar": Raykar, Duraiswami & Krishnapuram 2007, Section 7 and Table 2 (whose caption says
EachMovie, the text MovieLens). Random users refer, n_references is the paper's d, 50 to 1600. The
paper gives no least number of ratings; by the small spread in its Table 2, its users have hundreds.

"cortes": Cortes, Mohri & Rastogi 2007, Section 4.1, after Freund et al. 1998. The paper's groups
are (20, 40), (40, 60) and (60, 80); it draws references anew for each judged user.

"leave-one-out": Section 4.3 of the same, for the sparse Book-Crossing: each user is judged, and all
others refer. The paper's 200 and 10 leave 131 users and 89 books of the whole Book-Crossing.
"""


def _drawn(
    candidates: IntArray,
    n_drawn: int,
    name: str,
    role: str,
    table: RatingsTable,
    generator: np.random.Generator,
) -> IntArray:
    """Return random candidates in ascending order."""
    validation.check_number(n_drawn, name, low=1, inclusive=True, integer=True)
    if candidates.size < n_drawn:
        raise PairrankError(
            f"{name}={n_drawn}, but only {candidates.size} of {table.n_users} users can be {role} "
            "here; ask for fewer"
        )
    return np.sort(generator.choice(candidates, n_drawn, replace=False))
