"""--graph: full, chain, or edges between labels as one writes them at a command line."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import typer

from pairrank.exceptions import PairrankError
from pairrank.preferences import Graph, OrderGraph

_NAMED = ("full", "chain")


def check_graph(text: str | None) -> str | None:
    """Check that an option's value is a graph, as far as can be told without the labels."""
    if text is not None and text not in _NAMED:
        try:
            OrderGraph(_edges(text))
        except PairrankError as error:
            raise typer.BadParameter(str(error)) from None
    return text


def graph_of(text: str, labels: Any) -> Graph:
    """Return the graph that an option's value says, its edges between labels of the data's kind.

    Parameters
    ----------
    text : str
        "full", "chain", or edges: "low<fair<high,bad<high". Labels are stripped of blanks.
    labels : array of shape (n_rows,)
        The labels of the data, numbers or text.

    Raises
    ------
    PairrankError
        If an edge ends in text where labels are numbers.

    Examples
    --------
    >>> graph_of("0<1<2,0<5", np.array([0.0, 1.0]))
    OrderGraph([(0.0, 1.0), (1.0, 2.0), (0.0, 5.0)])
    """
    if text in _NAMED:
        return text  # type: ignore[return-value]
    if np.asarray(labels).dtype.kind not in "biuf":
        return OrderGraph(_edges(text))
    return OrderGraph((_as_number(low), _as_number(high)) for low, high in _edges(text))


def check_order(labels: Any, graph: Any) -> None:
    """Refuse text labels that no edges put in order.

    Raises
    ------
    PairrankError
        That names the option.
    """
    kind = np.asarray(labels).dtype.kind
    if kind not in "biuf" and not isinstance(graph, OrderGraph):
        some = " and ".join(repr(str(label)) for label in np.unique(labels)[:2])
        raise PairrankError(
            f"the labels are text, such as {some}, which has no order of its own: say what is "
            "below what with --graph 'low<high,...', or use labels that are numbers"
        )


def _edges(text: str) -> list[tuple[str, str]]:
    chains = [[end.strip() for end in chain.split("<")] for chain in text.split(",")]
    if not all(len(chain) > 1 and all(chain) for chain in chains):
        raise PairrankError(
            f"{text!r} is neither full nor chain nor edges between labels, such as "
            "'low<fair<high,bad<high'"
        )
    return [edge for chain in chains for edge in pairwise(chain)]


def _as_number(end: str) -> float:
    try:
        return float(end)
    except ValueError:
        raise PairrankError(
            f"--graph names the label {end!r}, but the labels are numbers: name edges as 0<1"
        ) from None
