"""What stands where a reference user has not rated an item: a median, or draws from a Gaussian."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pairrank import _validation as validation

FloatArray = NDArray[np.float64]

IMPUTERS = ("median", "gaussian", "gaussian-item")


def impute(known: FloatArray, how: str, generator: np.random.Generator) -> FloatArray:
    """Return the ratings of reference users with every gap filled, from their ratings alone.

    Parameters
    ----------
    known : ndarray of shape (n_items, n_references)
        NaN where there is no rating; every reference user has one at least.
    how : "median", "gaussian" or "gaussian-item"
        The median of the reference user's ratings (Cortes); samples of a Gaussian with the mean and
        variance of the reference user's ratings, or of the item's ratings by the reference users
        (Raykar's "the available ratings provided by the other users" can be read as either; an
        item that none of them has rated takes the moments of all their ratings).
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
    validation.check_choice(how, "impute", IMPUTERS)
    if how == "median":
        fill = np.broadcast_to(np.nanmedian(known, axis=0), known.shape)
        return np.where(np.isnan(known), fill, known)
    draws = generator.standard_normal(known.shape)
    return fill_by_draws(known, draws, 0 if how == "gaussian" else 1, lambda: known)


def fill_by_draws(
    known: FloatArray, draws: FloatArray, axis: int, everything: Callable[[], FloatArray]
) -> FloatArray:
    """Return ratings with every gap filled by a draw, with the moments of what is known on an axis.

    Parameters
    ----------
    known : ndarray of shape (n_items, n_references)
        NaN where there is no rating.
    draws : ndarray of shape (n_items, n_references)
        Of mean 0 and variance 1.
    axis : int
        0: moments by reference user, 1: by item.
    everything : callable
        Returns ratings, NaN among them, that lend their moments to items without one.

    Returns
    -------
    ndarray of shape (n_items, n_references)
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
