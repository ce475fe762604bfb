"""Preferences listed one by one: all of them, or a sample drawn uniformly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.preferences import Levels, Pairs


class Drawn(NamedTuple):
    """Preferences of `winner` over `loser`, rows of X, with their weights, (n_drawn,)."""

    winner: NDArray[Any]
    loser: NDArray[Any]
    weight: FloatArray
    is_sample: bool


def draw_pairs(preferences: Levels | Pairs, most: int, generator: np.random.Generator) -> Drawn:
    """Return all preferences if they are `most` or fewer, or else `most` drawn uniformly.

    A sample is drawn with replacement. Costs O(groups + edges + drawn).
    """
    if isinstance(preferences, Pairs):
        at, is_sample = _places(preferences.n_pairs, most, generator)
        weight = np.ones(at.size) if preferences.weight is None else preferences.weight[at]
        return Drawn(preferences.i[at], preferences.j[at], weight, is_sample)
    first_low, n_low, first_high, n_high = _blocks(preferences)
    ends = np.cumsum(n_low * n_high)
    at, is_sample = _places(int(ends[-1]) if ends.size else 0, most, generator)
    block = np.searchsorted(ends, at, side="right")
    within = at - (ends - n_low * n_high)[block]
    in_high, in_low = np.divmod(within, n_low[block])
    winner, loser = first_high[block] + in_high, first_low[block] + in_low
    wins, loses = preferences.sides
    weight = np.ones(at.size)
    if wins is not None and loses is not None:
        weight = wins[winner] * loses[loser]
    return Drawn(preferences.row_of[winner], preferences.row_of[loser], weight, is_sample)


def _places(
    n_pairs: int, most: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], bool]:
    if n_pairs <= most:
        return np.arange(n_pairs), False
    return np.sort(generator.integers(0, n_pairs, most)), True


def _blocks(levels: Levels) -> tuple[NDArray[np.int64], ...]:
    """Return stretches of the layout whose rows all lose to all rows of another stretch.

    The result is the first loser, the number of losers, the first winner and the number of winners
    of each block.
    """
    start, sizes = levels.group_start, np.diff(levels.group_start)
    if levels.edges is not None:
        low, high = levels.edges.T
        return start[low], sizes[low], start[high], sizes[high]
    first = np.repeat(levels.query_start[:-1], np.diff(levels.query_group))
    return first, start[:-1] - first, start[:-1], sizes
