"""RatingsTable: who rated what and how highly, laid out by user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pairrank import _validation as validation
from pairrank._arrays import as_float_array, refuse_hidden
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.io.ratings import ROLES, find_columns

IntArray = NDArray[np.int64]

DUPLICATES = ("error", "mean", "last")
_SHOWN = 5


@dataclass(frozen=True)
class RatingsTable:
    """Ratings, checked once, sorted by user and item; create one with `build`.

    Attributes
    ----------
    user_ids, item_ids : ndarray of shape (n_users,) and (n_items,)
        The names, sorted.
    start : int64 array of shape (n_users + 1,)
        The ratings of user u are start[u] to start[u + 1].
    item : int64 array of shape (n_ratings,)
        Indices into `item_ids`, ascending within a user.
    rating : float64 array of shape (n_ratings,)

    Examples
    --------
    >>> table = RatingsTable.build((["ann", "bob", "ann"], ["x", "x", "y"], [5, 3, 1]))
    >>> table.n_ratings, table.counts, table.items_of(0)
    (3, array([2, 1]), array([0, 1]))
    """

    user_ids: NDArray[Any]
    item_ids: NDArray[Any]
    start: IntArray
    item: IntArray
    rating: FloatArray

    @classmethod
    def build(
        cls,
        ratings: Any,
        *,
        user: str | None = None,
        item: str | None = None,
        rating: str | None = None,
        duplicates: str = "error",
    ) -> Self:
        """Return the table of some ratings.

        Parameters
        ----------
        ratings : RatingsTable, RatingColumns, frame or (user, item, rating)
            What `pairrank.io.read_ratings` returns, a frame, or three sequences of equal length:
            names of users and of items, any that sort, and finite numbers.
        user, item, rating : str, optional
            A frame's column of that role. None: the column "user" (or "userId", "User-ID"; "item"
            and "rating" likewise) if there is one, else the first, the second, the third.
        duplicates : "error", "mean" or "last"
            What to do with several ratings of one item by one user.

        Returns
        -------
        RatingsTable
            A table is returned as it is.

        Raises
        ------
        PairrankError
            If there is no rating, lengths differ, a frame has no such column, a rating is not
            finite, or a user rates an item twice and `duplicates` is "error".
        """
        validation.check_choice(duplicates, "duplicates", DUPLICATES)
        if isinstance(ratings, cls):
            return ratings
        users, items, values, user_ids, item_ids = _columns(ratings, (user, item, rating))
        order = np.lexsort((items, users))
        users, items, values = users[order], items[order], values[order]
        fresh = np.ones(users.size, dtype=bool)
        fresh[1:] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
        if not fresh.all():
            if duplicates == "error":
                at = int(np.argmin(fresh))
                raise PairrankError(
                    f"user {user_ids[users[at]]!s} rates item {item_ids[items[at]]!s} twice; drop "
                    'one of the ratings, or let duplicates (--duplicates) be "mean" or "last"'
                )
            first = np.flatnonzero(fresh)
            if duplicates == "mean":
                lengths = np.diff(np.append(first, users.size))
                values = np.add.reduceat(values, first) / lengths
            else:
                values = values[np.append(first[1:], users.size) - 1]
            users, items = users[first], items[first]
        return cls._laid_out(user_ids, item_ids, users, items, values)

    @property
    def n_users(self) -> int:
        """The number of users."""
        return int(self.user_ids.size)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return int(self.item_ids.size)

    @property
    def n_ratings(self) -> int:
        """The number of ratings."""
        return int(self.rating.size)

    @property
    def counts(self) -> IntArray:
        """How many items each user has rated."""
        return np.diff(self.start)

    def items_of(self, user: int) -> IntArray:
        """Return the items that a user has rated, ascending."""
        return self.item[self.start[user] : self.start[user + 1]]

    def ratings_of(self, user: int) -> FloatArray:
        """Return a user's ratings, by item."""
        return self.rating[self.start[user] : self.start[user + 1]]

    def find_users(self, names: Any) -> IntArray:
        """Return the indices of users by name, or of one name, each once, in the order asked for.

        A PairrankError names the users who have rated nothing.
        """
        index = {name: at for at, name in enumerate(self.user_ids.tolist())}
        several = [names] if isinstance(names, str) or not np.iterable(names) else names
        asked = list(dict.fromkeys(validation.check_identifiers(several, "users").tolist()))
        if not asked:
            raise PairrankError("no user is named; name some, or leave them out for all users")
        unknown = [name for name in asked if name not in index]
        if unknown:
            raise PairrankError(
                f"no ratings of user {listed(unknown)}; there are {self.n_users:,} users, such as "
                f"{self.user_ids[:1].tolist()[0]!r}"
            )
        return np.array([index[name] for name in asked], dtype=np.int64)

    def restricted(self, *, min_user_ratings: int = 0, min_item_ratings: int = 0) -> RatingsTable:
        """Return the ratings of active users on items that enough of them rated.

        Users are selected first; an item's ratings are counted among the users left. Users and
        items without a rating are dropped; a PairrankError says if no rating is left.
        """
        for least in (min_user_ratings, min_item_ratings):
            validation.check_number(least, "the least ratings", inclusive=True, integer=True)
        user = np.repeat(np.arange(self.n_users), self.counts)
        kept = (self.counts >= min_user_ratings)[user]
        n_raters = np.bincount(self.item[kept], minlength=self.n_items)
        kept &= (n_raters >= min_item_ratings)[self.item]
        if not kept.any():
            raise PairrankError(
                f"no rating is left of users with {min_user_ratings} ratings and items with "
                f"{min_item_ratings} among theirs; ask for fewer"
            )
        users, user = np.unique(user[kept], return_inverse=True)
        items, item = np.unique(self.item[kept], return_inverse=True)
        return self._laid_out(
            self.user_ids[users], self.item_ids[items], user, item, self.rating[kept]
        )

    @classmethod
    def _laid_out(
        cls,
        user_ids: NDArray[Any],
        item_ids: NDArray[Any],
        user: NDArray[Any],
        item: NDArray[Any],
        rating: FloatArray,
    ) -> Self:
        """Return the table of ratings that are sorted by user and item; both are indices."""
        start = np.searchsorted(user, np.arange(user_ids.size + 1)).astype(np.int64)
        return cls(user_ids, item_ids, start, item.astype(np.int64), rating)


def listed(names: list[Any]) -> str:
    """Return the first names, and how many more there are."""
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(repr, names[:_SHOWN])) + rest


def _columns(
    ratings: Any, roles: tuple[str | None, ...]
) -> tuple[IntArray, IntArray, FloatArray, NDArray[Any], NDArray[Any]]:
    """Return users and items as indices, the ratings, and the names, checked."""
    if hasattr(ratings, "user_ids") and hasattr(ratings, "item_ids"):
        user, item = np.asarray(ratings.user), np.asarray(ratings.item)
        rating = _checked(ratings.rating, user.size, item.size)
        return user, item, rating, np.asarray(ratings.user_ids), np.asarray(ratings.item_ids)
    users, items, rating = _three(ratings, roles)
    users = validation.check_identifiers(users, "users")
    items = validation.check_identifiers(items, "items")
    rating = _checked(rating, users.size, items.size)
    (user_ids, user), (item_ids, item) = _named(users, "users"), _named(items, "items")
    return user, item, rating, user_ids, item_ids


def _three(ratings: Any, roles: tuple[str | None, ...]) -> tuple[Any, Any, Any]:
    """Return the three columns, those of a frame by their names."""
    refuse_hidden(ratings, "ratings")
    if hasattr(ratings, "columns") or isinstance(ratings, Mapping):
        names = list(getattr(ratings, "columns", ratings))
        wanted = dict(zip(ROLES, roles, strict=True))
        user, item, rating = find_columns("the frame of ratings", list(map(str, names)), wanted)
        return ratings[names[user]], ratings[names[item]], ratings[names[rating]]
    try:
        if isinstance(ratings, (str, np.ndarray)):
            raise TypeError
        users, items, rating = ratings
    except (TypeError, ValueError):
        raise PairrankError(
            "ratings are three sequences, (user, item, rating), a frame with these columns, or "
            f"what load_ratings returns; got a {type(ratings).__name__}"
        ) from None
    return users, items, rating


def _checked(rating: Any, n_users: int, n_items: int) -> FloatArray:
    values = as_float_array(rating, "rating")
    if not values.shape == (n_users,) == (n_items,):
        raise PairrankError(
            f"users, items and ratings are of different lengths: {n_users}, {n_items} and "
            f"{values.size}; every rating needs all three"
        )
    if not values.size:
        raise PairrankError("there is no rating; a rating is a user, an item and a number")
    wrong = ~np.isfinite(values)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise PairrankError(f"rating {at} is {values[at]}; drop ratings that are not finite")
    return values


def _named(names: NDArray[Any], what: str) -> tuple[NDArray[Any], IntArray]:
    try:
        return np.unique(names, return_inverse=True)
    except TypeError:
        raise PairrankError(
            f"the names of {what} cannot be sorted; give all as text or all as numbers"
        ) from None
