"""The schedule of a hinge sum: small runs pair by pair, few levels by edges, many by a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairrank.preferences import Levels

IntArray = NDArray[np.int64]

SMALL_QUERY, ROWS_A_LEVEL = 512, 64
"""Gradients are summed pair by pair in queries of at most this many rows, and rows per level.

Measured ns per row pair by pair, by edges and by a tree: at 100 rows of 5 levels 30, 73 and 65; at
200 rows of 2 levels 29, 24 and 32; at 400 rows of 400 levels 56, 125 and 125.
"""
SMALL_PRODUCT = 256
"""Hessian products are summed pair by pair in queries of at most this many rows and many levels.

The scores are sorted once, so edges are faster earlier: at 100 rows of 5 levels 11 ns per row,
against 25 pair by pair.
"""
LEAF_ROWS = 48
"""Leaves of the tree with at most this many rows are summed pair by pair."""
FEW_GROUPS = 6
"""Up to this many levels, each pair of levels is an edge; more levels form a tree."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """The parts of a hinge sum over Levels; every pair belongs to exactly one.

    Attributes
    ----------
    segments : int64 array of shape (n_segments, 2)
        Ranges of places of the layout to sort separately.
    ranges : int64 array of shape (n_sorted, 2)
        The places of the queries that are sorted.
    jobs, job_query : int64 arrays of shape (n_jobs, 4) and (n_jobs,)
        Runs of groups that are summed pair by pair; see `pairrank.compiled.sorted_blocks`.
    edges, edge_query : int64 arrays of shape (n_edges, 2) and (n_edges,)
        Pairs of sorted groups; see `pairrank.compiled.sorted_edges`.
    tree_ranges : int64 array of shape (n_trees, 2)
        Those of them whose groups form a tree.
    nodes, node_query : int64 arrays of shape (n_nodes, 3) and (n_nodes,)
        Merges of sorted runs; see `pairrank.compiled.sorted_tree`.
    """

    segments: IntArray
    ranges: IntArray
    jobs: IntArray
    job_query: IntArray
    edges: IntArray
    edge_query: IntArray
    tree_ranges: IntArray
    nodes: IntArray
    node_query: IntArray


def make_schedule(levels: Levels, *, products: bool = False) -> Schedule:
    """Divide the work of gradients, or of products with the Hessian.

    Costs O(groups + edges), and O(leaves log leaves) for trees.
    """
    rows = np.diff(levels.query_start)
    groups = np.diff(levels.query_group)
    small = (rows <= SMALL_QUERY) & (rows <= ROWS_A_LEVEL * groups)
    if products:
        many = groups > FEW_GROUPS if levels.edges is None else groups < 0
        small &= many & (rows <= SMALL_PRODUCT)
    large = ~small & (groups > 1)
    small &= groups > 1
    if levels.edges is not None:
        return _from_edges(levels, small, large)
    few = large & (groups <= FEW_GROUPS)
    edges, edge_query = _all_pairs(levels.query_group, few)
    leaves, leaf_query, nodes, node_query = _trees(levels, np.flatnonzero(large & ~few))
    runs = np.column_stack((levels.query_group[:-1], levels.query_group[1:]))[small]
    brute = leaves[:, 1] - leaves[:, 0] > 1
    jobs = np.concatenate((runs, leaves[brute]))
    segments = np.concatenate((_groups_of(levels.query_group, few), leaves))
    return Schedule(
        segments=levels.group_start[segments],
        ranges=_ranges(levels, large),
        jobs=np.column_stack((jobs, np.full_like(jobs, -1))),
        job_query=np.concatenate((np.flatnonzero(small), leaf_query[brute])),
        edges=edges,
        edge_query=edge_query,
        tree_ranges=_ranges(levels, large & ~few),
        nodes=nodes,
        node_query=node_query,
    )


def _from_edges(levels: Levels, small: NDArray[np.bool_], large: NDArray[np.bool_]) -> Schedule:
    assert levels.edges is not None
    query_group = levels.query_group
    bounds = np.searchsorted(levels.edges[:, 0], query_group)
    jobs = np.column_stack((query_group[:-1], query_group[1:], bounds[:-1], bounds[1:]))
    edge_query = np.repeat(np.arange(levels.n_queries), np.diff(bounds))
    sorted_edge = large[edge_query]
    return Schedule(
        segments=levels.group_start[_groups_of(query_group, large)],
        ranges=_ranges(levels, large),
        jobs=jobs[small],
        job_query=np.flatnonzero(small),
        edges=np.ascontiguousarray(levels.edges[sorted_edge]),
        edge_query=edge_query[sorted_edge],
        tree_ranges=np.empty((0, 2), dtype=np.int64),
        nodes=np.empty((0, 3), dtype=np.int64),
        node_query=np.empty(0, dtype=np.int64),
    )


def _groups_of(query_group: IntArray, chosen: NDArray[np.bool_]) -> IntArray:
    """Return (group, group + 1) of every group of the queries chosen."""
    groups = np.flatnonzero(np.repeat(chosen, np.diff(query_group)))
    return np.column_stack((groups, groups + 1))


def _ranges(levels: Levels, chosen: NDArray[np.bool_]) -> IntArray:
    starts = levels.query_start
    return np.ascontiguousarray(np.column_stack((starts[:-1], starts[1:]))[chosen])


def _all_pairs(query_group: IntArray, chosen: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """Return every pair (low, high) of groups within each query chosen, sorted, and its query."""
    groups = np.diff(query_group)
    found = [np.empty((0, 3), dtype=np.int64)]
    for n_groups in np.unique(groups[chosen]):
        queries = np.flatnonzero(chosen & (groups == n_groups))
        low, high = np.triu_indices(n_groups, 1)
        first = query_group[queries][:, np.newaxis]
        query = np.broadcast_to(queries[:, np.newaxis], (queries.size, low.size))
        found.append(np.stack((first + low, first + high, query), axis=-1).reshape(-1, 3))
    edges = np.concatenate(found)
    edges = edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    return np.ascontiguousarray(edges[:, :2]), np.ascontiguousarray(edges[:, 2])


def _trees(levels: Levels, queries: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Return the leaves (first group, last + 1), their queries, the merges and their queries."""
    all_leaves = [np.empty((0, 2), dtype=np.int64)]
    all_nodes = [np.empty((0, 3), dtype=np.int64)]
    if queries.size:
        from pairrank.compiled.sorted_tree import build_leaves, build_nodes
    for query in queries:
        first, last = levels.query_group[query], levels.query_group[query + 1]
        empty = all_leaves[0]
        n_leaves = build_leaves(levels.group_start, first, last, LEAF_ROWS, empty)
        leaves = np.empty((n_leaves, 2), dtype=np.int64)
        build_leaves(levels.group_start, first, last, LEAF_ROWS, leaves)
        starts = levels.group_start[np.append(leaves[:, 0], last)]
        nodes = np.empty((n_leaves - 1, 3), dtype=np.int64)
        build_nodes(starts, nodes)
        all_leaves.append(leaves)
        all_nodes.append(nodes)
    return (
        np.concatenate(all_leaves),
        np.repeat(queries, [len(leaves) for leaves in all_leaves[1:]]),
        np.concatenate(all_nodes),
        np.repeat(queries, [len(nodes) for nodes in all_nodes[1:]]),
    )


def whole_queries(levels: Levels) -> Schedule:
    """Return a schedule that sorts each query of several levels as one range, for sweeps."""
    chosen = np.diff(levels.query_group) > 1
    ranges = _ranges(levels, chosen)
    none = np.empty(0, dtype=np.int64)
    return Schedule(
        segments=ranges,
        ranges=ranges,
        jobs=none.reshape(0, 4),
        job_query=none,
        edges=none.reshape(0, 2),
        edge_query=none,
        tree_ranges=none.reshape(0, 2),
        nodes=none.reshape(0, 3),
        node_query=none,
    )
