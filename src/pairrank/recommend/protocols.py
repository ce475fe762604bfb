"""The papers' protocols: reference users, test users and the split of their ratings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pairrank import _validation as validation
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.recommend.references import References, draw_references
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
    named : bool
        Whether the users were given by name; then it is an error if one cannot be fitted.
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


class Protocol(ABC):
    """Base of the protocols: the draw and the split of ratings."""

    train_share: float
    impute: str
    users: Sequence[Any] | None

    def draw(self, ratings: Any, random_state: Any = None) -> UserProblems:
        """Return the problems of one draw.

        Parameters
        ----------
        ratings : RatingsTable, Ratings or (user, item, rating)
        random_state : int, Generator or None
            Draws users, splits and samples; the same seed gives the same problems.

        Returns
        -------
        UserProblems

        Raises
        ------
        PairrankError
            If there are too few users, or one that is named is unknown or rated too little.
        """
        generator = np.random.default_rng(random_state)
        table, judged, refer = self._choose(RatingsTable.build(ratings), generator)
        references = References.build(table, refer, impute=self.impute, random_state=generator)
        named = self.users is not None
        tasks = _split_users(table, judged, self.train_share, generator, named=named)
        return UserProblems(table, references, tasks, int(judged.size - len(tasks)), named)

    @abstractmethod
    def _choose(
        self, table: RatingsTable, generator: np.random.Generator
    ) -> tuple[RatingsTable, IntArray, IntArray]:
        """Return the ratings to use, the users to judge and those who refer."""

    def _judged(
        self,
        table: RatingsTable,
        candidates: IntArray,
        n_users: int,
        generator: np.random.Generator,
    ) -> IntArray:
        """Return the users to judge: those named, or so many of the candidates."""
        if self.users is not None:
            return table.find_users(self.users)
        validation.check_number(n_users, "n_users", low=1, inclusive=True, integer=True)
        if candidates.size < n_users:
            raise PairrankError(
                f"n_users={n_users}, but only {candidates.size} of {table.n_users} users can be "
                "judged here; ask for fewer"
            )
        return np.sort(generator.choice(candidates, n_users, replace=False))


@dataclass(frozen=True)
class RaykarProtocol(Protocol):
    """Random users refer; 70 % of the ratings of each judged user are for learning.

    Attributes
    ----------
    n_references : int
        The paper's d, 50 to 1600.
    n_users : int
        The number of users judged, at random among those who do not refer.
    min_ratings : int
        The least number of ratings of a judged user. The paper gives none; by the small spread in
        its Table 2, its users have hundreds.
    train_share : float
    impute : "gaussian", "gaussian-item" or "median"
        See `pairrank.recommend.impute`.
    users : sequence of names, optional
        The users to judge, instead of random ones.

    References
    ----------
    Raykar, Duraiswami & Krishnapuram 2007, Section 7 and Table 2 (whose caption says EachMovie, the
    text MovieLens).

    Examples
    --------
    >>> from pairrank.datasets import make_ratings
    >>> ratings = make_ratings(30, 40, random_state=0)
    >>> problems = RaykarProtocol(n_references=10, n_users=5).draw(ratings, random_state=0)
    >>> len(problems), next(iter(problems)).X_train.shape[1]
    (5, 10)
    """

    n_references: int = 400
    n_users: int = 100
    min_ratings: int = 4
    train_share: float = 0.7
    impute: str = "gaussian"
    users: Sequence[Any] | None = None

    def _choose(
        self, table: RatingsTable, generator: np.random.Generator
    ) -> tuple[RatingsTable, IntArray, IntArray]:
        able = np.flatnonzero(table.counts >= self.min_ratings)
        judged = self._judged(table, able, self.n_users, generator)
        others = np.setdiff1d(np.arange(table.n_users), judged)
        return table, judged, draw_references(table, others, self.n_references, generator)


@dataclass(frozen=True)
class CortesProtocol(Protocol):
    """Reviewers of one activity group refer; half of each test reviewer's ratings is for learning.

    Attributes
    ----------
    group : (int, int)
        The number of ratings of reference reviewers: at least the first, less than the second.
        The paper's groups are (20, 40), (40, 60) and (60, 80).
    n_references : int
        Drawn at random from the group, once for all test reviewers of a draw (the paper draws anew
        for each); none of them is a test reviewer.
    n_users : int
        The number of test reviewers.
    activity : (int, int)
        The number of ratings of test reviewers, both ends included.
    train_share : float
    impute : "median", "gaussian" or "gaussian-item"
    users : sequence of names, optional
        The users to judge, instead of random ones, whatever their activity.

    References
    ----------
    Cortes, Mohri & Rastogi 2007, Section 4.1, after Freund et al. 1998.

    Examples
    --------
    >>> from pairrank.datasets import make_ratings
    >>> ratings = make_ratings(60, 80, random_state=0)
    >>> protocol = CortesProtocol((10, 80), n_references=20, n_users=5, activity=(20, 80))
    >>> problems = protocol.draw(ratings, random_state=0)
    >>> bool(np.isin([task.user for task in problems.tasks], problems.references.users).any())
    False
    """

    group: tuple[int, int] = (20, 40)
    n_references: int = 300
    n_users: int = 300
    activity: tuple[int, int] = (50, 300)
    train_share: float = 0.5
    impute: str = "median"
    users: Sequence[Any] | None = None

    def _choose(
        self, table: RatingsTable, generator: np.random.Generator
    ) -> tuple[RatingsTable, IntArray, IntArray]:
        counts = table.counts
        active = np.flatnonzero((counts >= self.activity[0]) & (counts <= self.activity[1]))
        judged = self._judged(table, active, self.n_users, generator)
        group = np.flatnonzero((counts >= self.group[0]) & (counts < self.group[1]))
        others = np.setdiff1d(group, judged)
        return table, judged, draw_references(table, others, self.n_references, generator)


@dataclass(frozen=True)
class LeaveOneOutProtocol(Protocol):
    """Each reviewer is judged in turn, and all others refer; for the sparse Book-Crossing.

    Attributes
    ----------
    min_user_ratings : int
        Only users with at least so many ratings are kept.
    min_item_ratings : int
        Then only items that at least so many of them have rated. The paper's 200 and 10 leave 131
        reviewers and 89 books of the whole Book-Crossing.
    train_share : float
    impute : "median", "gaussian" or "gaussian-item"
    users : sequence of names, optional
        The reviewers to judge; None: everyone who has four ratings left.

    References
    ----------
    Cortes, Mohri & Rastogi 2007, Section 4.3.

    Examples
    --------
    >>> from pairrank.datasets import make_ratings
    >>> ratings = make_ratings(20, 30, random_state=0)
    >>> problems = LeaveOneOutProtocol(5, 5).draw(ratings, random_state=0)
    >>> next(iter(problems)).X_train.shape[1] == problems.references.users.size - 1
    True
    """

    min_user_ratings: int = 200
    min_item_ratings: int = 10
    train_share: float = 0.5
    impute: str = "median"
    users: Sequence[Any] | None = None

    def _choose(
        self, table: RatingsTable, generator: np.random.Generator
    ) -> tuple[RatingsTable, IntArray, IntArray]:
        table = table.restricted(
            min_user_ratings=self.min_user_ratings, min_item_ratings=self.min_item_ratings
        )
        if table.n_users < 2:
            raise PairrankError(
                f"one user is left with {self.min_user_ratings} ratings, and nobody to refer to; "
                "ask for fewer"
            )
        everyone = np.arange(table.n_users)
        judged = everyone if self.users is None else table.find_users(self.users)
        return table, judged, everyone


def _split_users(
    table: RatingsTable,
    users: IntArray,
    train_share: float,
    generator: np.random.Generator,
    *,
    named: bool,
) -> list[UserTask]:
    """Return a random split of each user's ratings, two at least on either side.

    Users with fewer than four ratings are left out; if they are named, that is an error.
    """
    validation.check_number(train_share, "train_share")
    if train_share >= 1.0:
        raise PairrankError(f"train_share must be less than 1 (got {train_share!r})")
    tasks: list[UserTask] = []
    for user, count in zip(users.tolist(), table.counts[users].tolist(), strict=True):
        if count < 2 * LEAST_PER_SIDE:
            if named:
                raise PairrankError(
                    f"user {table.user_ids[user]!s} has {count} ratings; {2 * LEAST_PER_SIDE} are "
                    "needed, two to learn from and two to judge by: leave them out"
                )
            continue
        n_train = round(train_share * count)
        n_train = min(max(n_train, LEAST_PER_SIDE), count - LEAST_PER_SIDE)
        places = generator.permutation(count)
        tasks.append(UserTask(user, np.sort(places[:n_train]), np.sort(places[n_train:])))
    if not tasks:
        raise PairrankError(
            f"none of {users.size} users has the {2 * LEAST_PER_SIDE} ratings that a split takes"
        )
    return tasks
