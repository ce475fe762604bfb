"""--graph: full, chain, or edges between labels in one line of text."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import typer

from pairrank.exceptions import PairrankError
from pairrank.preferences import Graph, OrderGraph

_NAMED = ("full", "chain")


def read_graph(text: Any) -> Graph:
    """Return the graph of an option's value, labels of edges as text without blanks around them.

    Examples
    --------
    >>> read_graph("low<fair<high,bad<high")
    OrderGraph([('low', 'fair'), ('fair', 'high'), ('bad', 'high')])
    """
    if isinstance(text, OrderGraph) or text in _NAMED:
        return text
    chains = [[end.strip() for end in chain.split("<")] for chain in text.split(",")]
    if not all(len(chain) > 1 and all(chain) for chain in chains):
        raise typer.BadParameter(
            f"{text!r} is neither full nor chain nor edges between labels, such as "
            "'low<fair<high,bad<high'."
        )
    try:
        return OrderGraph(edge for chain in chains for edge in pairwise(chain))
    except PairrankError as error:
        raise typer.BadParameter(f"{error}.") from None


def graph_of(graph: Any, labels: Any) -> Graph:
    """Return a graph whose edges name labels of the data's kind, numbers or text.

    Examples
    --------
    >>> graph_of(read_graph("0<1<2,0<5"), np.array([0.0, 1.0]))
    OrderGraph([(0.0, 1.0), (1.0, 2.0), (0.0, 5.0)])
    """
    if labels is None:
        raise PairrankError("the rows have no labels: name their column with --label")
    is_text = np.asarray(labels).dtype.kind not in "biuf"
    if is_text and not isinstance(graph, OrderGraph):
        some = " and ".join(repr(str(label)) for label in np.unique(labels)[:2])
        raise PairrankError(
            f"the labels are text, such as {some}, which has no order: give their order with "
            "--graph 'low<high,...', or use labels that are numbers"
        )
    if is_text or not isinstance(graph, OrderGraph):
        return graph
    return OrderGraph((_as_number(low), _as_number(high)) for low, high in graph.edges)


def _as_number(end: Any) -> float:
    try:
        return float(end)
    except ValueError:
        raise PairrankError(
            f"--graph names the label {end!r}, but the labels are numbers: name edges as 0<1"
        ) from None
