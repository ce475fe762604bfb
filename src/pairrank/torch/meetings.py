"""Meetings: sets of winners and losers of which every winner is compared with every loser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pairrank._protocols import FloatArray
from pairrank.preferences import Differences, Levels
from pairrank.preferences._codes import query_of_groups

IntArray = NDArray[np.int64]

LEAST_BATCH = 1 << 18
"""A batch of meetings has at most so many winners and losers, or as many as there are rows."""


class Meetings(NamedTuple):
    """Runs of rows in a layout that meet one another, (n_meetings,) each.

    The winners are at the places from `winner_start` up to `winner_stop`, the losers from
    `loser_start` up to `loser_stop`. `scale` multiplies the weight of every pair.
    """

    winner_start: IntArray
    winner_stop: IntArray
    loser_start: IntArray
    loser_stop: IntArray
    scale: FloatArray

    @property
    def sizes(self) -> tuple[IntArray, IntArray]:
        """The numbers of winners and of losers."""
        return self.winner_stop - self.winner_start, self.loser_stop - self.loser_start

    def at(self, chosen: IntArray) -> Meetings:
        """Return some of the meetings."""
        return Meetings(
            self.winner_start[chosen],
            self.winner_stop[chosen],
            self.loser_start[chosen],
            self.loser_stop[chosen],
            self.scale[chosen],
        )


class Side(NamedTuple):
    """The winners, or the losers, of a batch of meetings, padded to one number per meeting."""

    place: Tensor
    """Their places in the layout, (n_meetings, width); padding repeats the last one."""
    weight: Tensor
    """Their weights, 0 for padding."""


class Batch(NamedTuple):
    """Meetings of about one size, on a device."""

    starts: tuple[Tensor, Tensor]
    counts: tuple[Tensor, Tensor]
    widths: tuple[int, int]
    scale: Tensor

    def sides(self, weights: tuple[Tensor, Tensor]) -> tuple[Side, Side]:
        """Return winners and losers, for the weights of all rows in the layout."""
        winners = self._side(0, weights[0])
        return winners._replace(weight=winners.weight * self.scale[:, None]), self._side(
            1, weights[1]
        )

    def _side(self, which: int, weight: Tensor) -> Side:
        count = self.counts[which][:, None]
        within = torch.arange(self.widths[which], device=count.device)[None, :]
        place = self.starts[which][:, None] + torch.minimum(within, count - 1)
        return Side(place, weight[place] * (within < count))


def of_levels(levels: Levels) -> Meetings:
    """Return the meetings that hold every pair of levels once.

    Under the full graph each query is halved again and again: the groups of its upper half are
    preferred to those of its lower half, so a query of n groups has n - 1 meetings, and a row is in
    log2(n). Other graphs have a meeting per edge.
    """
    query = query_of_groups(levels.query_group)
    starts = levels.group_start
    if levels.edges is not None:
        low, high = levels.edges.T
        found = [np.stack((starts[high], starts[high + 1], starts[low], starts[low + 1]))]
        of_query = [query[low]]
    else:
        found, of_query = [np.empty((4, 0), dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        rank = np.arange(query.size) - levels.query_group[query]
        end = levels.query_group[query + 1]
        half = 1
        while half <= rank.max(initial=0):
            middle = np.flatnonzero(rank & (2 * half - 1) == half)
            upper = np.minimum(middle + half, end[middle])
            found.append(
                np.stack((starts[middle], starts[upper], starts[middle - half], starts[middle]))
            )
            of_query.append(query[middle])
            half *= 2
    scale = np.broadcast_to(levels.pair_scale, levels.n_queries)[np.concatenate(of_query)]
    won, won_end, lost, lost_end = np.concatenate(found, axis=1)
    return Meetings(won, won_end, lost, lost_end, scale.astype(np.float64))


def of_queries(differences: Differences) -> tuple[IntArray, Meetings]:
    """Return the rows by query, and meetings of each query with itself."""
    if differences.query_of is None:
        order, borders = np.arange(differences.n_rows), np.array([0, differences.n_rows])
    else:
        order = np.argsort(differences.query_of, kind="stable")
        sizes = np.bincount(differences.query_of, minlength=differences.query_weight.size)
        borders = np.concatenate(([0], np.cumsum(sizes)))
    weight = differences.query_weight
    scale = np.divide(0.5, weight, out=np.zeros(weight.size), where=weight > 0.0)
    start, stop = borders[:-1], borders[1:]
    return order, Meetings(start, stop, start, stop, scale)


def batches(meetings: Meetings, n_rows: int, like: Tensor) -> list[Batch]:
    """Return the meetings in batches of one size, up to a factor of two, each O(rows) large.

    They are on the device of `like`, their scales of its type.
    """
    n_winners, n_losers = meetings.sizes
    some = (n_winners > 0) & (n_losers > 0) & (meetings.scale > 0.0)
    meetings = meetings.at(np.flatnonzero(some))
    found = []
    for chosen, widths in _by_size(*meetings.sizes):
        step = max(1, max(n_rows, LEAST_BATCH) // sum(widths))
        for start in range(0, chosen.size, step):
            found.append(_batch(meetings.at(chosen[start : start + step]), like))
    return found


def _by_size(n_winners: IntArray, n_losers: IntArray) -> Iterator[tuple[IntArray, tuple[int, int]]]:
    """Yield the places of meetings of a size, and the largest widths of their sides."""
    sizes = np.stack((n_winners, n_losers), axis=1)
    powers = np.ceil(np.log2(sizes)).astype(np.int64)
    kinds, of_kind = np.unique(powers @ np.array([64, 1]), return_inverse=True)
    for kind in range(kinds.size):
        chosen = np.flatnonzero(of_kind == kind)
        winners, losers = sizes[chosen].max(axis=0).tolist()
        yield chosen, (winners, losers)


def _batch(meetings: Meetings, like: Tensor) -> Batch:
    n_winners, n_losers = meetings.sizes
    starts, counts = (
        (torch.from_numpy(winners).to(like.device), torch.from_numpy(losers).to(like.device))
        for winners, losers in (
            (meetings.winner_start, meetings.loser_start),
            (n_winners, n_losers),
        )
    )
    widths = (int(n_winners.max()), int(n_losers.max()))
    scale = torch.from_numpy(meetings.scale).to(like.dtype).to(like.device)
    return Batch(starts, counts, widths, scale)
