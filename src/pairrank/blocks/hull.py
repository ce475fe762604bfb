"""ConvexHullRanker over blocks: layouts by class, and its smoothed objective from one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairrank import threads
from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import Passes, RowBlock
from pairrank.blocks.catalog import Catalog
from pairrank.blocks.groups import CrossingGroups, crossing_levels, merge_groups
from pairrank.blocks.layouts import LayoutPlan, count_crossing, split_rows
from pairrank.compiled import limit_rows as compiled
from pairrank.exceptions import PairrankError
from pairrank.objective.hull_objective import edges_of
from pairrank.objective.normal_equations import block_rows
from pairrank.preferences._codes import no_pairs
from pairrank.solvers.smoothed_limits import SmoothedSums

MOST_FEATURES = 2000
MOST_BYTES = 5e8
"""The most bytes of sums by class and feature that an evaluation adds up."""
_TOTALS = 10
"""Totals by group: curvature 3, multipliers 2, squares 3, drifts 2."""
_ROWS = 2048
"""So many rows and their multipliers are in the processor's cache together."""


class HullLayout(NamedTuple):
    """The rows of a block in classes with an edge, class by class."""

    rows: NDArray[np.int32]
    group: NDArray[np.int64]
    """The class of each row, ascending."""
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class PreparedHull:
    """Blocks that are laid out, and the graph of limits between the classes of all queries."""

    catalog: Catalog
    edges: NDArray[np.int64]
    """(low class, high class)."""
    bounded: NDArray[np.bool_]
    """Whether each class has a lower limit (row 0) and an upper one (row 1)."""
    labels: NDArray[Any]
    queries: NDArray[Any]
    n_pairs: int
    n_ties: int
    bounds: float
    """The weight of the rows in classes with an edge, once per limit of a row."""


def prepare_hull(passes: Passes, catalog: Catalog, graph: Any) -> PreparedHull:
    """Lay out every block for limits; raise a NoPairsError if no class has an edge.

    A first round counts the rows of all queries by class. A PairrankError says that there are too
    many features, or classes times features.
    """
    if catalog.n_features > MOST_FEATURES:
        raise PairrankError(
            f"ConvexHullRanker takes at most {MOST_FEATURES} features of rows in blocks, got "
            f"{catalog.n_features}: use RankSVM, or give it rows in memory"
        )
    plan = LayoutPlan(graph, "sum", catalog.queries)
    groups = merge_groups(passes.prepare(count_crossing, plan))
    levels, n_pairs = crossing_levels(groups, graph)
    if levels is None or not n_pairs:
        raise no_pairs(catalog.n_kept, catalog.queries.size, catalog.labels)
    edges = edges_of(levels)
    used = np.unique(edges)
    _refuse_too_many(used.size, catalog.n_features)
    at = levels.row_of[levels.group_start[used]]
    classes = CrossingGroups(groups.query[at], groups.label[at], groups.totals[:, at])
    passes.prepare(lay_out_hull, replace(plan, groups=classes))
    total = classes.totals[3 if len(classes.totals) > 3 else 0]
    edges = np.searchsorted(used, edges)
    bounded = np.zeros((2, used.size), dtype=bool)
    bounded[0, edges[:, 1]] = bounded[1, edges[:, 0]] = True
    return PreparedHull(
        catalog=catalog,
        edges=edges,
        bounded=bounded,
        labels=classes.label,
        queries=catalog.queries[classes.query],
        n_pairs=n_pairs,
        n_ties=groups.n_ties,
        bounds=float((total * bounded).sum()),
    )


def lay_out_hull(index: int, block: RowBlock, plan: LayoutPlan) -> tuple[HullLayout, None]:
    """Return a block's layout; nothing needs to be reported."""
    assert block.y is not None
    assert plan.groups is not None
    rows = split_rows(block, plan.crossing)[1]
    number = plan.groups.numbers(rows.query_of, block.y[rows.places])
    known = np.flatnonzero(number >= 0)
    known = known[np.argsort(number[known], kind="stable")]
    places = rows.places[known]
    own = rows.weight[0, known] if len(rows.weight) else np.ones(places.size)
    return HullLayout(places, number[known], own), None


def _refuse_too_many(n_groups: int, n_features: int) -> None:
    size = 8.0 * n_groups * (4 * n_features + 10)
    if size > MOST_BYTES:
        most = int(MOST_BYTES / (8 * (4 * n_features + 10)))
        raise PairrankError(
            f"y has {n_groups:,} classes with limits over all queries, and {n_features} features "
            f"allow at most {most:,} for rows in blocks ({size / 1e9:.1f} GB per pass): use "
            "RankSVM, or bins of y (numpy.digitize)"
        )


class SmoothedRows(NamedTuple):
    """Rows of cost 1; sides are lower, then upper limits, (2, n). 0 where there is no limit."""

    value: FloatArray
    """The smoothed cost, (n,)."""
    multipliers: FloatArray
    """The derivatives of the value by U - s and by s - L."""
    sides: FloatArray
    """The multipliers' derivatives; see `pairrank.solvers.limits.LimitSystem`."""
    cross: FloatArray
    drift: FloatArray
    """The multipliers' derivatives by the width."""


def smoothed_rows(below: FloatArray, above: FloatArray, width: float) -> SmoothedRows:
    r"""Return the least of y^2 - mu log(y - (U - s)) - mu log(y - (s - L)) over y, by row.

    `below` is U - s and `above` is s - L, -inf where there is no limit; `width` is mu. At the
    minimum 2 y = beta + alpha for the multipliers beta = mu/(y - below) and alpha = mu/(y - above).
    With M the larger distance and h half of their difference, the smaller margin u = y - M is the
    root of (M + u) u (u + 2 h) = mu (u + h), so that small margins keep their digits. O(n).
    """
    out = np.empty((8, below.size))
    compiled.smooth_rows(below, above, width, out)
    return SmoothedRows(out[0], out[1:3], out[3:5], out[5], out[6:])


class HullAsked(NamedTuple):
    """What a block is sent: the weights, its limits, the width and the origin of X."""

    weights: FloatArray
    limits: FloatArray
    """(2, n_groups) of all classes; infinite if open."""
    width: float
    nu: float
    origin: FloatArray | None


class HullSums(NamedTuple):
    """Sums of some blocks."""

    scalars: FloatArray
    """The cost and the smoothed value."""
    gram: FloatArray
    drift: FloatArray
    group: NDArray[np.int64]
    """The classes of these blocks, ascending."""
    by_group: FloatArray
    """(n_groups, 4 n_features + 10): rows by coupling and by multiplier of each side, totals."""


def hull_sums(index: int, X: Any, layout: HullLayout, asked: HullAsked) -> HullSums:
    """Return the sums of a block; O(n_rows n_features^2)."""
    d = X.shape[1]
    starts = np.flatnonzero(np.diff(layout.group, prepend=-1))
    group = layout.group[starts]
    of_row = np.repeat(np.arange(group.size), np.diff(np.append(starts, layout.group.size)))
    limits = asked.limits[:, group]
    result = HullSums(
        np.zeros(2), np.zeros((d, d)), np.zeros(d), group, np.zeros((group.size, 4 * d + _TOTALS))
    )
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for part in threads.blocks(of_row.size, min(_ROWS, block_rows(d))):
            block = _rows(X, layout.rows[part], asked.origin)
            _add(block, of_row[part], layout.weight[part] * asked.nu, limits, asked, result)
    return result


def merge_hull_sums(first: HullSums, second: HullSums) -> HullSums:
    """Return the sums of two sets of blocks together."""
    group = np.union1d(first.group, second.group)
    by_group = np.zeros((group.size, first.by_group.shape[1]))
    for part in (first, second):
        by_group[np.searchsorted(group, part.group)] += part.by_group
    first.gram[:] += second.gram
    return HullSums(
        first.scalars + second.scalars, first.gram, first.drift + second.drift, group, by_group
    )


def _rows(X: Any, places: NDArray[np.int32], origin: FloatArray | None) -> Any:
    """Return rows in float64, less the origin."""
    rows = X[places]
    if sparse.issparse(rows):
        return rows.astype(np.float64, copy=False)
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    if origin is not None:
        rows -= origin
    return rows


def _add(
    block: Any,
    of_row: NDArray[np.intp],
    cost: FloatArray,
    limits: FloatArray,
    asked: HullAsked,
    result: HullSums,
) -> None:
    """Add some rows to the sums."""
    scores, d = block @ asked.weights, block.shape[1]
    below, above = limits[0, of_row] - scores, scores - limits[1, of_row]
    found = smoothed_rows(below, above, asked.width)
    slack = np.maximum(0.0, np.maximum(below, above))
    result.scalars[:] += cost @ np.square(slack), cost @ found.value
    curvature = cost * found.sides + 2.0 * cost * found.cross
    pushed, drift = cost * found.multipliers, cost * found.drift
    inner = curvature[0] + curvature[1]
    if sparse.issparse(block):
        result.gram[:] += (block.T @ sparse.diags_array(inner) @ block).toarray()
    else:
        result.gram[:] += (block * inner[:, None]).T @ block
    result.drift[:] += block.T @ (drift[1] - drift[0])
    low, high = found.multipliers
    squares = (low * low, 2.0 * low * high, high * high)
    sides = np.stack((*curvature, *pushed))
    totals = np.stack((
        *(cost * found.sides), cost * found.cross, *pushed,
        *(0.25 * cost * each for each in squares), *drift,
    ))  # fmt: skip
    if not sparse.issparse(block):
        compiled.add_by_group(block, of_row, sides, totals, result.by_group)
        return
    first, last = int(of_row[0]), int(of_row[-1]) + 1
    starts = np.searchsorted(of_row, np.arange(first, last + 1))
    places, shape = np.arange(of_row.size), (last - first, of_row.size)
    into = result.by_group[first:last]
    for at, values in enumerate(sides):
        sums = sparse.csr_array((values, places, starts), shape=shape) @ block
        into[:, at * d : (at + 1) * d] += sums.toarray()
    into[:, 4 * d :] += np.add.reduceat(totals, starts[:-1], axis=1).T


@dataclass(eq=False)
class HullProblem:
    """A `SmoothedProblem` over prepared blocks; `nu` is the cost of a squared slack."""

    passes: Passes
    prepared: PreparedHull
    nu: float

    def __post_init__(self) -> None:
        self.origin = self.prepared.catalog.origin
        self.n_features = self.prepared.catalog.n_features
        self.bounded, self.edges = self.prepared.bounded, self.prepared.edges
        self.n_groups = self.bounded.shape[1]
        self.smoothing = self.nu * self.prepared.bounds

    def at(self, weights: FloatArray, limits: FloatArray, width: float) -> SmoothedSums:
        """Return the sums over all rows: one pass."""
        d = self.n_features
        open_limits = np.where(self.bounded, limits, [[-np.inf], [np.inf]])
        asked = HullAsked(weights, open_limits, width, self.nu, self.origin)
        found = self.passes.reduce(hull_sums, asked, merge_hull_sums)
        full = np.zeros((self.n_groups, 4 * d + _TOTALS))
        full[found.group] = found.by_group
        by_side = full[:, : 4 * d].reshape(self.n_groups, 4, d).transpose(1, 0, 2)
        totals = full[:, 4 * d :].T
        return SmoothedSums(
            cost=float(found.scalars[0]),
            value=float(found.scalars[1]),
            gram=found.gram,
            sides=by_side[:2],
            curvature=totals[:3],
            multipliers=totals[3:5],
            pushed=by_side[2:],
            squares=totals[5:8],
            drift=found.drift,
            drifts=totals[8:],
        )

    def offset(self, weights: FloatArray) -> float:
        """Return the score that the origin has taken from every row."""
        return 0.0 if self.origin is None else float(self.origin @ weights)
