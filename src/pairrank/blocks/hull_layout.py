"""Layouts of blocks for ConvexHullRanker: rows by class, and the graph of all classes' limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pairrank._protocols import FloatArray
from pairrank.blocks._contracts import Passes, RowBlock
from pairrank.blocks.catalog import Catalog
from pairrank.blocks.groups import crossing_levels, merge_groups
from pairrank.blocks.layouts import LayoutPlan, count_crossing, crossing_weights, split_rows
from pairrank.exceptions import PairrankError
from pairrank.objective.hull_objective import edges_of
from pairrank.preferences._codes import no_pairs

MOST_FEATURES = 2000
MOST_BYTES = 5e8
"""The most bytes of sums by class and feature that an evaluation adds up."""


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
    plan = LayoutPlan(graph, "sum", 1.0, catalog.queries, int(catalog.has_weight))
    groups = merge_groups(passes.prepare(count_crossing, plan))
    levels, n_pairs = crossing_levels(groups, graph)
    if levels is None or not n_pairs:
        known = np.arange(2) if catalog.labels is None else catalog.labels
        raise no_pairs(catalog.n_kept, catalog.n_queries, known)
    edges = edges_of(levels)
    used = np.unique(edges)
    _refuse_too_many(used.size, catalog.n_features)
    at = levels.row_of[levels.group_start[used]]
    classes = Classes(plan, groups.query[at], groups.label[at])
    passes.prepare(lay_out_hull, classes)
    total = groups.weight[0][at] if len(groups.weight) else groups.n_rows[at].astype(np.float64)
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


class Classes(NamedTuple):
    """The classes with an edge: numbers of queries among those of the plan, and labels."""

    plan: LayoutPlan
    query: NDArray[np.int32]
    label: NDArray[Any]


def lay_out_hull(index: int, block: RowBlock, classes: Classes) -> tuple[HullLayout, None]:
    """Return a block's layout; nothing needs to be reported."""
    assert block.y is not None
    rows = split_rows(block, classes.plan.crossing)
    number = _numbers_of(classes, rows.query, block.y[rows.places])
    known = np.flatnonzero(number >= 0)
    known = known[np.argsort(number[known], kind="stable")]
    places = rows.places[known]
    weight = crossing_weights(block, places, classes.plan.n_weights)
    own = weight[0] if len(weight) else np.ones(places.size)
    return HullLayout(places, number[known], own), None


def _numbers_of(
    classes: Classes, query: NDArray[np.int32], labels: NDArray[Any]
) -> NDArray[np.int64]:
    """Return the number of each row's class, -1 where it has no edge."""
    known, label = np.unique(np.concatenate((classes.label, labels)), return_inverse=True)
    key = np.concatenate((classes.query, query)).astype(np.int64) * known.size + label
    wanted, given = key[: classes.query.size], key[classes.query.size :]
    order = np.argsort(wanted)
    place = np.minimum(np.searchsorted(wanted, given, sorter=order), wanted.size - 1)
    number = order[place]
    return np.where(wanted[number] == given, number, -1)


def _refuse_too_many(n_groups: int, n_features: int) -> None:
    size = 8.0 * n_groups * (4 * n_features + 10)
    if size > MOST_BYTES:
        most = int(MOST_BYTES / (8 * (4 * n_features + 10)))
        raise PairrankError(
            f"y has {n_groups:,} classes with limits over all queries, and {n_features} features "
            f"allow at most {most:,} for rows in blocks ({size / 1e9:.1f} GB per pass): use "
            "RankSVM, or bins of y (numpy.digitize)"
        )
