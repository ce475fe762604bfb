"""OrderGraph: which levels are preferred to which."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Literal

from pairrank.exceptions import PairrankError


class OrderGraph:
    """A directed acyclic graph of preferences between labels.

    An edge ``(low, high)`` says that every row labelled `high` is preferred to every row labelled
    `low` of the same query. No transitive closure is added (Fung 2006, Fig. 1): with the edges
    (A, B) and (B, C) nothing is said of A and C, and A below B beside D below C is legal.

    Parameters
    ----------
    edges : iterable of (low, high)
        Pairs of labels, as they stand in `y`. A repeated edge counts once.

    Attributes
    ----------
    edges : tuple of (low, high)
        The distinct edges, in the order given.

    Raises
    ------
    PairrankError
        If an edge is not a pair, has an end that is no label (a NaN, a list), joins a label with
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

    def __init__(self, edges: Iterable[tuple[Hashable, Hashable]]) -> None:
        if isinstance(edges, str) or not isinstance(edges, Iterable):
            raise PairrankError(f"an OrderGraph is made of edges (low, high), got {edges!r}")
        self.edges = tuple(dict.fromkeys(_as_edge(edge) for edge in edges))
        if not self.edges:
            raise PairrankError("an OrderGraph needs at least one edge (low, high)")
        cycle = _find_cycle(self.edges)
        if cycle:
            path = " < ".join(repr(label) for label in cycle)
            raise PairrankError(f"the order graph has a cycle: {path}; remove one of its edges")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OrderGraph) and set(self.edges) == set(other.edges)

    def __hash__(self) -> int:
        return hash(frozenset(self.edges))

    def __repr__(self) -> str:
        return f"OrderGraph({list(self.edges)!r})"


Graph = Literal["full", "chain"] | OrderGraph


def as_graph(graph: Any) -> Graph:
    """Return a valid graph, from "full", "chain", an OrderGraph or its edges."""
    if isinstance(graph, OrderGraph) or (isinstance(graph, str) and graph in ("full", "chain")):
        return graph  # type: ignore[return-value]
    if isinstance(graph, str) or not isinstance(graph, Iterable):
        raise PairrankError(f'graph must be "full", "chain" or an OrderGraph, got {graph!r}')
    return OrderGraph(graph)


def _as_edge(edge: Any) -> tuple[Hashable, Hashable]:
    if isinstance(edge, str) or not isinstance(edge, Iterable):
        raise PairrankError(f"an edge of an order graph is a pair (low, high), got {edge!r}")
    ends = tuple(edge)
    if len(ends) != 2:
        raise PairrankError(f"an edge of an order graph is a pair (low, high), got {edge!r}")
    low, high = _as_label(ends[0], edge), _as_label(ends[1], edge)
    if low == high:
        raise PairrankError(f"an edge of the order graph joins {low!r} with itself; remove it")
    return low, high


def _as_label(end: Any, edge: Any) -> Hashable:
    """Return an end of an edge as `y` may hold it: a single number or text."""
    label = end.item() if getattr(end, "ndim", None) == 0 else end
    if not _is_label(label):
        raise PairrankError(
            f"the edge {edge!r} of the order graph ends in {label!r}, which is no label: give "
            "numbers or text, as in y"
        )
    return label


def _is_label(label: Any) -> bool:
    """Whether rows can be found by a value: it can be hashed and equals itself."""
    try:
        hash(label)
        return bool(label == label)
    except TypeError:
        return False


def _find_cycle(edges: tuple[tuple[Hashable, Hashable], ...]) -> list[Hashable]:
    """Return the labels of one cycle, the first repeated at the end, or nothing."""
    above: dict[Hashable, list[Hashable]] = {}
    for low, high in edges:
        above.setdefault(low, []).append(high)
    finished: set[Hashable] = set()
    for root in above:
        if root in finished:
            continue
        path, on_path = [root], {root}
        pending = [iter(above[root])]
        while pending:
            label = next(pending[-1], None)
            if label is None:
                pending.pop()
                finished.add(path[-1])
                on_path.discard(path.pop())
            elif label in on_path:
                return [*path[path.index(label) :], label]
            elif label not in finished:
                path.append(label)
                on_path.add(label)
                pending.append(iter(above.get(label, ())))
    return []
