"""What options of train cannot go together: wrong usage, told before any file is read."""

from __future__ import annotations

from typing import Any

import typer

from pairrank.cli import _options as options
from pairrank.cli._judging import Judging
from pairrank.cli._kernels import check_together
from pairrank.cli._metrics import METRICS
from pairrank.cli._models import MODELS, flag_of


def check_usage(
    model: str, params: dict[str, Any], pairs: str | None, judging: Judging, *, search: bool
) -> None:
    """Refuse options of `train` that cannot go together, each of them being the model's."""
    check_compared(model, params, pairs)
    check_together(params)
    check_judging(params, judging)
    check_strength(model, params, judging, search=search)


def stops_early(params: dict[str, Any]) -> bool:
    """Tell whether options ask for a descent that the validation error stops."""
    wanted = params.get("regularization", options.Regularization.tikhonov)
    return wanted is not options.Regularization.tikhonov


def check_compared(model: str, params: dict[str, Any], pairs: str | None) -> None:
    """Refuse comparisons beside a graph, or of a model that learns from labels alone."""
    if pairs is None:
        return
    if "graph" in params:
        raise typer.BadParameter("--pairs says what is preferred to what: leave out --graph.")
    if not MODELS[model].pairs:
        able = ", ".join(name for name, other in MODELS.items() if other.pairs)
        raise typer.BadParameter(
            f"--pairs is no option of --model {model}, which learns from labels: leave it out, or "
            f"use --model {able}."
        )


def check_judging(params: dict[str, Any], judging: Judging) -> None:
    """Refuse options of validation that cannot go together."""
    if judging.pairs is not None and judging.source is None:
        raise typer.BadParameter("--valid-pairs compares validation rows: give --valid FILE.")
    if judging.pairs is not None and not METRICS[judging.metric].pairs:
        able = " or ".join(name for name, metric in METRICS.items() if metric.pairs)
        raise typer.BadParameter(f"--valid-pairs are judged by --metric {able}.")
    if "patience" in params and not stops_early(params):
        raise typer.BadParameter(
            "--patience stops --regularization iteration or hybrid: give one of them."
        )


def check_strength(model: str, params: dict[str, Any], judging: Judging, *, search: bool) -> None:
    """Refuse options that set or search a strength in more than one way, or where there is none."""
    strength = MODELS[model].strength
    if not _has_strength(params):
        for asked, option in ((strength in params, flag_of(strength)), (search, "--search")):
            if asked:
                raise typer.BadParameter(
                    f"{option} plays no part in --regularization iteration, which has no "
                    f"{flag_of(strength)}: leave it out, or use hybrid or tikhonov."
                )
    if search and judging.source is None:
        raise typer.BadParameter(
            f"--search picks {flag_of(strength)} on validation rows: give --valid FILE."
        )
    if search and strength in params:
        raise typer.BadParameter(f"--search picks {flag_of(strength)} by itself: give one of them.")


def _has_strength(params: dict[str, Any]) -> bool:
    return params.get("regularization") is not options.Regularization.iteration
