"""UserRankers: a fitted ranker a user, all of them over the same references."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from pairrank import _validation as validation
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.recommend._pool import Interrupted, Progress, work_on
from pairrank.recommend.problems import LEAST_A_SIDE
from pairrank.recommend.references import References
from pairrank.recommend.sharing import SharedFeatures
from pairrank.recommend.suiting import suited_params
from pairrank.recommend.table import RatingsTable

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Setting(NamedTuple):
    """What users are to be fitted, and how: the checked arguments of `fit_users`.

    Attributes
    ----------
    table : RatingsTable
    users : int64 array
    shared : SharedFeatures
    named : bool
        Whether the users were asked for by name.
    """

    table: RatingsTable
    users: IntArray
    shared: SharedFeatures
    named: bool


class UserFit(NamedTuple):
    """One user's fitted ranker.

    Attributes
    ----------
    user : int
    ranker : estimator
    converged : bool
    """

    user: int
    ranker: Any
    converged: bool


@dataclass(frozen=True)
class UserRankers:
    """Fitted rankers by user; what `fit_users` returns.

    Attributes
    ----------
    table : RatingsTable
    shared : SharedFeatures
    rankers : dict
        The fitted estimator of each user, by name. Those with a kernel are fitted on its values.
    n_skipped : int
        Users who rated too little, or all alike where a ranker needs a preference.
    interrupted : bool
        Whether Ctrl-C left users out.
    """

    table: RatingsTable
    shared: SharedFeatures
    rankers: dict[Any, Any]
    n_skipped: int
    interrupted: bool

    def __len__(self) -> int:
        return len(self.rankers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rankers)

    def predict(self, user: Any, items: ArrayLike | None = None) -> FloatArray:
        """Return a user's scores of items; higher is better.

        Parameters
        ----------
        user : the user's name
        items : sequence of names, optional
            None: every item of the table, in its order.

        Returns
        -------
        ndarray of shape (n_items,)

        Raises
        ------
        PairrankError
            If the user has no ranker or an item is unknown.
        """
        if user not in self.rankers:
            raise PairrankError(f"there is no ranker of user {user!s}; fit one")
        (index,) = self.table.find_users([user])
        chosen = np.arange(self.table.n_items) if items is None else self._find_items(items)
        trained = self.table.items_of(index)
        return self.shared.scores(self.rankers[user], int(index), trained, chosen)

    def _find_items(self, names: ArrayLike) -> IntArray:
        wanted = np.atleast_1d(np.asarray(names))
        places = np.searchsorted(self.table.item_ids, wanted)
        places = np.minimum(places, self.table.n_items - 1)
        unknown = self.table.item_ids[places] != wanted
        if unknown.any():
            raise PairrankError(f"nobody has rated item {wanted[np.argmax(unknown)]!s}")
        return places


def fit_users(
    ratings: Any,
    users: Any = None,
    *,
    ranker: Any = None,
    n_references: int = 300,
    impute: str = "median",
    duplicates: str = "error",
    random_state: Any = None,
    n_jobs: int | None = None,
    callback: Progress | None = None,
) -> UserRankers:
    """Fit a ranker to every user's ratings; an item's features are the references' ratings of it.

    The references are the users with the most ratings: there are the fewest gaps to fill. (On
    MovieLens 1M, 300 of them ranked held-out ratings of others to an accuracy of 0.705, and 300
    drawn at random to 0.674.) A user's own ratings are never among their features.

    Parameters
    ----------
    ratings : RatingsTable, Ratings or (user, item, rating)
    users : sequence of names, optional
        None: everyone who has rated two items.
    ranker : estimator, optional
        Any ranker of pairrank, or any regressor of scikit-learn, which learns from ratings less
        their mean; it is cloned for each user. Kernels "rbf" and "poly" are computed once for all.
        None: RankRLS, alpha being the number of references times the variance of the ratings; see
        `suited_params`.
    n_references : int
        2 or more, for no user refers to themselves; all users, where there are fewer.
    impute : "median", "gaussian" or "gaussian-item"
        See `pairrank.recommend.impute`.
    duplicates : "error", "mean" or "last"
        What becomes of several ratings of one item by one user.
    random_state : int, Generator or None
        Of the Gaussian samples.
    n_jobs : int, optional
        Processes, as joblib counts them.
    callback : callable, optional
        Called with the number of users done and of all, chunk by chunk.

    Returns
    -------
    UserRankers
        Ctrl-C keeps those that are done.

    Raises
    ------
    PairrankError
        If ratings are none or wrong, or a user who is named is unknown, rated too little, or rated
        all alike where the ranker needs a preference.

    Warns
    -----
    ConvergenceWarning
        Once, with the number of fits that stopped early.

    Notes
    -----
    Holds 8 n_items n_references bytes, and 8 n_items^2 more for a shared kernel.

    Examples
    --------
    >>> from pairrank.datasets import make_ratings
    >>> rankers = fit_users(make_ratings(random_state=0), [3, 7], n_references=30)
    >>> rankers.predict(3).shape == rankers.table.item_ids.shape
    True
    """
    setting = check_setting(
        ratings, users, ranker, n_references=n_references, impute=impute, duplicates=duplicates,
        random_state=random_state,
    )  # fmt: skip
    work = partial(fit_one, setting)
    results, interrupted = work_on(work, setting.users.tolist(), n_jobs=n_jobs, callback=callback)
    fits = [result for result in results if result is not None]
    warn_of_unconverged(fits)
    names = setting.table.user_ids[[each.user for each in fits]].tolist() if fits else []
    rankers = dict(zip(names, (each.ranker for each in fits), strict=True))
    return UserRankers(
        setting.table, setting.shared, rankers, len(results) - len(fits), interrupted
    )


def check_setting(
    ratings: Any,
    users: Any,
    ranker: Any,
    *,
    n_references: int,
    impute: str,
    duplicates: str,
    random_state: Any,
    for_all_items: bool = False,
) -> Setting:
    """Return what `fit_users` is to work with, references drawn and gaps filled.

    Parameters
    ----------
    ratings, users, ranker, n_references, impute, duplicates, random_state
        Of `fit_users`.
    for_all_items : bool
        Whether every item is going to be scored, and not only those rated.

    Returns
    -------
    Setting

    Raises
    ------
    PairrankError
        Where an argument is wrong.
    """
    validation.check_number(n_references, "n_references", low=2, inclusive=True, integer=True)
    table = RatingsTable.build(ratings, duplicates=duplicates)
    if table.n_users < 2:
        raise PairrankError(
            f"user {table.user_ids[0]!s} is the only one; an item's features are others' ratings"
        )
    named = users is not None
    chosen = table.find_users(users) if named else np.arange(table.n_users)
    few = table.counts[chosen] < LEAST_A_SIDE
    if named and few.any():
        name = table.user_ids[chosen[np.argmax(few)]]
        raise PairrankError(
            f"user {name!s} has rated one item; {LEAST_A_SIDE} are needed to learn from: leave "
            "them out"
        )
    busiest = np.argsort(-table.counts, kind="stable")[:n_references]
    references = References.build(table, np.sort(busiest), impute=impute, random_state=random_state)
    counts = table.counts[chosen]
    scored = table.n_items if for_all_items else counts
    shared = SharedFeatures(
        references, default_ranker(table, n_references) if ranker is None else ranker,
        int(np.sum(counts * scored)),
    )  # fmt: skip
    return Setting(table, chosen, shared, named)


def default_ranker(table: RatingsTable, n_references: int) -> Any:
    """Return RankRLS with a penalty that suits the size of the features."""
    from pairrank.estimators.rank_rls import RankRLS

    return RankRLS(**suited_params(table, n_references, "alpha", differences=True))


def fit_one(setting: Setting, user: int) -> UserFit | Interrupted | None:
    """Return a user's fit; None where there is too little to learn from and they are not named.

    Parameters
    ----------
    setting : Setting
    user : int

    Returns
    -------
    UserFit, Interrupted or None

    Raises
    ------
    NoPairsError
        That names the user, where they are named.
    """
    table = setting.table
    items, ratings = table.items_of(user), table.ratings_of(user)
    if items.size < LEAST_A_SIDE:
        return None
    try:
        ranker, converged = setting.shared.fit(user, items, ratings)
    except NoPairsError as error:
        if setting.named:
            raise NoPairsError(f"user {table.user_ids[user]!s}: {error}; leave them out") from None
        return None
    if getattr(ranker, "status_", None) == "interrupted":
        return Interrupted()
    return UserFit(user, ranker, converged)


def warn_of_unconverged(fits: list[Any]) -> int:
    """Warn once where fits stopped early; return how many did.

    Parameters
    ----------
    fits : list
        Of records with `converged`.

    Returns
    -------
    int
    """
    n_unconverged = sum(not each.converged for each in fits)
    if n_unconverged:
        warnings.warn(
            f"{n_unconverged} of {len(fits)} users' fits stopped before they converged: "
            "regularise more, or raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    return n_unconverged
