"""Sums over preferences with weights by role, as sums over plain levels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import Evaluated, FloatArray, MultipleCurvature
from pairrank.compiled.layout import counting_order
from pairrank.pair_sums._bound import BoundSum, as_scores
from pairrank.preferences import Levels
from pairrank.preferences._codes import count_pairs, query_of_groups

IntArray = NDArray[np.int64]
_NO_ORDER = np.empty(0, dtype=np.int32)

MOST_BITS = 8
"""Levels are cut into at most 2^8 blocks that one part joins by edges."""


class Part(NamedTuple):
    """Some pairs: a plain sum over rows of the layout."""

    places: slice | IntArray
    """The places of its rows in the layout."""
    has_copies: bool
    """Whether a place may occur twice: once as a winner and once as a loser."""
    bound: Any

    def add(self, values: FloatArray, total: FloatArray) -> None:
        """Add its rows' values to those of the layout, (n_kept,)."""
        if self.has_copies:
            total += np.bincount(self.places, values, total.size)
        else:
            total[self.places] += values


class RoleSum(BoundSum):
    """The sum of a loss over `Levels` with `roles`, made of sums over plain levels.

    In each part a row has one role: it is in a group of winners, with its winner weight, or in a
    group of losers, with its loser weight. Errors add up. See `parts_of` for the cost.
    """

    def __init__(self, levels: Levels, parts: list[Part], smooth: bool) -> None:
        self.levels, self.parts = levels, parts
        self.n_rows, self.smooth = levels.n_rows, smooth
        self._learn()

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores."""
        scores = as_scores(scores, self.n_rows)
        if not self._in_range(scores):
            return super().at(scores)
        laid, gradient = scores[self.levels.row_of], np.zeros(self.levels.row_of.size)
        value = error = gradient_error = 0.0
        curvatures = []
        for part in self.parts:
            found = part.bound.at(laid[part.places])
            value += found.value
            error += found.error
            gradient_error += found.gradient_error
            part.add(found.gradient, gradient)
            curvatures.append(found.curvature)
        return Evaluated(
            value,
            self.levels.from_layout(gradient),
            error,
            functools.partial(self._joined, scores, curvatures),
            gradient_error,
        )

    def sharpen(self) -> bool:
        """Sharpen all parts; False if no part can be sharpened."""
        changed = any([part.bound.sharpen() for part in self.parts])
        self._learn()
        return changed

    def fold(
        self, vectors: FloatArray, of_part: Callable[[Part, FloatArray], FloatArray]
    ) -> FloatArray:
        """Sum what each part makes of vectors, both (n_vectors, n_rows)."""
        row_of = self.levels.row_of
        laid = np.stack([as_scores(vector, self.n_rows)[row_of] for vector in vectors])
        total = np.zeros_like(laid)
        for part in self.parts:
            made = of_part(part, np.ascontiguousarray(laid[:, part.places]))
            for values, row in zip(made, total, strict=True):
                part.add(values, row)
        return np.stack([self.levels.from_layout(row) for row in total])

    def _learn(self) -> None:
        """Set error and range, which follow from the parts."""
        self.error = sum(part.bound.error for part in self.parts)
        every = (getattr(part.bound, "most", BoundSum.most) for part in self.parts)
        self.most = min(every, default=BoundSum.most)

    def _joined(self, scores: FloatArray, curvatures: list[Callable[[], Any]]) -> MultipleCurvature:
        if not self.smooth:
            return self._checked_curvature(scores)
        return RoleCurvature(self, [curvature() for curvature in curvatures])

    def _value_and_gradient(self, scores: FloatArray) -> tuple[float, FloatArray]:
        found = self.at(scores)
        return found.value, found.gradient

    def _curvature(self, scores: FloatArray) -> MultipleCurvature:
        return self.at(scores).curvature()


class LikelihoodRoleSum(RoleSum):
    """A `RoleSum` of parts that give each row's share of the gradient."""

    def influence(self, scores: FloatArray, vectors: FloatArray) -> FloatArray:
        """Return the rows' shares of the gradient; see `LikelihoodSum`."""
        laid = self._require_in_range(scores)[self.levels.row_of]
        return self.fold(
            vectors, lambda part, chosen: part.bound.influence(laid[part.places], chosen)
        )


class RoleCurvature:
    """The Hessian of a `RoleSum` at fixed scores."""

    def __init__(self, owner: RoleSum, curvatures: list[MultipleCurvature]) -> None:
        self._owner, self._curvatures = owner, curvatures

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        return self.matmat(v[np.newaxis])[0]

    def matmat(self, vectors: FloatArray) -> FloatArray:
        """Return the Hessian times each row of `vectors`, both (n_vectors, n_rows) in C order."""
        curvatures = iter(self._curvatures)
        return self._owner.fold(vectors, lambda part, chosen: next(curvatures).matmat(chosen))

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        levels = self._owner.levels
        total = np.zeros(levels.row_of.size)
        for part, curvature in zip(self._owner.parts, self._curvatures, strict=True):
            part.add(curvature.diagonal(), total)
        return levels.from_layout(total)


def role_sum(
    levels: Levels, bind_part: Callable[[Levels], Any], *, smooth: bool, rows_per_edge: float
) -> RoleSum:
    """Return the sum over levels with roles of a loss that `bind_part` binds to plain levels."""
    parts = [
        Part(places, has_copies, bind_part(part))
        for places, has_copies, part in parts_of(levels, rows_per_edge)
    ]
    has_influence = all(hasattr(part.bound, "influence") for part in parts)
    return (LikelihoodRoleSum if has_influence else RoleSum)(levels, parts, smooth)


def parts_of(
    levels: Levels, rows_per_edge: float
) -> Iterator[tuple[slice | IntArray, bool, Levels]]:
    r"""Divide the pairs of levels with roles into plain levels over some places of the layout.

    Of the full graph, the k-th part joins the levels of a query whose numbers have the same bits
    above the k-th: those with the k-th bit 0 are losers, the others winners. So a query of L
    levels has log2(L) parts of two levels. Where L(L - 1)/2 edges cost less than the passes over
    rows that they save, one part has the highest bits (up to 8), with a copy of each row as a
    winner and one as a loser. Other graphs have this one part, with their own edges.

    Yields
    ------
    places : slice or int64 array
    has_copies : bool
    part : Levels

    Notes
    -----
    Costs O(rows + groups) per part. A part takes up to 12 bytes per row, and 28 per group.
    """
    if levels.edges is not None:
        block = np.arange(levels.group_level.size)
        yield from _doubled(levels, block, levels.edges)
        return
    query = query_of_groups(levels.query_group)
    n_levels = np.diff(levels.query_group)
    first = levels.query_group[query]
    rank = np.arange(query.size) - first
    bits = np.ceil(np.log2(np.maximum(n_levels, 1))).astype(np.int64)
    lowest = bits - _doubled_bits(levels, bits, rows_per_edge)
    """The bits from here on have one part together."""
    joined = (lowest < bits)[query]
    block = first + (rank >> lowest[query])
    edges = _edges_within(np.unique(block[joined]), levels.query_group)
    yield from _doubled(levels, block, edges)
    for bit in range(int(lowest.max(initial=0)) - 1, -1, -1):
        yield from _halves(
            levels, first + (rank >> (bit + 1)), (rank >> bit & 1) == 1, (bit < lowest)[query]
        )


def _doubled_bits(levels: Levels, bits: IntArray, rows_per_edge: float) -> IntArray:
    """Return for each query how many of its highest bits one part takes; 0 or at least 3."""
    rows, best = np.diff(levels.query_start), np.zeros(bits.size, dtype=np.int64)
    least = np.zeros(bits.size)
    for several in range(3, MOST_BITS + 1):
        blocks = np.clip(np.diff(levels.query_group), 2.0, 2.0**several)
        more = rows_per_edge * blocks * (blocks - 1.0) / 2.0 - rows * (several - 2.0)
        better = (bits >= several) & (more < least)
        best[better], least[better] = several, more[better]
    return best


def _edges_within(blocks: IntArray, query_group: IntArray) -> IntArray:
    """Return all (low, high) of the blocks, ascending numbers of groups, of one query."""
    end = np.searchsorted(blocks, query_group[np.searchsorted(query_group, blocks, side="right")])
    count = end - np.arange(blocks.size) - 1
    low = np.repeat(np.arange(blocks.size), count)
    high = low + 1 + np.arange(low.size) - np.repeat(np.cumsum(count) - count, count)
    return np.column_stack((blocks[low], blocks[high]))


def _halves(
    levels: Levels, pair: IntArray, upper: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> Iterator[tuple[slice | IntArray, bool, Levels]]:
    """Yield the part in which, of each pair of halves, the upper one is preferred to the lower.

    `pair`, `upper` and `chosen` (n_groups,): the half of each group, and whether it is summed.
    """
    assert levels.roles is not None
    sizes = np.diff(levels.group_start)
    weight = np.where(np.repeat(upper, sizes), *levels.roles)
    alive = np.repeat(chosen, sizes) & (weight > 0)
    half_of_row = np.repeat(2 * pair + upper, sizes)
    n_rows = np.bincount(half_of_row[alive], minlength=2 * pair.size)
    both = (n_rows[::2] > 0) & (n_rows[1::2] > 0)
    alive &= np.repeat(both[pair], sizes)
    pairs = np.flatnonzero(both)
    if pairs.size:
        places = slice(None) if alive.all() else np.flatnonzero(alive)
        of_query = query_of_groups(levels.query_group)[pairs]
        n_rows = n_rows[np.repeat(both, 2)]
        query_group = np.arange(0, n_rows.size + 1, 2)
        yield places, False, _plain(levels, n_rows, query_group, of_query, None, weight[places])


def _doubled(
    levels: Levels, block: IntArray, edges: IntArray
) -> Iterator[tuple[slice | IntArray, bool, Levels]]:
    """Yield the part in which edges join blocks of groups, as losers and as winners.

    `block` (n_groups,) is ascending; `edges` are (low block, high block). In the part, the losers
    of a block come before its winners.
    """
    assert levels.roles is not None
    sizes = np.diff(levels.group_start)
    block_of_row = np.repeat(block, sizes)
    n_rows = np.zeros((block.size, 2), dtype=np.int64)
    sides = []
    for role, ends, weight in (
        (0, edges[:, 0], levels.roles.loser),
        (1, edges[:, 1], levels.roles.winner),
    ):
        is_end = np.zeros(block.size, dtype=bool)
        is_end[ends] = True
        rows = np.flatnonzero(is_end[block_of_row] & (weight > 0))
        n_rows[:, role] = np.bincount(block_of_row[rows], minlength=block.size)
        sides.append((rows, weight[rows]))
    edges = edges[(n_rows[edges[:, 0], 0] > 0) & (n_rows[edges[:, 1], 1] > 0)]
    if not len(edges):
        return
    of_block = 2 * block_of_row
    side_of_row = np.concatenate((of_block[sides[0][0]], of_block[sides[1][0]] + 1))
    order = counting_order(side_of_row.astype(np.int32), 2 * block.size, _NO_ORDER)
    places, weight = (np.concatenate(each)[order] for each in zip(*sides, strict=True))
    kept = np.flatnonzero(n_rows)
    number = np.cumsum(n_rows.ravel() > 0) - 1
    edges = np.column_stack((number[2 * edges[:, 0]], number[2 * edges[:, 1] + 1]))
    of_query, query_group = np.unique(
        query_of_groups(levels.query_group)[kept // 2], return_index=True
    )
    query_group = np.append(query_group, kept.size)
    yield places, True, _plain(levels, n_rows.ravel()[kept], query_group, of_query, edges, weight)


def _plain(
    levels: Levels,
    sizes: IntArray,
    query_group: IntArray,
    of_query: IntArray,
    edges: IntArray | None,
    weight: FloatArray,
) -> Levels:
    """Return levels without roles over rows in the order of their groups.

    `sizes` (n_groups,); `of_query` (n_queries,) are the queries whose scale the new ones take.
    """
    group_start = np.concatenate(([0], np.cumsum(sizes)))
    scale = levels.pair_scale
    n_pairs, query_pair_weight = count_pairs(group_start, query_group, edges, weight)
    n_levels = np.diff(query_group)
    level = np.arange(sizes.size) - np.repeat(query_group[:-1], n_levels)
    return Levels(
        n_rows=weight.size,
        row_of=np.arange(weight.size, dtype=np.int32),
        in_order=True,
        labels=np.arange(n_levels.max()),
        group_start=group_start,
        group_level=level.astype(np.int32),
        query_group=query_group,
        edges=edges,
        weight=weight,
        pair_scale=scale if np.ndim(scale) == 0 else np.asarray(scale)[of_query],
        n_pairs=n_pairs,
        query_pair_weight=query_pair_weight,
    )
