"""The papers' protocols: which users refer, which are judged, and how their ratings are split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairrank import _validation as validation
from pairrank.exceptions import PairrankError
from pairrank.recommend.problems import UserProblems, split_users
from pairrank.recommend.references import References, draw_references
from pairrank.recommend.table import RatingsTable

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class RaykarProtocol:
    """Random users refer; of each user judged, 70 % of the ratings are to learn from.

    Attributes
    ----------
    n_references : int
        The paper's d, 50 to 1600.
    n_users : int
        How many users are judged, at random from those who are no reference.
    min_ratings : int
        Those judged have so many ratings at least. The paper does not say; by the small spread of
        its Table 2 its users have hundreds.
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

    def draw(self, ratings: Any, random_state: Any = None) -> UserProblems:
        """Return the problems of one draw.

        Parameters
        ----------
        ratings : RatingsTable, Ratings or (user, item, rating)
        random_state : int, Generator or None
            Draws users, splits and samples; the same seed, the same problems.

        Returns
        -------
        UserProblems

        Raises
        ------
        PairrankError
            If there are too few users, or one that is named is unknown or rated too little.
        """
        table, generator = RatingsTable.build(ratings), np.random.default_rng(random_state)
        able = np.flatnonzero(table.counts >= self.min_ratings)
        judged = _judged(table, self.users, able, self.n_users, generator)
        others = np.setdiff1d(np.arange(table.n_users), judged)
        chosen = draw_references(table, others, self.n_references, generator)
        references = References.build(table, chosen, impute=self.impute, random_state=generator)
        return _problems(table, references, judged, self, generator)


@dataclass(frozen=True)
class CortesProtocol:
    """Reviewers of one group by activity refer; half of each test reviewer's ratings is to learn.

    Attributes
    ----------
    group : (int, int)
        Reference reviewers have so many ratings: at least the first, fewer than the second. The
        paper's groups are (20, 40), (40, 60) and (60, 80).
    n_references : int
        Drawn at random from the group, once for all test reviewers of a draw (the paper draws anew
        for each); none of them is a test reviewer.
    n_users : int
        The number of test reviewers.
    activity : (int, int)
        Test reviewers have so many ratings, both ends included.
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

    def draw(self, ratings: Any, random_state: Any = None) -> UserProblems:
        """Return the problems of one draw.

        Parameters
        ----------
        ratings : RatingsTable, Ratings or (user, item, rating)
        random_state : int, Generator or None
            Draws users and splits; the same seed, the same problems.

        Returns
        -------
        UserProblems

        Raises
        ------
        PairrankError
            If there are too few users of that activity, or one that is named is unknown or rated
            too little.
        """
        table, generator = RatingsTable.build(ratings), np.random.default_rng(random_state)
        counts = table.counts
        active = np.flatnonzero((counts >= self.activity[0]) & (counts <= self.activity[1]))
        judged = _judged(table, self.users, active, self.n_users, generator)
        group = np.flatnonzero((counts >= self.group[0]) & (counts < self.group[1]))
        chosen = draw_references(table, np.setdiff1d(group, judged), self.n_references, generator)
        references = References.build(table, chosen, impute=self.impute, random_state=generator)
        return _problems(table, references, judged, self, generator)


@dataclass(frozen=True)
class LeaveOneOutProtocol:
    """Each reviewer in turn is judged, and all the others refer; for the sparse Book-Crossing.

    Attributes
    ----------
    min_user_ratings : int
        Only users with so many ratings are kept,
    min_item_ratings : int
        then only items that so many of them have rated. The paper's 200 and 10 leave 131 reviewers
        and 89 books of the whole Book-Crossing.
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

    def draw(self, ratings: Any, random_state: Any = None) -> UserProblems:
        """Return the problems of one draw.

        Parameters
        ----------
        ratings : RatingsTable, Ratings or (user, item, rating)
        random_state : int, Generator or None
            Draws the splits; the same seed, the same problems.

        Returns
        -------
        UserProblems
            Of the users and items kept.

        Raises
        ------
        PairrankError
            If fewer than two users are left, or one that is named is unknown or rated too little.
        """
        table = RatingsTable.build(ratings).restricted(
            min_user_ratings=self.min_user_ratings, min_item_ratings=self.min_item_ratings
        )
        if table.n_users < 2:
            raise PairrankError(
                f"one user is left with {self.min_user_ratings} ratings, and nobody to refer to; "
                "ask for fewer"
            )
        generator = np.random.default_rng(random_state)
        everyone = np.arange(table.n_users)
        judged = everyone if self.users is None else table.find_users(self.users)
        references = References.build(table, everyone, impute=self.impute, random_state=generator)
        return _problems(table, references, judged, self, generator)


Protocol = RaykarProtocol | CortesProtocol | LeaveOneOutProtocol


def _judged(
    table: RatingsTable,
    names: Sequence[Any] | None,
    candidates: IntArray,
    n_users: int,
    generator: np.random.Generator,
) -> IntArray:
    """Return the users to judge: those named, or so many of the candidates."""
    if names is not None:
        return table.find_users(names)
    validation.check_number(n_users, "n_users", low=1, inclusive=True, integer=True)
    if candidates.size < n_users:
        raise PairrankError(
            f"n_users={n_users}, but only {candidates.size} of {table.n_users} users can be judged "
            "here; ask for fewer"
        )
    return np.sort(generator.choice(candidates, n_users, replace=False))


def _problems(
    table: RatingsTable,
    references: References,
    judged: IntArray,
    protocol: Protocol,
    generator: np.random.Generator,
) -> UserProblems:
    named = protocol.users is not None
    tasks, n_skipped = split_users(table, judged, protocol.train_share, generator, named=named)
    return UserProblems(table, references, tasks, n_skipped, named)
