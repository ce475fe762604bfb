"""Pairwise accuracy for each ordered pair of groups of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank._validation import check_identifiers
from pairrank.exceptions import PairrankError
from pairrank.metrics._inputs import Judged, ratios
from pairrank.preferences import Levels, Pairs
from pairrank.preferences._codes import query_codes
from pairrank.preferences.roles import Roles
from pairrank.preferences.sampling import restricted

MOST_GROUPS = 1000
"""The arrays of this many groups take 16 MB."""


class GroupAccuracy(NamedTuple):
    """The pairwise accuracy for each ordered pair of groups, of ``pairwise_accuracy(groups=...)``.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        The groups, sorted, or in order of appearance if they cannot be compared.
    accuracy : float64 array of shape (n_groups, n_groups)
        [a, b]: the share of preferences of a row of group a over a row of group b that the scores
        order correctly; NaN where there is none.
    pair_weight : float64 array of shape (n_groups, n_groups)
        [a, b]: the total weight of these preferences.
    """

    groups: NDArray[Any]
    accuracy: FloatArray
    pair_weight: FloatArray


def accuracy_of_groups(
    judged: Judged, preferences: Levels | Pairs, groups: Any, tie_share: float
) -> GroupAccuracy:
    """Return the accuracy between groups.

    For G groups and m rows, O(G m log m) and G^2 passes over levels and edges; of Pairs O(n_pairs).
    """
    names, codes = _ordered(groups, judged.scores.size)
    if names.size > MOST_GROUPS:
        raise PairrankError(f"there are {names.size} groups: at most {MOST_GROUPS} are compared")
    if isinstance(preferences, Pairs):
        counts = _of_comparisons(preferences, judged, codes, names.size)
    else:
        counts = _of_levels(preferences, judged.scores, codes, names.size)
    total = counts.sum(axis=-1)
    return GroupAccuracy(names, ratios(counts[..., 0] + tie_share * counts[..., 1], total), total)


def _ordered(groups: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.integer]]:
    """Return the groups, sorted or else in order of appearance, and the number of each row's."""
    names, codes = query_codes(check_identifiers(groups, "groups", n_rows))
    try:
        names, number = np.unique(names, return_inverse=True)
    except TypeError:
        return names, codes
    return names, number[codes]


def _of_comparisons(
    pairs: Pairs, judged: Judged, codes: NDArray[np.integer], n_groups: int
) -> FloatArray:
    """Return (concordant, tied, discordant) of each pair of groups, by explicit comparisons."""
    bound = pairs.preferred().bound(judged.scores.size, **judged.layout)
    above, below = judged.scores[bound.i], judged.scores[bound.j]
    outcome = np.where(above > below, 0, np.where(above == below, 1, 2))
    cell = (codes[bound.i] * n_groups + codes[bound.j]) * 3 + outcome
    counts = np.bincount(cell, bound.weight, 3 * n_groups**2).astype(np.float64)
    return counts.reshape(n_groups, n_groups, 3)


def _of_levels(
    levels: Levels, scores: FloatArray, codes: NDArray[np.integer], n_groups: int
) -> FloatArray:
    """Return the same of labelled rows: masks of two groups are their weights by role."""
    codes = codes[levels.row_of]
    ends = np.cumsum(np.bincount(codes, minlength=n_groups))[:-1]
    places_of = np.split(np.argsort(codes, kind="stable"), ends)
    counts = np.zeros((n_groups, n_groups, 3))
    for a in range(n_groups):
        for b in range(n_groups):
            both = np.union1d(places_of[a], places_of[b])
            part = restricted(levels, both)
            sides = (np.ones(both.size, np.int64) if each is None else each for each in part.sides)
            masks = (codes[both] == group for group in (a, b))
            roles: Any = Roles(*(side * mask for side, mask in zip(sides, masks, strict=True)))
            found = replace(part, roles=roles).concordance(scores[levels.row_of[both]])
            counts[a, b] = found.sum(axis=0)
    return counts
