"""Sums over preferences with weights by role, made of sums over plain levels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import Evaluated, FloatArray, MultipleCurvature
from pairrank.compiled.layout import scatter_add
from pairrank.pair_sums._bound import BoundSum, as_scores, no_curvature
from pairrank.preferences import Levels
from pairrank.preferences._codes import count_pairs, counting_order, query_of_groups

IntArray = NDArray[np.int64]

MOST_BITS = 8
"""Levels are cut into at most 2^8 blocks that one part joins by edges."""
ROWS_PER_EDGE = 100.0
"""The number of rows whose pass costs as much as an edge."""
_NO_ORDER = np.empty(0, dtype=np.int32)


class RolePart(NamedTuple):
    """Some pairs as plain levels in which each row has one role."""

    rows: Any
    """Its places in the layout (slice or array); with copies: the user's rows, ascending."""
    has_copies: bool
    """Whether a row may occur twice: first as a loser, then as a winner."""
    levels: Levels
    bound: Any = None
    """The plain sum over them."""

    def of(self, values: FloatArray, laid: FloatArray) -> FloatArray:
        """Return the values of its rows, from those in the user's order and in the layout's."""
        return np.take(values, self.rows, axis=-1) if self.has_copies else laid[..., self.rows]

    def add(self, values: FloatArray, total: FloatArray, laid: FloatArray) -> None:
        """Add the values of its rows to a sum in the user's order, or to one in the layout's."""
        if self.has_copies:
            scatter_add(values, self.rows, total)
        else:
            laid[self.rows] += values


class RoleSum(BoundSum):
    """The sum of a loss over `Levels` with `roles`: the sum over parts without roles.

    Errors add up. See `parts_of` for the cost.
    """

    def __init__(self, levels: Levels, parts: list[RolePart], smooth: bool) -> None:
        self.levels, self.parts = levels, parts
        self.n_rows, self.smooth = levels.n_rows, smooth
        self._learn()

    def at(self, scores: FloatArray) -> Evaluated:
        """Return value, gradient, error and curvature at the scores."""
        scores = as_scores(scores, self.n_rows)
        if not self._in_range(scores):
            return super().at(scores)
        found: list[Evaluated] = []

        def gradient_of(part: RolePart, own: FloatArray) -> FloatArray:
            result = part.bound.at(own[0])
            found.append(result._replace(gradient=_NO_ORDER))
            return result.gradient[np.newaxis]

        gradient = self.fold(scores[np.newaxis], gradient_of)[0]
        return Evaluated(
            float(sum(each.value for each in found)),
            gradient,
            float(sum(each.error for each in found)),
            functools.partial(self._joined, scores, [each.curvature for each in found]),
            float(sum(each.gradient_error for each in found)),
        )

    def sharpen(self) -> bool:
        """Sharpen all parts; False if no part can be sharpened."""
        changed = any([part.bound.sharpen() for part in self.parts])
        self._learn()
        return changed

    def fold(
        self, vectors: FloatArray, of_part: Callable[[RolePart, FloatArray], FloatArray]
    ) -> FloatArray:
        """Sum what each part makes of its rows' entries, both (n_vectors, n_rows)."""
        uses_layout = not all(part.has_copies for part in self.parts)
        laid = vectors[:, self.levels.row_of if uses_layout else _NO_ORDER]
        total, total_laid = np.zeros(vectors.shape), np.zeros(laid.shape)
        for part in self.parts:
            for row, values in enumerate(of_part(part, part.of(vectors, laid))):
                part.add(values, total[row], total_laid[row])
        if uses_layout:
            for row, values in enumerate(total_laid):
                total[row] += self.levels.from_layout(values)
        return total

    def _learn(self) -> None:
        """Set error and range, which follow from the parts."""
        self.error = float(sum(part.bound.error for part in self.parts))
        every = (getattr(part.bound, "most", BoundSum.most) for part in self.parts)
        self.most = min(every, default=BoundSum.most)

    def _joined(self, scores: FloatArray, curvatures: list[Callable[[], Any]]) -> MultipleCurvature:
        if not self.smooth:
            no_curvature()
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
        scores = self._require_in_range(scores)
        laid = scores[self.levels.row_of]
        return self.fold(
            vectors, lambda part, own: part.bound.influence(part.of(scores, laid), own)
        )


class RoleCurvature:
    """The Hessian of a `RoleSum` at fixed scores."""

    def __init__(self, owner: RoleSum, curvatures: list[MultipleCurvature]) -> None:
        self._owner, self._curvatures = owner, curvatures

    def matvec(self, v: FloatArray) -> FloatArray:
        """Return the Hessian times `v`, (n_rows,)."""
        return self.matmat(as_scores(v, self._owner.n_rows)[np.newaxis])[0]

    def matmat(self, vectors: FloatArray) -> FloatArray:
        """Return the Hessian times each row of `vectors`, both (n_vectors, n_rows) in C order."""
        every = iter(self._curvatures)
        return self._owner.fold(
            vectors, lambda part, own: next(every).matmat(np.ascontiguousarray(own))
        )

    def diagonal(self) -> FloatArray:
        """Return the diagonal, (n_rows,)."""
        every, anything = iter(self._curvatures), np.zeros((1, self._owner.n_rows))
        return self._owner.fold(anything, lambda part, own: next(every).diagonal()[np.newaxis])[0]


def role_sum(levels: Levels, bind_part: Callable[[Levels], Any], *, smooth: bool) -> RoleSum:
    """Return the sum of a loss over levels with roles; `bind_part` binds it to plain ones."""
    parts = [part._replace(bound=bind_part(part.levels)) for part in parts_of(levels)]
    has_influence = all(hasattr(part.bound, "influence") for part in parts)
    return (LikelihoodRoleSum if has_influence else RoleSum)(levels, parts, smooth)


def parts_of(levels: Levels) -> Iterator[RolePart]:
    """Divide the pairs of levels with roles into parts without roles.

    Under the full graph the levels of a query are numbered, and each bit of the numbers has a part:
    it joins levels whose numbers have the same higher bits, those with this bit 0 as losers, the
    others as winners. So a query of L levels has log2(L) parts of two levels. There are fewer
    where that is cheaper: one part joins the blocks of equal high bits (up to 8) by edges, with
    a copy of each row as a loser and one as a winner. Other graphs have one part, with their own
    edges.

    Costs O(rows + groups) per part. A part takes up to 20 bytes per row, and 28 per group.
    """
    if levels.edges is not None:
        block = np.arange(levels.group_level.size)
        yield from _doubled(levels, block, levels.edges)
        return
    query = query_of_groups(levels.query_group)
    first = levels.query_group[query]
    rank = np.arange(query.size) - first
    bits = np.ceil(np.log2(np.diff(levels.query_group))).astype(np.int64)
    joined = bits - _joined_bits(levels, bits)
    """The first of the bits that one part joins by edges."""
    blocks = first + (rank >> joined[query])
    edges = _edges_within(np.unique(blocks[(joined < bits)[query]]), levels.query_group)
    yield from _doubled(levels, blocks, edges)
    for bit in range(int(joined.max(initial=0)) - 1, -1, -1):
        upper = (rank >> bit & 1).astype(bool)
        yield from _halves(levels, first + (rank >> (bit + 1)), upper, (bit < joined)[query])


def _joined_bits(levels: Levels, bits: IntArray) -> IntArray:
    """Return for each query how many of its highest bits one part joins; 0 or at least 3."""
    rows, best = np.diff(levels.query_start), np.zeros(bits.size, dtype=np.int64)
    least = np.zeros(bits.size)
    for several in range(3, MOST_BITS + 1):
        blocks = np.clip(np.diff(levels.query_group), 2.0, 2.0**several)
        more = ROWS_PER_EDGE * blocks * (blocks - 1.0) / 2.0 - rows * (several - 2.0)
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
) -> Iterator[RolePart]:
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
        row_of = np.arange(int(n_rows.sum()), dtype=np.int32)
        laid = (row_of, weight[places])
        yield RolePart(places, False, _plain(levels, n_rows, query_group, of_query, None, *laid))


def _doubled(levels: Levels, block: IntArray, edges: IntArray) -> Iterator[RolePart]:
    """Yield the part in which edges join blocks of groups, as losers and as winners.

    `block` (n_groups,) is ascending; `edges` are (low block, high block). In the part's layout the
    losers of a block come before its winners.
    """
    assert levels.roles is not None
    block_of_row = np.repeat(block, np.diff(levels.group_start))
    n_rows = np.zeros((block.size, 2), dtype=np.int64)
    has_role = np.zeros((levels.n_rows, 2), dtype=bool)
    sides = []
    for role, weight in enumerate((levels.roles.loser, levels.roles.winner)):
        is_end = np.zeros(block.size, dtype=bool)
        is_end[edges[:, role]] = True
        places = np.flatnonzero(is_end[block_of_row] & (weight > 0))
        n_rows[:, role] = np.bincount(block_of_row[places], minlength=block.size)
        has_role[levels.row_of[places], role] = True
        copies = 2 * levels.row_of[places].astype(np.int64) + role
        sides.append((2 * block_of_row[places] + role, copies, weight[places]))
    edges = edges[(n_rows[edges[:, 0], 0] > 0) & (n_rows[edges[:, 1], 1] > 0)]
    if not len(edges):
        return
    group, copy, weight = (np.concatenate(each) for each in zip(*sides, strict=True))
    order, _ = counting_order(group.astype(np.int32), 2 * block.size)
    number_of_copy = np.cumsum(has_role.ravel(), dtype=np.int32) - 1
    laid = (number_of_copy[copy[order]], weight[order])
    sizes = n_rows.ravel()
    kept, number = np.flatnonzero(sizes), np.cumsum(sizes > 0) - 1
    edges = np.column_stack((number[2 * edges[:, 0]], number[2 * edges[:, 1] + 1]))
    of_query, query_group = np.unique(
        query_of_groups(levels.query_group)[kept // 2], return_index=True
    )
    query_group = np.append(query_group, kept.size)
    rows = (np.flatnonzero(has_role) // 2).astype(np.int32)
    yield RolePart(rows, True, _plain(levels, sizes[kept], query_group, of_query, edges, *laid))


def _plain(
    levels: Levels,
    sizes: IntArray,
    query_group: IntArray,
    of_query: IntArray,
    edges: IntArray | None,
    row_of: NDArray[np.int32],
    weight: FloatArray,
) -> Levels:
    """Return levels without roles over rows whose order and weights are in the layout.

    `sizes` (n_groups,); `of_query` (n_queries,) are the queries whose scale the new ones take.
    """
    group_start = np.concatenate(([0], np.cumsum(sizes)))
    scale = levels.pair_scale
    n_pairs, query_pair_weight = count_pairs(group_start, query_group, edges, weight)
    n_levels = np.diff(query_group)
    level = np.arange(sizes.size) - np.repeat(query_group[:-1], n_levels)
    return Levels(
        n_rows=weight.size,
        row_of=row_of,
        in_order=edges is None,
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
