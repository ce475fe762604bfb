"""UserRankers: one fitted ranker per user, all over the same references."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pairrank._docstrings import described_by, keywords_of, showing
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.recommend._pool import Progress, work_on
from pairrank.recommend.personal import (
    DESCRIBED,
    Setting,
    UserFit,
    fit_one,
    score_items,
    setting_of,
    skipped_of,
    warn_of_unconverged,
)
from pairrank.recommend.recommendations import (
    Recommendations,
    check_arguments,
    gathered,
    rank_items,
)
from pairrank.recommend.table import IntArray, RatingsTable


@described_by(DESCRIBED)
@dataclass(frozen=True)
class UserRankers:
    """The fitted rankers by user, returned by `fit_users`.

    Attributes
    ----------
    fits : dict
        The fit of each user, by name: `ranker` (the fitted estimator, on kernel values if it has a
        kernel; None if the item means alone order the user's items), `centre` and `slope`. A score
        is centre + slope times the ranker's, plus the item's mean if there is a baseline.
    setting : Setting
        The ratings, and the features of all users' rankers.
    skipped, interrupted
    """

    fits: dict[Any, UserFit]
    setting: Setting
    skipped: list[Any]
    interrupted: bool

    @property
    def table(self) -> RatingsTable:
        """The ratings."""
        return self.setting.table

    def __len__(self) -> int:
        return len(self.fits)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.fits)

    def predict(self, user: Any, items: ArrayLike | None = None) -> FloatArray:
        """Return a user's scores of items, (n_items,); higher is better.

        Users and items are given by name; None means every item of the table, in its order. A
        PairrankError says if the user has no ranker or an item is unknown.
        """
        chosen = np.arange(self.table.n_items) if items is None else self._find_items(items)
        scores: FloatArray = score_items(self.setting, self._fit_of(user), chosen)
        return scores

    @described_by(DESCRIBED)
    def recommend(
        self,
        users: Any = None,
        *,
        top: int = 10,
        min_support: int = 5,
        titles: Mapping[Any, str] | None = None,
    ) -> Recommendations:
        """Return the best items that users have not rated, as `pairrank.recommend.recommend` does.

        Returns
        -------
        Recommendations

        Raises
        ------
        PairrankError
            If a user has no ranker, or a parameter is out of range.
        """
        check_arguments(top, min_support, titles)
        names = list(self.fits) if users is None else np.atleast_1d(users).tolist()
        fits = [self._fit_of(name) for name in names]
        ranked = [rank_items(self.setting, fit, int(top), int(min_support)) for fit in fits]
        skipped = [name for name, each in zip(names, ranked, strict=True) if each is None]
        return gathered(self.table, [each for each in ranked if each is not None], titles, skipped)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ratings and rankers to a file for `load`, whole or not at all.

        A PairrankError says if a ranker is not one of pairrank's (pickle these instead), a
        FileAccessError if the file cannot be written.
        """
        from pairrank.recommend.saving import save_rankers

        save_rankers(self.setting, self.fits.values(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; "-" is standard input.

        A FileFormatError says if the file is damaged, of another version, or not a file of rankers
        by user, a FileAccessError if it cannot be opened.
        """
        from pairrank.recommend.saving import load_rankers

        setting, fits = load_rankers(path)
        names = setting.table.user_ids[setting.users].tolist()
        return cls(dict(zip(names, fits, strict=True)), setting, [], False)

    def _fit_of(self, user: Any) -> UserFit:
        if not isinstance(user, Hashable) or user not in self.fits:
            raise PairrankError(f"there is no ranker of user {user!s}; fit one")
        return self.fits[user]

    def _find_items(self, names: ArrayLike) -> IntArray:
        wanted = np.atleast_1d(np.asarray(names))
        places = np.searchsorted(self.table.item_ids, wanted).clip(max=self.table.n_items - 1)
        unknown = self.table.item_ids[places] != wanted
        if unknown.any():
            raise PairrankError(f"nobody has rated item {wanted[np.argmax(unknown)]!s}")
        return places


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
    users, without a baseline.) A user's own ratings are never among their features.

    Returns
    -------
    UserRankers
        After Ctrl-C it holds the finished users.

    Raises
    ------
    PairrankError
        If there are no ratings, one is wrong, a named user is unknown, or nothing can be learned of
        any of the named users.

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
    skipped = skipped_of(setting, results)
    warn_of_unconverged(fits)
    names = setting.table.user_ids[np.array([each.user for each in fits], dtype=np.int64)]
    return UserRankers(dict(zip(names.tolist(), fits, strict=True)), setting, skipped, interrupted)
