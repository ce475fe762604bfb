"""OrderGraph: which levels are preferred to which."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from pairrank._arrays import is_hashable, is_missing, refuse_hidden
from pairrank.exceptions import PairrankError


class OrderGraph:
    """A directed acyclic graph of preferences between labels.

    An edge ``(low, high)`` says that every row labelled `high` is preferred to every row labelled
    `low` of the same query. No transitive closure is added (Fung 2006, Fig. 1): the edges (A, B)
    and (B, C) give no preference between A and C. The graph need not be connected.

    Parameters
    ----------
    edges : iterable of (low, high)
        Pairs of labels, as in `y`. A repeated edge counts once.

    Attributes
    ----------
    edges : tuple of (low, high)
        The distinct edges, in the order given.
    labels : tuple
        The distinct labels at the ends of edges.
    codes : int64 array of shape (n_edges, 2)
        The edges as indices into `labels`.

    Raises
    ------
    PairrankError
        If an edge is not a pair, has an end that is not a label (a NaN, a list), joins a label with
        itself, or closes a cycle.

    Notes
    -----
    Building costs O(edges).

    Examples
    --------
    >>> OrderGraph([("poor", "fair"), ("fair", "good")]).edges
    (('poor', 'fair'), ('fair', 'good'))
    """

    edges: tuple[tuple[Hashable, Hashable], ...]
    labels: tuple[Hashable, ...]
    codes: NDArray[np.int64]

    def __init__(self, edges: Iterable[tuple[Hashable, Hashable]]) -> None:
        refuse_hidden(edges, "an OrderGraph")
        if isinstance(edges, str) or not np.iterable(edges):
            raise PairrankError(f"an OrderGraph is made of edges (low, high), got {edges!r}")
        self.edges = tuple(dict.fromkeys(map(_as_edge, edges)))
        if not self.edges:
            raise PairrankError("an OrderGraph needs at least one edge (low, high)")
        self.labels = tuple(dict.fromkeys(chain.from_iterable(self.edges)))
        code = {label: at for at, label in enumerate(self.labels)}
        ends = map(code.__getitem__, chain.from_iterable(self.edges))
        self.codes = np.fromiter(ends, np.int64, 2 * len(self.edges)).reshape(-1, 2)
        sorter: TopologicalSorter[Hashable] = TopologicalSorter()
        for low, high in self.edges:
            sorter.add(high, low)
        try:
            sorter.prepare()
        except CycleError as error:
            cycle = error.args[1][:-1]
            first = cycle.index(min(cycle, key=code.__getitem__))
            path = " < ".join(map(repr, [*cycle[first:], *cycle[: first + 1]]))
            raise PairrankError(
                f"the order graph has a cycle: {path}; remove one of its edges"
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OrderGraph) and set(self.edges) == set(other.edges)

    def __hash__(self) -> int:
        return hash(frozenset(self.edges))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __repr__(self) -> str:
        return f"OrderGraph({list(self.edges)!r})"


Graph = Literal["full", "chain"] | OrderGraph


def as_graph(graph: Any) -> Graph:
    """Return a valid graph, from "full", "chain", an OrderGraph or its edges."""
    if isinstance(graph, OrderGraph) or (isinstance(graph, str) and graph in ("full", "chain")):
        return graph  # type: ignore[return-value]
    if isinstance(graph, str) or not np.iterable(graph):
        raise PairrankError(f'graph must be "full", "chain" or an OrderGraph, got {graph!r}')
    return OrderGraph(graph)


def _as_edge(edge: Any) -> tuple[Hashable, Hashable]:
    """Return an edge as two labels."""
    try:
        ends = () if isinstance(edge, str) else tuple(edge)
    except TypeError:
        ends = ()
    if len(ends) != 2:
        raise PairrankError(f"an edge of an order graph is a pair (low, high), got {edge!r}")
    low, high = (_as_label(end, edge) for end in ends)
    if low == high:
        raise PairrankError(f"an edge of the order graph joins {low!r} with itself; remove it")
    return low, high


def _as_label(end: Any, edge: Any) -> Hashable:
    """Return an end of an edge as a label: a single number or text."""
    label = end.item() if getattr(end, "ndim", None) == 0 else end
    if not is_hashable(label) or is_missing(label):
        raise PairrankError(
            f"the edge {edge!r} of the order graph ends in {label!r}, which is not a label: give "
            "numbers or text, as in y"
        )
    return label
