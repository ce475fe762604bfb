"""Recommendations: the items that users have not rated, best first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank import _validation as validation
from pairrank._docstrings import described_by, keywords_of, showing
from pairrank._protocols import FloatArray
from pairrank.exceptions import NoPairsError
from pairrank.recommend._pool import Interrupted, Progress, work_on
from pairrank.recommend.rankers import (
    DESCRIBED,
    Setting,
    UserFit,
    fit_one,
    setting_of,
    warn_of_unconverged,
)
from pairrank.recommend.table import IntArray


@dataclass(frozen=True)
class Recommendations:
    """Ranked items by user, returned by `recommend`.

    Attributes
    ----------
    user, item : ndarray of shape (n_recommendations,)
        Names.
    position : int64 array of shape (n_recommendations,)
        1 is best.
    score : float64 array of shape (n_recommendations,)
        By the user's ranker; comparable within a user.
    n_users : int
        The number of users with recommendations.
    n_skipped : int
        Users who rated too few items, all equally, or nothing that a reference rated, or for whom
        no item is new.
    interrupted : bool
        Whether Ctrl-C left users out.
    """

    user: NDArray[Any]
    item: NDArray[Any]
    position: IntArray
    score: FloatArray
    n_users: int
    n_skipped: int
    interrupted: bool

    def of(self, user: Any) -> NDArray[Any]:
        """Return the items recommended to one user, best first."""
        return self.item[self.user == user]


class _Ranked(NamedTuple):
    """One user's best items."""

    user: int
    items: IntArray
    scores: FloatArray
    converged: bool


@described_by(DESCRIBED)
@showing(keywords_of(setting_of))
def recommend(
    ratings: Any,
    users: Any = None,
    *,
    top: int = 10,
    min_support: int = 5,
    n_jobs: int | None = None,
    callback: Progress | None = None,
    **options: Any,
) -> Recommendations:
    """Rank for each user the items that they have not rated, by one ranker per user.

    Parameters
    ----------
    top : int
        The number of items per user, or all new items if there are fewer.
    min_support : int
        Items rated by fewer references than this are not recommended.

    Returns
    -------
    Recommendations
        In the order of `users`; equal scores in the order of the table. After Ctrl-C it holds the
        finished users.

    Raises
    ------
    PairrankError
        If there are no ratings, one is wrong, a parameter is out of range, or a named user is
        unknown, rated too few items, all equally, or nothing that a reference rated.

    Notes
    -----
    Costs one fit and O(n_items n_references) per user. Holds 8 n_items n_references bytes, and with
    a shared kernel 8 n_items^2 more; rankers are not kept.

    Examples
    --------
    >>> from pairrank.datasets import make_ratings
    >>> found = recommend(make_ratings(random_state=0), [3, 7], top=2, n_references=30)
    >>> found.user, found.position
    (array([3, 3, 7, 7]), array([1, 2, 1, 2]))
    """
    validation.check_number(top, "top", low=1, inclusive=True, integer=True)
    validation.check_number(min_support, "min_support", inclusive=True, integer=True)
    setting = setting_of(ratings, users, True, **options)
    work = partial(_rank_one, setting, int(top), int(min_support))
    results, interrupted = work_on(work, setting.users.tolist(), n_jobs=n_jobs, callback=callback)
    ranked = [result for result in results if result is not None]
    warn_of_unconverged(ranked)
    table = setting.table
    sizes = [each.items.size for each in ranked]
    indices = np.array([each.user for each in ranked], dtype=np.int64)
    items = np.concatenate([each.items for each in ranked] or [np.empty(0, dtype=np.int64)])
    return Recommendations(
        user=table.user_ids[np.repeat(indices, sizes)],
        item=table.item_ids[items],
        position=np.concatenate([np.arange(1, size + 1) for size in [*sizes, 0]]),
        score=np.concatenate([*(each.scores for each in ranked), np.empty(0)]),
        n_users=len(ranked),
        n_skipped=len(results) - len(ranked),
        interrupted=interrupted,
    )


def _rank_one(
    setting: Setting, top: int, min_support: int, user: int
) -> _Ranked | Interrupted | None:
    """Return a user's best new items; None if the user cannot be fitted or nothing is new."""
    table, shared = setting.table, setting.shared
    nothing = _nothing_known(setting, user)
    if nothing and setting.named:
        raise NoPairsError(f"user {table.user_ids[user]!s} {nothing}")
    if nothing:
        return None
    fitted = fit_one(setting, user)
    if not isinstance(fitted, UserFit):
        return fitted
    rated = table.items_of(user)
    new = shared.references.support >= min_support
    new[rated] = False
    candidates = np.flatnonzero(new)
    if not candidates.size:
        return None
    scores = shared.scores(fitted.ranker, user, rated, candidates)
    best = np.argsort(-scores, kind="stable")[:top]
    return _Ranked(user, candidates[best], scores[best], fitted.converged)


def _nothing_known(setting: Setting, user: int) -> str | None:
    """Return why any ranker would give a user equal scores, or None."""
    table, references = setting.table, setting.shared.references
    if np.ptp(table.ratings_of(user)) == 0.0:
        return "rated all items equally, which shows no preference; leave them out"
    own = int(references.column_of(user) is not None)
    if references.support[table.items_of(user)].max() > own:
        return None
    return "rated nothing that a reference rated; raise n_references, or leave them out"
