"""References: the users whose ratings of an item are its features, with gaps filled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pairrank import _validation as validation
from pairrank.exceptions import PairrankError
from pairrank.recommend.imputers import fill_by_draws
from pairrank.recommend.imputers import impute as fill_gaps
from pairrank.recommend.table import RatingsTable

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class References:
    """Reference users and their ratings of every item; make them with `build`.

    Attributes
    ----------
    users : int64 array of shape (n_references,)
        Indices into the table's users.
    matrix : float64 array of shape (n_items, n_references)
        Their ratings, and what the imputer put where there is none.
    support : int64 array of shape (n_items,)
        How many of them have rated each item.
    draws : float64 array of shape (n_items, n_references), optional
        What gaps drew, NaN where there is none; where an item's gaps take the moments of its
        ratings, which are then taken anew for a reference user, without their own rating.
    """

    users: IntArray
    matrix: FloatArray
    support: IntArray
    draws: FloatArray | None = None

    @classmethod
    def build(
        cls, table: RatingsTable, users: Any, *, impute: str = "median", random_state: Any = None
    ) -> Self:
        """Return the references of some users.

        Parameters
        ----------
        table : RatingsTable
        users : array-like of int
            Indices of users; each of them has rated something.
        impute : "median", "gaussian" or "gaussian-item"
            See `pairrank.recommend.impute`.
        random_state : int, Generator or None
            Of the Gaussian samples.

        Returns
        -------
        References

        Raises
        ------
        PairrankError
            If there is no user, or one comes twice; if `impute` is unknown.

        Notes
        -----
        Holds 8 n_items n_references bytes ("gaussian-item" twice as much), and up to 3.5 times as
        much while gaps are filled.

        Examples
        --------
        >>> table = RatingsTable.build((["a", "a", "b"], ["x", "y", "y"], [1, 3, 5]))
        >>> References.build(table, [0, 1]).matrix
        array([[1., 5.],
               [3., 5.]])
        """
        chosen = np.asarray(users, dtype=np.int64)
        if chosen.ndim != 1 or not chosen.size or np.unique(chosen).size < chosen.size:
            raise PairrankError(
                f"reference users are one or more users, each once; got {chosen.size} of which "
                f"{np.unique(chosen).size} differ"
            )
        known = np.full((table.n_items, chosen.size), np.nan)
        for column, user in enumerate(chosen):
            known[table.items_of(user), column] = table.ratings_of(user)
        support = np.count_nonzero(~np.isnan(known), axis=1)
        generator = np.random.default_rng(random_state)
        if impute != "gaussian-item":
            return cls(chosen, fill_gaps(known, impute, generator), support)
        draws = generator.standard_normal(known.shape)
        matrix = fill_by_draws(known, draws, 1, lambda: known)
        draws[~np.isnan(known)] = np.nan
        return cls(chosen, matrix, support, draws)

    def column_of(self, user: int) -> int | None:
        """Return where a user stands among the references; None where they do not."""
        found = np.flatnonzero(self.users == user)
        return int(found[0]) if found.size else None

    def rows(self, items: IntArray, *, user: int) -> FloatArray:
        """Return the features of items for a user, whose own ratings are never among them.

        Parameters
        ----------
        items : int64 array of shape (n_rows,)
        user : int
            Where they are a reference user, their column is left out, and what gaps take from an
            item's ratings is taken from those of the others.

        Returns
        -------
        ndarray of shape (n_rows, n_references), or one column less
        """
        own = self.column_of(user)
        if own is None:
            return self.matrix[items]
        rows = np.delete(self.matrix[items], own, axis=1)
        if self.draws is None:
            return rows
        draws = np.delete(self.draws[items], own, axis=1)
        known = np.where(np.isnan(draws), rows, np.nan)
        return fill_by_draws(known, draws, 1, partial(self._ratings_but, own, self.draws))

    def _ratings_but(self, column: int, draws: FloatArray) -> FloatArray:
        """Return the ratings of the references but one, all in a row."""
        known = np.isnan(draws)
        known[:, column] = False
        return self.matrix[known]


def draw_references(
    table: RatingsTable, candidates: IntArray, n_references: int, generator: np.random.Generator
) -> IntArray:
    """Return so many of the candidates, at random and in ascending order.

    Parameters
    ----------
    table : RatingsTable
        Whose users they are, for the error.
    candidates : int64 array
    n_references : int
    generator : numpy.random.Generator

    Returns
    -------
    ndarray of int64

    Raises
    ------
    PairrankError
        If there are fewer.
    """
    validation.check_number(n_references, "n_references", low=1, inclusive=True, integer=True)
    if candidates.size < n_references:
        raise PairrankError(
            f"n_references={n_references}, but only {candidates.size} of {table.n_users} users can "
            "be references here; ask for fewer"
        )
    return np.sort(generator.choice(candidates, n_references, replace=False))
