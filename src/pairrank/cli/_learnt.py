"""What train has learnt: the ranker and its summary; training on rows read block by block."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pairrank._protocols import Status
from pairrank.cli import _options as options
from pairrank.cli._columns import to_remember
from pairrank.cli._errors import UsageError, named
from pairrank.cli._graphs import graph_of
from pairrank.cli._models import MODELS, Model, in_flags, learns_differences
from pairrank.cli._progress import Progress, Stopwatch, gap_of
from pairrank.cli._rows import count_preferences
from pairrank.cli._streaming import Streaming, as_rows, streamed, with_format
from pairrank.cli.scoring import check_metrics, measure
from pairrank.exceptions import PairrankError

if TYPE_CHECKING:
    from pairrank.blocks import RowBlocks
    from pairrank.io import Rows

_SHOWN = ("regularization", "n", "epsilon")
"""Parameters that the summary shows where a model has them."""


class Learnt(NamedTuple):
    """A fitted ranker, its summary, and what its model file remembers of the training rows."""

    ranker: Any
    whole: bool
    """Whether the fit was not interrupted."""
    summary: dict[str, Any]
    columns: dict[str, str]
    zero_based: bool | None = None


def learn_streamed(
    model: str,
    ranker: Any,
    data: str,
    columns: options.Columns,
    streaming: Streaming,
    valid: str | None,
    metric: str,
    spent: Stopwatch,
    *,
    quiet: bool,
) -> Learnt:
    """Fit the ranker to rows that are read block by block, and judge it on validation rows."""
    if not streams(MODELS[model]):
        able = ", ".join(name for name, each in MODELS.items() if streams(each))
        raise UsageError(
            f"Model {model} needs all rows in memory: leave out --stream, or use {able}."
        )
    try:
        ranker._check_blocks()
    except PairrankError as error:
        raise UsageError(f"{in_flags(str(error), ranker.get_params())}.") from None
    progress = Progress(quiet=quiet)
    blocks = streamed(data, columns, streaming, progress.reading)
    with named(data):
        labels = blocks.first_block().y
        if not learns_differences(ranker):
            ranker.set_params(graph=graph_of(ranker.graph, labels))
        elif labels is None:
            raise PairrankError("the rows have no labels: name their column with --label")
    judged = held = None
    if valid is not None:
        judged = streamed(
            valid,
            columns,
            streaming,
            progress.reading,
            features=blocks.feature_names,
        )
        held = held_rows(judged, valid, ranker, metric)
    stopping = {"X_val": judged} if judged is not None and ranker._stops_early else {}
    spent.on("reading")
    with progress, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=re.escape(Status.INTERRUPTED.value))
        try:
            ranker.fit(blocks, callback=progress, **stopping)
        except PairrankError as error:
            message = in_flags(str(error), {"memory_limit": None})
            named_already = data in message
            raise type(error)(message if named_already else f"{data}: {message}") from None
    spent.on("fitting")
    facts = {"rows": ranker.n_rows_, "features": ranker.n_features_in_}
    summary = summarise(model, ranker, {**facts, "queries": ranker.n_queries_})
    if judged is not None and held is not None:
        with named(valid or data):
            scores, _ = judged.scored(ranker, labelled=False)
            summary[f"valid {metric}"] = measure(metric, held, scores, ranker)
    whole = ranker.status_ != Status.INTERRUPTED.name.lower()
    remembered = to_remember(data, with_format(data, columns))
    return Learnt(ranker, whole, summary, remembered)


def held_rows(judged: RowBlocks, source: str, ranker: Any, metric: str) -> Rows:
    """Return the validation rows without features, checked before the fit; reads them once."""
    with named(source):
        labels = judged.labels()
        rows = as_rows(np.asarray(labels.y).size, labels)
        check_metrics([metric], rows)
    count_preferences(rows, getattr(ranker, "graph", "full"), source)
    return rows


def streams(model: Model) -> bool:
    """Whether a model learns from rows that are read block by block."""
    return model.is_installed and hasattr(model.type, "_check_blocks")


def summarise(model: str, ranker: Any, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of rows and of a fit for its summary."""
    summary = {"model": type(ranker).__name__, **facts, "n_pairs": int(ranker.n_pairs_)}
    strength = MODELS[model].strength
    shown = {name: getattr(ranker, f"{name}_", getattr(ranker, name, None)) for name in _SHOWN}
    summary |= {name: value for name, value in shown.items() if value is not None}
    if summary.get("regularization") != "iteration":
        summary[strength] = getattr(ranker, f"{strength}_", getattr(ranker, strength))
    if hasattr(ranker, "kernel_"):
        summary["kernel"] = ranker.kernel_.function
        summary["kernel features"] = int(ranker.kernel_.n_components_)
    if hasattr(ranker, "n_edges_"):
        summary["edges"] = int(ranker.n_edges_)
        summary["rows outside limits"] = int(np.count_nonzero(ranker.slacks_))
    summary["objective"] = float(ranker.objective_)
    gap = gap_of(ranker.history_[-1]) if ranker.history_ else math.nan
    if not math.isnan(gap):
        summary["duality gap"] = gap
    summary["iterations"] = int(ranker.n_iter_)
    if getattr(ranker, "_stops_early", False):
        summary["best iteration"] = int(ranker.best_iteration_)
        score = float(ranker.validation_scores_[ranker.best_iteration_])
        if ranker.validation_metric is None:
            summary["validation error"] = 1.0 - score
    return {**summary, "status": ranker.status_}
