"""Tables of ratings: a user, an item and a rating per row."""

from __future__ import annotations

from typing import Any


def ratings_table(users: Any, items: Any, ratings: Any) -> Any:
    """Return ratings as a frame of `user`, `item` and `rating`, sorted by user and item.

    Several ratings of one item by one user become their mean.
    """
    import pandas as pd

    found = pd.DataFrame({"user": users, "item": items, "rating": ratings})
    return found.groupby(["user", "item"], as_index=False).mean()


def restricted(table: Any, *, min_user_ratings: int = 0, min_item_ratings: int = 0) -> Any:
    """Return the ratings of active users on items that enough of them rated.

    Users are selected first; an item's ratings are counted among the users left.
    """
    active = table[table.groupby("user")["rating"].transform("size") >= min_user_ratings]
    return active[active.groupby("item")["rating"].transform("size") >= min_item_ratings]
