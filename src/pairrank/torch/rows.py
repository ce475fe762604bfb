"""Labels, queries, weights and masks as checked flat arrays, and the pairs they make."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pairrank import _arrays
from pairrank import _validation as validation
from pairrank._arrays import shown
from pairrank._protocols import Array, FloatArray, LossFamily, Squares, Tubes
from pairrank.exceptions import PairrankError
from pairrank.preferences import (
    Differences,
    Levels,
    OrderGraph,
    Pairs,
    Preferences,
    as_graph,
    refuse_roles,
)
from pairrank.preferences._codes import scale_to

WEIGHTS = ("sample_weight", "winner_weight", "loser_weight")


class Rows(NamedTuple):
    """The rows of flat scores: labels (or Pairs), queries and weights, one entry per row."""

    labels: Any
    qid: Array | None
    weights: dict[str, FloatArray | None]
    shape: tuple[int, ...]
    """The shape of the scores before they are made flat."""
    kept: NDArray[np.int64] | None
    """The places of the rows among all scores made flat; None: all are rows."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.labels)

    def flat(self, scores: Tensor) -> Tensor:
        """Return the scores of the rows, (n_rows,); an error if their shape is another one."""
        if not isinstance(scores, Tensor):
            raise PairrankError(f"scores must be a torch tensor (got {type(scores).__name__})")
        if not scores.dtype.is_floating_point:
            raise PairrankError(f"scores must be floating point numbers (got {scores.dtype})")
        if tuple(scores.shape) != self.shape:
            raise PairrankError(
                f"scores have shape {tuple(scores.shape)}, but the labels have {self.shape}: give "
                "one score per label" + (_SQUEEZE if scores.shape[-1:] == (1,) else "")
            )
        scores = scores.reshape(-1)
        if self.kept is None:
            return scores
        return scores[torch.from_numpy(self.kept).to(scores.device)]


_SQUEEZE = "; scores of shape (n, 1) become (n,) by squeeze(-1)"


def rows_of(labels: Any, qid: Any, mask: Any, weights: dict[str, Any]) -> Rows:
    """Check everything but the scores; tensors are copied to the CPU.

    With two dimensions, (batch, list length), each row of the batch is a query.
    """
    given = {"labels": labels, "qid": qid, "mask": mask, **weights}
    arrays = {name: as_array(values, name) for name, values in given.items() if values is not None}
    if isinstance(labels, Pairs):
        if mask is not None:
            raise PairrankError(
                "mask cannot be combined with Pairs: name the rows to compare in them"
            )
        return _laid_out(labels, labels.n_rows, arrays, (labels.n_rows,))
    if "labels" not in arrays:
        raise PairrankError("labels are None: give one label per score")
    shape = _shape_of(arrays["labels"])
    if len(shape) == 2:
        arrays = _of_lists(arrays, shape)
    kept = None
    if "mask" in arrays:
        flags = np.asarray(arrays.pop("mask"))
        if flags.dtype != np.bool_ or flags.shape != (int(np.prod(shape)),):
            raise PairrankError(
                "mask must hold True or False per label, True for rows that count (got "
                f"{flags.dtype} of shape {flags.shape})"
            )
        kept = np.flatnonzero(flags)
        arrays = {
            name: _arrays.as_array(values, name)[kept] if np.ndim(values) else values
            for name, values in arrays.items()
        }
    found = validation.check_labels(arrays["labels"], name="labels")
    return _laid_out(found, found.size, arrays, shape, kept)


def as_array(values: Any, name: str) -> Any:
    """Return a tensor as an array on the CPU, anything else as it is."""
    if not isinstance(values, Tensor):
        return values
    if values.requires_grad:
        raise PairrankError(
            f"{name} requires a gradient, but the loss is differentiated by the scores only: "
            f"pass {name}.detach()"
        )
    if values.dtype == torch.bfloat16:
        values = values.float()
    return values.cpu().numpy()


def _shape_of(labels: Any) -> tuple[int, ...]:
    try:
        return np.shape(labels)
    except ValueError:
        raise PairrankError(
            "labels are lists of different lengths: pad them to one length, and give a mask, True "
            "for rows and False for padding"
        ) from None


def _of_lists(arrays: dict[str, Any], shape: tuple[int, ...]) -> dict[str, Any]:
    """Return flat arrays of a batch of lists, with its rows as queries."""
    if "qid" in arrays:
        raise PairrankError(
            "qid cannot be combined with labels of two dimensions, whose rows are queries: leave "
            "it out, or give flat labels"
        )
    if shape[1] == 1:
        raise PairrankError(
            f"labels have shape {shape}, lists of a single row, which hold no pair" + _SQUEEZE
        )
    for name, values in arrays.items():
        if np.shape(values) not in (shape, ()):
            raise PairrankError(
                f"{name} has shape {np.shape(values)}, but the labels have {shape}: give one entry "
                "per label"
            )
    flat = {
        name: np.reshape(values, -1) if np.ndim(values) else values
        for name, values in arrays.items()
    }
    return {**flat, "qid": np.repeat(np.arange(shape[0]), shape[1])}


def _laid_out(
    labels: Any, n_rows: int, given: dict[str, Any], shape: tuple[int, ...], kept: Any = None
) -> Rows:
    """Return rows after a check of their queries and weights."""
    weights = {
        name: validation.check_weights(given.get(name), n_rows, name, all_zero=True)
        for name in WEIGHTS
    }
    return Rows(labels, validation.check_query_ids(given.get("qid"), n_rows), weights, shape, kept)


REDUCTIONS = {
    "mean": ("rows", True),
    "query_mean": ("query", True),
    "rows": ("rows", False),
    "query": ("query", False),
    "sum": ("sum", False),
}
"""The reduction of the rankers that each reduction follows, and whether it is divided by W."""


def compared(
    rows: Rows, family: LossFamily, graph: Any, levels: Any, reduction: str
) -> tuple[Preferences | Differences, float]:
    """Return the pairs that a loss of this family is summed over, and a factor of their sum."""
    kind, is_mean = REDUCTIONS[reduction]
    layout = {"qid": rows.qid, **rows.weights}
    is_plain = as_graph(graph) == "full" and levels is None
    found: Preferences | Differences
    if isinstance(rows.labels, Pairs):
        if not is_plain:
            raise PairrankError("Pairs are preferences already: leave graph and levels out")
        ties = not is_of_differences(family)
        found = rows.labels.bound(rows.n_rows, reduction=kind, ties=ties, **layout)
        weight = found.row_weight
    elif is_of_differences(family):
        if not is_plain:
            raise PairrankError(
                "graph and levels say which labels are preferred, but this loss compares "
                "differences of labels: leave both at their defaults"
            )
        refuse_roles(layout.pop("winner_weight"), layout.pop("loser_weight"))
        found, weight = _of_differences(Differences.build(rows.labels, **layout), kind)
    else:
        found, weight = _of_levels(rows, graph, levels, kind)
    return found, 1.0 if not is_mean else 1.0 / weight if weight > 0.0 else 0.0


def is_of_differences(family: LossFamily) -> bool:
    """Whether the loss compares differences of labels with those of scores."""
    return isinstance(family, Squares | Tubes)


def _of_levels(rows: Rows, graph: Any, levels: Any, kind: str) -> tuple[Preferences, float]:
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


def _of_differences(differences: Differences, kind: str) -> tuple[Differences, float]:
    """Return the differences with the weights of a reduction, and W.

    In `Differences` a pair weighs w_i w_j/(2 n_q), so rows of query q with the weights a_q w_i make
    pairs of a_q w_i w_j/(2 n_q): a_q is 2 n_q times the factor wanted.
    """
    totals = differences.query_weight
    W, pairs, factor = float(totals.sum()), totals**2, 1.0
    if kind == "rows":
        factor = scale_to(W, pairs.sum())
    elif kind == "query":
        factor = scale_to(W / max(1, int(np.count_nonzero(totals))), pairs)
    scale = 2.0 * totals * factor
    by_row = scale[differences.query_of] * differences.weight
    return replace(differences, weight=by_row, query_weight=totals * scale), W
