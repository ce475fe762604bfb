"""What is worth knowing of a fit, by name: the summary of train."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pairrank.cli import _options as options
from pairrank.cli._models import MODELS
from pairrank.cli._report import gap_of

_SAID = ("regularization", "n", "epsilon")
"""Parameters that are shown of whatever model has them."""


def summarise(model: str, ranker: Any, facts: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return what is worth knowing of a fit of a model of this name."""
    summary = {"model": type(ranker).__name__, **facts, "n_pairs": int(ranker.n_pairs_)}
    summary |= _parameters(model, ranker)
    if hasattr(ranker, "n_edges_"):
        summary["edges"] = int(ranker.n_edges_)
        summary["rows outside limits"] = int(np.count_nonzero(ranker.slacks_))
    summary["objective"] = float(ranker.objective_)
    gap = gap_of(ranker.history_[-1]) if ranker.history_ else math.nan
    if not math.isnan(gap):
        summary["duality gap"] = gap
    summary["iterations"] = int(ranker.n_iter_)
    if hasattr(ranker, "validation_scores_"):
        summary["best iteration"] = int(ranker.best_iteration_)
        summary["validation error"] = 1.0 - float(ranker.validation_scores_[ranker.best_iteration_])
    return {**summary, "status": ranker.status_, "seconds": seconds}


def _parameters(model: str, ranker: Any) -> dict[str, Any]:
    """Return the parameters that say what was minimised, where they play a part."""
    strength = MODELS[model].strength
    shown = {name: getattr(ranker, name) for name in _SAID if hasattr(ranker, name)}
    if shown.get("regularization") != options.Regularization.iteration:
        shown[strength] = getattr(ranker, strength)
    if ranker.kernel is not None:
        shown["kernel"] = ranker.kernel
        shown["kernel features"] = int(ranker.feature_map_.n_components_)
    return shown
