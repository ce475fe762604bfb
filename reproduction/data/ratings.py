"""Ratings tables: MovieLens, Jester and Book-Crossing, laid out by user."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from reproduction.data.registry import DatasetRecord, find_home, find_record, open_file

_NOT_RATED = 99.0
_Columns = tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]


@dataclass(frozen=True)
class RatingsTable:
    """Ratings, sorted by user and item; create one with `build`.

    Names of users and items are sorted. The ratings of user u are start[u] to start[u + 1]; `item`
    has indices into `item_ids`, ascending within a user.
    """

    user_ids: NDArray[Any]
    item_ids: NDArray[Any]
    start: NDArray[np.int64]
    item: NDArray[np.int64]
    rating: NDArray[np.float64]

    @classmethod
    def build(cls, users: Any, items: Any, ratings: Any) -> Self:
        """Return the table of some ratings; several of one item by one user become their mean."""
        user_ids, user = np.unique(users, return_inverse=True)
        item_ids, item = np.unique(items, return_inverse=True)
        key, place, counts = np.unique(
            user * np.int64(item_ids.size) + item, return_inverse=True, return_counts=True
        )
        user, item = np.divmod(key, item_ids.size)
        start = np.searchsorted(user, np.arange(user_ids.size + 1))
        return cls(user_ids, item_ids, start, item, np.bincount(place, ratings) / counts)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many items each user has rated."""
        return np.diff(self.start)

    @property
    def user(self) -> NDArray[np.int64]:
        """The user of each rating, as an index into `user_ids`."""
        return np.repeat(np.arange(self.user_ids.size), self.counts)

    def of(self, user: int) -> slice:
        """Return the places of a user's ratings."""
        return slice(self.start[user], self.start[user + 1])

    def only(self, kept: NDArray[np.bool_]) -> RatingsTable:
        """Return some of the ratings, with the users and items that they name."""
        return self.build(
            self.user_ids[self.user][kept], self.item_ids[self.item][kept], self.rating[kept]
        )

    def restricted(self, *, min_user_ratings: int = 0, min_item_ratings: int = 0) -> RatingsTable:
        """Return the ratings of active users on items that enough of them rated.

        Users are selected first; an item's ratings are counted among the users left.
        """
        kept = (self.counts >= min_user_ratings)[self.user]
        n_raters = np.bincount(self.item[kept], minlength=self.item_ids.size)
        return self.only(kept & (n_raters >= min_item_ratings)[self.item])


def load_ratings(name: str, data_home: str | os.PathLike[str] | None = None) -> RatingsTable:
    """Load a registered ratings table from a local folder, as `registry.load` does for rows."""
    record = find_record("ratings", "ratings table", name)
    return RatingsTable.build(*_READERS[record.reader](record, find_home(record, data_home)))


def _read_lines(record: DatasetRecord, home: Path) -> _Columns:
    """Read a user, an item and a rating per line; the settings may drop ratings of 0."""
    (file,) = record.files
    lines = open_file(record, home, file).read().decode("latin-1").splitlines()
    separator = record.settings["separator"]
    cells = [line.split(separator)[:3] for line in lines[record.settings.get("header", 0) :]]
    users, items, rating = (np.array(column) for column in zip(*cells, strict=True))
    numbered = np.char.isdecimal(items).all()
    found = rating.astype(np.float64)
    kept = found > 0.0 if record.settings.get("explicit") else np.full(found.size, True)
    items = items.astype(np.int64) if numbered else items
    return users.astype(np.int64)[kept], items[kept], found[kept]


def _read_table(record: DatasetRecord, home: Path) -> _Columns:
    """Read one line per user and one column per item, after a first column of counts."""
    (file,) = record.files
    with zipfile.ZipFile(open_file(record, home, file)) as archive:
        text = archive.read(record.settings["member"]).decode("ascii")
    table = np.loadtxt(io.StringIO(text), delimiter=",", ndmin=2)[:, 1:]
    user, item = np.nonzero(table != _NOT_RATED)
    return user, item, table[user, item]


_READERS: dict[str, Callable[[DatasetRecord, Path], _Columns]] = {
    "lines": _read_lines,
    "table": _read_table,
}
