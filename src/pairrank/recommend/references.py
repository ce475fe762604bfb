"""References: the users whose ratings of an item are its features, with gaps filled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from pairrank import _validation as validation
from pairrank._protocols import FloatArray
from pairrank.exceptions import PairrankError
from pairrank.recommend.table import IntArray, RatingsTable

IMPUTERS = ("median", "gaussian", "gaussian-item", "missing")


@dataclass(frozen=True)
class References:
    """Reference users and their ratings of every item; create them with `build`.

    Attributes
    ----------
    users : int64 array of shape (n_references,)
        Indices into the table's users.
    matrix : float64 array of shape (n_items, n_references)
        Their ratings, with gaps filled; NaN in gaps that `impute` leaves.
    support : int64 array of shape (n_items,)
        The number of them who have rated each item.
    draws : float64 array of shape (n_items, n_references), optional
        For "gaussian-item": the standard normal draw of each gap, NaN where there is a rating. A
        reference user's own rows fill gaps again, without their own rating.
    """

    users: IntArray
    matrix: FloatArray
    support: IntArray
    draws: FloatArray | None = None

    @classmethod
    def build(
        cls, table: RatingsTable, users: Any, *, impute: str = "median", random_state: Any = None
    ) -> Self:
        """Return the references of some users, given by index; each has rated something.

        `impute` and `random_state` fill the gaps, see `pairrank.recommend.impute`. Holds 8 n_items
        n_references bytes ("gaussian-item" twice as much), and up to 3.5 times as much while gaps
        are filled.

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
        matrix, draws = _imputed(known, impute, generator)
        return cls(chosen, matrix, support, draws)

    def column_of(self, user: int) -> int | None:
        """Return the column of a user among the references, or None."""
        found = np.flatnonzero(self.users == user)
        return int(found[0]) if found.size else None

    def rows(self, items: IntArray, *, user: int) -> FloatArray:
        """Return the features of items for a user, (n_items, n_references).

        A reference user's own column is left out, so that no feature uses their ratings.
        """
        own = self.column_of(user)
        if own is None:
            return self.matrix[items]
        rows = np.delete(self.matrix[items], own, axis=1)
        if self.draws is None:
            return rows
        draws = np.delete(self.draws[items], own, axis=1)
        known = np.where(np.isnan(draws), rows, np.nan)
        return _filled(known, draws, 1, partial(self._ratings_but, own, self.draws))

    def _ratings_but(self, column: int, draws: FloatArray) -> FloatArray:
        """Return the ratings of all references but one, in one dimension."""
        known = np.isnan(draws)
        known[:, column] = False
        return self.matrix[known]


def impute(known: FloatArray, how: str, generator: np.random.Generator) -> FloatArray:
    """Return the ratings of reference users with every gap filled from these ratings.

    Parameters
    ----------
    known : ndarray of shape (n_items, n_references)
        NaN where there is no rating; every reference user has at least one.
    how : "median", "gaussian", "gaussian-item" or "missing"
        The median of the reference user's ratings (Cortes); samples of a Gaussian with the mean and
        variance of the reference user's ratings, or of the item's ratings by the reference users
        (Raykar's "the available ratings provided by the other users" can be read as either; an
        item that none of them has rated takes the moments of all their ratings). "missing" leaves
        gaps as NaN, for rankers that take missing values, such as RankBoost.
    generator : numpy.random.Generator
        Draws the samples.

    Returns
    -------
    ndarray of shape (n_items, n_references)

    Raises
    ------
    PairrankError
        If `how` is none of these.

    Notes
    -----
    Costs O(n_items n_references), and a sort of each column for the medians.

    References
    ----------
    Cortes et al. 2007, Section 4.1; Raykar et al. 2007, Section 7.

    Examples
    --------
    >>> known = np.array([[1.0, np.nan], [2.0, 4.0], [5.0, np.nan]])
    >>> impute(known, "median", np.random.default_rng(0))
    array([[1., 4.],
           [2., 4.],
           [5., 4.]])
    """
    return _imputed(known, how, generator)[0]


def _imputed(
    known: FloatArray, how: str, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray | None]:
    """Return the ratings with gaps filled; for "gaussian-item" also the draws, NaN at ratings."""
    validation.check_choice(how, "impute", IMPUTERS)
    if how == "missing":
        return known, None
    if how == "median":
        return np.where(np.isnan(known), np.nanmedian(known, axis=0), known), None
    draws = generator.standard_normal(known.shape)
    matrix = _filled(known, draws, 0 if how == "gaussian" else 1, lambda: known)
    if how == "gaussian":
        return matrix, None
    draws[~np.isnan(known)] = np.nan
    return matrix, draws


def _filled(
    known: FloatArray, draws: FloatArray, axis: int, everything: Callable[[], FloatArray]
) -> FloatArray:
    """Return ratings with each gap filled by its standard normal draw, scaled and shifted.

    Mean and variance are those of the known ratings along the axis (0: by reference user, 1: by
    item), or of `everything()` where none is known.
    """
    gaps = np.isnan(known)
    counts = np.count_nonzero(~gaps, axis=axis, keepdims=True)
    filled = np.where(gaps, 0.0, known)
    mean = filled.sum(axis=axis, keepdims=True) / np.maximum(counts, 1)
    filled -= mean
    filled[gaps] = 0.0
    np.square(filled, out=filled)
    variance = filled.sum(axis=axis, keepdims=True) / np.maximum(counts, 1)
    if not counts.all():
        others = everything()
        mean = np.where(counts, mean, np.nanmean(others))
        variance = np.where(counts, variance, np.nanvar(others))
    np.multiply(draws, np.sqrt(variance), out=filled)
    filled += mean
    np.copyto(filled, known, where=~gaps)
    return filled
