"""Which pairs a loss is summed over, and the factor of its reduction."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pairrank import _validation as validation
from pairrank._protocols import LossFamily, Squares, Tubes
from pairrank.exceptions import PairrankError
from pairrank.preferences import Differences, Levels, OrderGraph, Pairs, as_graph, refuse_roles
from pairrank.preferences.names import shown
from pairrank.torch.rows import Rows, as_array

REDUCTIONS = {
    "mean": ("rows", True),
    "query_mean": ("query", True),
    "rows": ("rows", False),
    "query": ("query", False),
    "sum": ("sum", False),
}
"""The reduction of the rankers that each reduction follows, and whether it is divided by W."""


class Compared(NamedTuple):
    """Pairs with their weights, and a factor of their sum."""

    preferences: Levels | Pairs | Differences
    factor: float


def compared(rows: Rows, family: LossFamily, graph: Any, levels: Any, reduction: str) -> Compared:
    """Return the pairs that a loss of this family is summed over."""
    kind, is_mean = REDUCTIONS[reduction]
    layout = {"qid": rows.qid, **rows.weights}
    found: Levels | Pairs | Differences
    if isinstance(rows.labels, Pairs):
        found, weight = _of_pairs(rows, family, graph, levels, kind)
    elif is_of_differences(family):
        if as_graph(graph) != "full" or levels is not None:
            raise PairrankError(
                "graph and levels say which labels are preferred, but this loss compares "
                "differences of labels: leave both at their defaults"
            )
        refuse_roles(layout.pop("winner_weight"), layout.pop("loser_weight"))
        found, weight = _of_differences(Differences.build(rows.labels, **layout), kind)
    else:
        found, weight = _of_levels(rows, graph, levels, kind)
    return Compared(found, 1.0 if not is_mean else 1.0 / weight if weight > 0.0 else 0.0)


def is_of_differences(family: LossFamily) -> bool:
    """Whether the loss compares differences of labels with those of scores."""
    return isinstance(family, Squares | Tubes)


def _of_levels(rows: Rows, graph: Any, levels: Any, kind: str) -> tuple[Levels | Pairs, float]:
    graph = as_graph(graph)
    if levels is not None:
        known = np.unique(validation.check_labels(as_array(levels, "levels"), name="levels"))
        graph = _graph_among(known, graph, rows.labels)
    with warnings.catch_warnings():
        if levels is not None:
            warnings.filterwarnings("ignore", "the order graph names labels that are absent")
        found = Levels.build(rows.labels, rows.qid, graph=graph, **rows.weights)
    return found.reduced(kind).compact(), found.row_weight


def _graph_among(known: Any, graph: Any, labels: Any) -> Any:
    """Return the graph over the known levels, of which a batch may lack some."""
    strange = ~np.isin(labels, known)
    if strange.any():
        row = int(strange.argmax())
        raise PairrankError(f"the label {shown(labels[row])} in row {row} is not among the levels")
    names = known.tolist()
    if graph == "chain":
        return OrderGraph(pairwise(names)) if len(names) > 1 else "full"
    if isinstance(graph, OrderGraph):
        among = set(names)
        absent = [label for label in graph.labels if label not in among]
        if absent:
            raise PairrankError(
                f"the order graph names {absent[0]!r}, which is not among the levels: check its "
                "spelling"
            )
    return graph


def _of_pairs(
    rows: Rows, family: LossFamily, graph: Any, levels: Any, kind: str
) -> tuple[Pairs, float]:
    if as_graph(graph) != "full" or levels is not None:
        raise PairrankError("Pairs are preferences already: leave graph and levels out")
    ties = not is_of_differences(family)
    found = rows.labels.bound(rows.n_rows, qid=rows.qid, reduction=kind, ties=ties, **rows.weights)
    return found, found.row_weight


def _of_differences(differences: Differences, kind: str) -> tuple[Differences, float]:
    """Return the differences with the weights of a reduction, and W.

    In `Differences` a pair weighs w_i w_j/(2 n_q), so rows of query q with the weights a_q w_i make
    pairs of a_q w_i w_j/(2 n_q): a_q is 2 n_q times the factor wanted.
    """
    totals = differences.query_weight
    W, pairs = float(totals.sum()), totals**2
    factor = np.ones(totals.size)
    if kind == "rows":
        factor *= W / pairs.sum() if W > 0.0 else 0.0
    elif kind == "query":
        each = W / max(1, int((totals > 0.0).sum()))
        factor = np.divide(each, pairs, out=np.zeros(totals.size), where=pairs > 0.0)
    scale = 2.0 * totals * factor
    by_row = scale[np.zeros(1, int) if differences.query_of is None else differences.query_of]
    own = np.ones(differences.n_rows) if differences.weight is None else differences.weight
    return replace(differences, weight=by_row * own, query_weight=totals * scale), W
