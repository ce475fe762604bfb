"""One user's ranker: what it learns from, and how it scores items."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pairrank import _validation as validation
from pairrank._docstrings import entries
from pairrank._protocols import FloatArray
from pairrank.estimators.rank_rls import RankRLS
from pairrank.exceptions import (
    NoPairsError,
    NoPairsWarning,
    PairrankError,
    ZeroWeightsWarning,
)
from pairrank.preferences import OrderGraph
from pairrank.recommend._pool import Interrupted
from pairrank.recommend.item_means import ItemMeans
from pairrank.recommend.protocols import LEAST_PER_SIDE
from pairrank.recommend.references import References
from pairrank.recommend.sharing import SharedFeatures
from pairrank.recommend.table import IntArray, RatingsTable, listed

BASELINES = (None, "item-mean")

_OF_PREFERENCES = 0.1
_OF_WIDTH = 0.3
_OF_SLOPE = 0.5


DESCRIBED = entries("""
table : RatingsTable
    The ratings.
skipped : list
    The names of users who rated too few items, or all equally if the ranker needs a preference.
n_unconverged : int
    Fits that stopped early.
interrupted : bool
    Whether Ctrl-C left users out.
ratings : RatingsTable, Ratings, frame or (user, item, rating)
    Who rated what, and how highly; see `RatingsTable.build`.
users : sequence of names, optional
    None: everyone. Users who cannot be ranked for are left out, with one warning that names them.
ranker : estimator, optional
    Any ranker of pairrank, or any regressor of scikit-learn, which learns from ratings minus their
    mean; it is cloned for each user. Kernels "rbf" and "poly" are computed once for all. None:
    RankRLS with alpha equal to the number of references times the variance of ratings; see
    `suited_params`.
baseline : "item-mean" or None
    "item-mean": rankers learn how a user's ratings differ from the items' mean ratings by others,
    which are added to the scores. Scores are then predicted ratings. None: the ranker alone.
n_references : int
    The users with the most ratings, whose ratings of an item are its features. At least 2, because
    users are no references of their own; all users if there are fewer.
impute : "median", "gaussian", "gaussian-item" or "missing"
    See `pairrank.recommend.impute`.
duplicates : "error", "mean" or "last"
    What to do with several ratings of one item by one user.
random_state : int, Generator or None
    Seeds the Gaussian samples.
top : int
    The number of items per user, or all new items if there are fewer.
min_support : int
    Items rated by fewer references than this are not recommended.
titles : mapping, optional
    The title of an item by its name; items that it lacks keep their name.
n_jobs : int, optional
    The number of processes, as in joblib.
callback : callable, optional
    Called after each chunk with the number of finished users and of all users.
""")
DESCRIBED["Warns"] = """ConvergenceWarning
    Once, with the number of fits that stopped early.
NoPairsWarning
    Once, with the names of users in `users` who are left out."""


class Setting(NamedTuple):
    """The users to fit, their features, and the item means that their rankers start from."""

    table: RatingsTable
    users: IntArray
    shared: SharedFeatures
    means: ItemMeans | None = None
    named: bool = False
    """Whether the users were given by name."""


class UserFit(NamedTuple):
    """One user's fitted ranker; an item's score is centre + slope ranker(item) + its mean."""

    user: int
    ranker: Any
    """None if the user shows no preference: the item means alone order their items."""
    converged: bool = True
    centre: float = 0.0
    slope: float = 1.0


def setting_of(
    ratings: Any,
    users: Any,
    for_all_items: bool,
    *,
    ranker: Any = None,
    baseline: str | None = "item-mean",
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
    chosen = np.arange(table.n_users) if users is None else table.find_users(users)
    busiest = np.argsort(-table.counts, kind="stable")[:n_references]
    references = References.build(table, np.sort(busiest), impute=impute, random_state=random_state)
    counts = table.counts[chosen]
    n_products = int(np.sum(counts * (table.n_items if for_all_items else counts)))
    if ranker is None:
        ranker = RankRLS(**suited_params(table, n_references, "alpha", differences=True))
    means = means_of(table, baseline, ranker)
    shared = SharedFeatures(references, ranker, n_products)
    return Setting(table, chosen, shared, means, users is not None)


def means_of(table: RatingsTable, baseline: str | None, ranker: Any) -> ItemMeans | None:
    """Return the item means of a baseline, None if there is none; check that the ranker fits it."""
    validation.check_choice(baseline, "baseline", BASELINES)
    if baseline is None:
        return None
    if isinstance(getattr(ranker, "graph", None), OrderGraph):
        raise PairrankError(
            'an OrderGraph names ratings, but with baseline="item-mean" a ranker learns from '
            'ratings minus means; let graph be "full" or "chain", or baseline None'
        )
    return ItemMeans.build(table)


def fit_one(setting: Setting, user: int, places: Any = slice(None)) -> UserFit | Interrupted | None:
    """Return a user's fit to some of their ratings; None if nothing can be learned."""
    items = setting.table.items_of(user)[places]
    ratings = setting.table.ratings_of(user)[places]
    means = setting.means
    wanted = ratings if means is None else ratings - means.of(user, items)
    alone = None if means is None else UserFit(user, None, centre=float(wanted.mean()))
    if items.size < LEAST_PER_SIDE:
        return alone
    try:
        with warnings.catch_warnings():
            if means is not None:  # weights of 0 leave the order to the item means
                warnings.simplefilter("ignore", ZeroWeightsWarning)
            ranker, converged = setting.shared.fit(user, items, wanted)
    except NoPairsError:
        return alone
    if getattr(ranker, "status_", None) == "interrupted":
        return Interrupted()
    if means is None:
        return UserFit(user, ranker, converged)
    scores = setting.shared.scores(ranker, user, items, items)
    slope = _slope(scores, wanted)
    return UserFit(user, ranker, converged, float(wanted.mean() - slope * scores.mean()), slope)


def _slope(scores: FloatArray, wanted: FloatArray) -> float:
    """Return half the slope of the least squares line, at least 0.

    A ranker fits its own training rows better than others. On MovieLens 100K, Jester and made
    ratings, with 5 to 30 training ratings per user, half the slope gave the same accuracy on
    held-out ratings for strengths 10 times apart, and was the best or within 0.005 of it.
    """
    centred = scores - scores.mean()
    square = float(centred @ centred)
    return _OF_SLOPE * max(float(centred @ wanted) / square, 0.0) if square > 0.0 else 0.0


def score_items(setting: Setting, fit: UserFit, items: IntArray, places: Any = slice(None)) -> Any:
    """Return a user's scores of items, (n_items,); `places` as in `fit_one`."""
    scores = np.full(items.size, fit.centre)
    if fit.ranker is not None and items.size:
        trained = setting.table.items_of(fit.user)[places]
        scores += fit.slope * setting.shared.scores(fit.ranker, fit.user, trained, items)
    return scores if setting.means is None else scores + setting.means.of(fit.user, items)


def warn_of_unconverged(fits: list[Any]) -> int:
    """Warn once if fits stopped early (records with `converged`); return how many did."""
    n_unconverged = sum(not each.converged for each in fits)
    if n_unconverged:
        warnings.warn(
            f"{n_unconverged} of {len(fits)} users' fits stopped before they converged: "
            "regularise more, or raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=3,
        )
    return n_unconverged


def skipped_of(setting: Setting, results: list[Any], min_support: int = 0) -> list[Any]:
    """Return the names of the users without a result; warn of those who were asked for by name.

    `min_support` is what new items need to be recommended.
    """
    done = setting.users[: len(results)]
    without = [user for user, each in zip(done, results, strict=True) if each is None]
    names: list[Any] = setting.table.user_ids[np.array(without, dtype=np.int64)].tolist()
    if names and setting.named:
        reasons = "too few ratings, no preference, or no item that others rated"
        if min_support:
            reasons += (
                f"; or no new item that {min_support} references rated: lower min_support "
                "(--min-support)"
            )
        if len(names) == len(results):
            raise NoPairsError(f"there is no result for user {listed(names)}: {reasons}")
        warnings.warn(f"left out user {listed(names)}: {reasons}", NoPairsWarning, stacklevel=3)
    return names


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
