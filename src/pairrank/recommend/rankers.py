"""UserRankers: one fitted ranker per user, all over the same references."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from pairrank import _validation as validation
from pairrank._docstrings import described_by, entries, keywords_of, showing
from pairrank._protocols import FloatArray
from pairrank.estimators.rank_rls import RankRLS
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.recommend._pool import Interrupted, Progress, work_on
from pairrank.recommend.protocols import LEAST_PER_SIDE
from pairrank.recommend.references import References
from pairrank.recommend.sharing import SharedFeatures
from pairrank.recommend.table import IntArray, RatingsTable

_OF_PREFERENCES = 0.1
_OF_WIDTH = 0.3


DESCRIBED = entries("""
table : RatingsTable
    The ratings.
n_skipped : int
    Users who rated too few items, or all equally where a ranker needs a preference.
n_unconverged : int
    Fits that stopped early.
interrupted : bool
    Whether Ctrl-C left users out.
ratings : RatingsTable, Ratings or (user, item, rating)
    Who rated what, and how highly.
users : sequence of names, optional
    None: everyone who has rated two items.
ranker : estimator, optional
    Any ranker of pairrank, or any regressor of scikit-learn, which learns from ratings minus their
    mean; it is cloned for each user. Kernels "rbf" and "poly" are computed once for all. None:
    RankRLS with alpha equal to the number of references times the variance of ratings; see
    `suited_params`.
n_references : int
    The users with the most ratings, whose ratings of an item are its features. At least 2, because
    users are no references of their own; all users if there are fewer.
impute : "median", "gaussian" or "gaussian-item"
    See `pairrank.recommend.impute`.
duplicates : "error", "mean" or "last"
    What to do with several ratings of one item by one user.
random_state : int, Generator or None
    Seeds the Gaussian samples.
n_jobs : int, optional
    The number of processes, as in joblib.
callback : callable, optional
    Called after each chunk with the number of finished users and of all users.
""")
DESCRIBED["Warns"] = """ConvergenceWarning
    Once, with the number of fits that stopped early."""


class Setting(NamedTuple):
    """The users to fit and their features; `named`: whether the users were given by name."""

    table: RatingsTable
    users: IntArray
    shared: SharedFeatures
    named: bool = False


class UserFit(NamedTuple):
    """One user's fitted ranker, and whether its fit converged."""

    user: int
    ranker: Any
    converged: bool


@described_by(DESCRIBED)
@dataclass(frozen=True)
class UserRankers:
    """The fitted rankers by user, returned by `fit_users`.

    Attributes
    ----------
    table
    shared : SharedFeatures
        The features of all users' rankers.
    rankers : dict
        The fitted estimator of each user, by name. Those with a kernel are fitted on its values.
    n_skipped, interrupted
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
        """Return a user's scores of items, (n_items,); higher is better.

        Users and items are given by name; None means every item of the table, in its order. A
        PairrankError says if the user has no ranker or an item is unknown.
        """
        if user not in self.rankers:
            raise PairrankError(f"there is no ranker of user {user!s}; fit one")
        (index,) = self.table.find_users([user])
        chosen = np.arange(self.table.n_items) if items is None else self._find_items(items)
        trained = self.table.items_of(index)
        return self.shared.scores(self.rankers[user], int(index), trained, chosen)

    def _find_items(self, names: ArrayLike) -> IntArray:
        wanted = np.atleast_1d(np.asarray(names))
        places = np.searchsorted(self.table.item_ids, wanted).clip(max=self.table.n_items - 1)
        unknown = self.table.item_ids[places] != wanted
        if unknown.any():
            raise PairrankError(f"nobody has rated item {wanted[np.argmax(unknown)]!s}")
        return places


def setting_of(
    ratings: Any,
    users: Any,
    for_all_items: bool,
    *,
    ranker: Any = None,
    n_references: int = 300,
    impute: str = "median",
    duplicates: str = "error",
    random_state: Any = None,
) -> Setting:
    """Check the arguments of `fit_users`, choose the references and fill gaps.

    `for_all_items` says that every item is going to be scored, not only those rated.
    """
    validation.check_number(n_references, "n_references", low=2, inclusive=True, integer=True)
    table = RatingsTable.build(ratings, duplicates=duplicates)
    if table.n_users < 2:
        raise PairrankError(
            f"user {table.user_ids[0]!s} is the only one; an item's features are others' ratings"
        )
    named = users is not None
    chosen = table.find_users(users) if named else np.arange(table.n_users)
    counts = table.counts[chosen]
    if named and counts.min() < LEAST_PER_SIDE:
        raise PairrankError(
            f"user {table.user_ids[chosen[counts.argmin()]]!s} has rated one item; "
            f"{LEAST_PER_SIDE} are needed to learn from: leave them out"
        )
    busiest = np.argsort(-table.counts, kind="stable")[:n_references]
    references = References.build(table, np.sort(busiest), impute=impute, random_state=random_state)
    n_products = int(np.sum(counts * (table.n_items if for_all_items else counts)))
    if ranker is None:
        ranker = RankRLS(**suited_params(table, n_references, "alpha", differences=True))
    return Setting(table, chosen, SharedFeatures(references, ranker, n_products), named)


@described_by(DESCRIBED)
@showing(keywords_of(setting_of))
def fit_users(
    ratings: Any,
    users: Any = None,
    *,
    n_jobs: int | None = None,
    callback: Progress | None = None,
    **options: Any,
) -> UserRankers:
    """Fit a ranker to every user's ratings; an item's features are the references' ratings of it.

    The references are the users with the most ratings, who have the fewest gaps. (On MovieLens 1M,
    the accuracy on held-out ratings of others was 0.705 with 300 of them, and 0.674 with 300 random
    users.) A user's own ratings are never among their features.

    Returns
    -------
    UserRankers
        After Ctrl-C it holds the finished users.

    Raises
    ------
    PairrankError
        If there are no ratings, one is wrong, or a named user is unknown, rated too few items, or
        rated all equally where the ranker needs a preference.

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
    setting = setting_of(ratings, users, False, **options)
    work = partial(fit_one, setting)
    results, interrupted = work_on(work, setting.users.tolist(), n_jobs=n_jobs, callback=callback)
    fits = [result for result in results if result is not None]
    warn_of_unconverged(fits)
    table = setting.table
    rankers = {table.user_ids[[each.user]].tolist()[0]: each.ranker for each in fits}
    return UserRankers(table, setting.shared, rankers, len(results) - len(fits), interrupted)


def fit_one(setting: Setting, user: int, places: Any = slice(None)) -> UserFit | Interrupted | None:
    """Return a user's fit to some of their ratings; None if there is no preference.

    A named user without a preference, where the ranker needs one, raises a NoPairsError.
    """
    table = setting.table
    items, ratings = table.items_of(user)[places], table.ratings_of(user)[places]
    if items.size < LEAST_PER_SIDE:
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
    """Warn once where fits stopped early (records with `converged`); return how many did."""
    n_unconverged = sum(not each.converged for each in fits)
    if n_unconverged:
        warnings.warn(
            f"{n_unconverged} of {len(fits)} users' fits stopped before they converged: "
            "regularise more, or raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    return n_unconverged


def suited_params(
    table: RatingsTable, n_references: int, strength: str, *, differences: bool, kernel: Any = None
) -> dict[str, Any]:
    """Return good regularisation of a ranker for users' ratings, tested on three ratings tables.

    S is the number of references times the variance of ratings, about half the squared distance of
    two items. alpha = S; C and nu of a loss over preferences are 0.1/S; C of MPRank and SVRank,
    which divide by m^2, is m/(2 S) for the median user's m ratings, which is equivalent to alpha.
    With the kernel "rbf", gamma is 0.3/S and the strength keeps its default.

    Parameters
    ----------
    table : RatingsTable
    n_references : int
    strength : "alpha", "C" or "nu"
        The parameter that weighs the loss or the penalty.
    differences : bool
        Whether the ranker learns differences of ratings, not preferences only.
    kernel : None, "rbf" or "poly"

    Returns
    -------
    dict of str to float
        Parameters of the ranker; none for "poly".

    Notes
    -----
    On MovieLens 100K and 1M and on Jester, the accuracy on held-out ratings of 200 users was within
    0.004 of the best among values 3 and 10 times larger and smaller.

    Examples
    --------
    >>> table = RatingsTable.build((["a", "a", "b"], ["x", "y", "y"], [1.0, 3.0, 2.0]))
    >>> suited_params(table, 300, "alpha", differences=True)
    {'alpha': 1.3333333333333333}
    """
    variance = float(table.rating.var())
    size = min(n_references, table.n_users) * (variance if variance > 0 else 1.0)
    if kernel is not None:
        return {"gamma": _OF_WIDTH / size} if kernel == "rbf" else {}
    if strength == "alpha":
        return {"alpha": size}
    if not differences:
        return {strength: _OF_PREFERENCES / size}
    return {strength: float(np.median(table.counts)) / (2.0 * size)}
