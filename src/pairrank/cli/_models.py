"""The table of what can be trained: one line a model, and the options that it knows."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import typer


class Model(NamedTuple):
    """A ranker by its class, and which options of `train` are parameters of it."""

    estimator: str
    strength: str
    """The parameter that weighs the loss against |w|^2: --search picks it."""
    grid: str
    """Where the values are that --search tries, as module:name."""
    params: frozenset[str]
    """Its other parameters that options set."""
    differences: bool = False
    """It learns differences of labels or magnitudes, not preferences alone."""
    graph: str = "full"
    """The order graph that it takes where none is given."""
    pairs: bool = True
    """It learns from comparisons, too."""


KERNEL = frozenset(["kernel", "gamma", "degree", "coef0", "kernel_features", "n_components"])
"""What every model has whose scores may be those of a kernel."""

STEPS = frozenset(["tol", "max_iter", "random_state"]) | KERNEL
"""What every model has that is minimised by steps."""

DESCENT = frozenset(["loss", "graph", "reduction", "solver", "pair_sum"]) | STEPS
"""What every model has that minimises a loss over preferences."""

SQUARES = frozenset(["regularization", "patience", "solver"]) | STEPS
"""What a model has that fits differences by least squares."""

MAGNITUDES = frozenset(["n", "solver"]) | STEPS
"""What every model has that keeps the magnitude of differences."""

HULL = frozenset(["graph", "regularizer"]) | STEPS
"""What the model has that keeps classes within limits."""

NU_VALUES = tuple(10.0**power for power in range(-6, 5))
"""nu = 1e-6 .. 1e4: the paper names no values, and nu multiplies a sum over rows."""

MODELS: dict[str, Model] = {
    "ranksvm": Model("RankSVM", "C", "pairrank.model_selection.path:PAPER_VALUES", DESCENT),
    "rankncg": Model(
        "RankNCG", "alpha", "pairrank.model_selection.cv:PRECISIONS", DESCENT | {"eps"}
    ),
    "pairwise": Model(
        "PairwiseRanker", "C", "pairrank.model_selection.path:PAPER_VALUES", DESCENT | {"eps"}
    ),
    "rankrls": Model(
        "RankRLS",
        "alpha",
        "pairrank.model_selection.rank_rls_cv:PAPER_ALPHAS",
        SQUARES,
        differences=True,
    ),
    "mprank": Model(
        "MPRank",
        "C",
        "pairrank.model_selection.path:PAPER_VALUES",
        MAGNITUDES,
        differences=True,
    ),
    "svrank": Model(
        "SVRank",
        "C",
        "pairrank.model_selection.path:PAPER_VALUES",
        MAGNITUDES | {"epsilon"},
        differences=True,
    ),
    "hull": Model(
        "ConvexHullRanker",
        "nu",
        "pairrank.cli._models:NU_VALUES",
        HULL,
        graph="chain",
        pairs=False,
    ),
}
"""Name at the command line -> model."""

_FLAGS = {"C": "-C", "random_state": "--seed", "n_components": "--components"}


def flag_of(param: str) -> str:
    """Return the option that sets a parameter."""
    return _FLAGS.get(param, "--" + param.replace("_", "-"))


def users_of(param: str) -> str:
    """Return the names of the models that have a parameter, as help shows them."""
    names = [name for name, model in MODELS.items() if param in {model.strength} | model.params]
    return ", ".join(names)


def check_params(
    name: str, params: dict[str, Any], *, offered: frozenset[str] | None = None
) -> None:
    """Refuse options that a model does not know, as wrong usage; name those that are offered."""
    model = MODELS[name]
    known = {model.strength} | model.params
    if offered is not None:
        known &= offered
    for param in params:
        if param not in known:
            listed = ", ".join(sorted(map(flag_of, known)))
            raise typer.BadParameter(
                f"{flag_of(param)} is no option of --model {name}, which has {listed}."
            )


def learns_differences(estimator: Any) -> bool:
    """Tell whether a ranker is of a model that learns differences."""
    name = type(estimator).__name__
    return any(model.differences for model in MODELS.values() if model.estimator == name)


def make_model(name: str, params: dict[str, Any]) -> Any:
    """Return a new estimator of this name with these parameters."""
    from pairrank.estimators.model_files import ESTIMATORS

    attribute = MODELS[name].estimator
    return getattr(import_module(ESTIMATORS[attribute]), attribute)(**params)


def grid_of(name: str) -> tuple[float, ...]:
    """Return the values of a model's strength that --search tries."""
    module, attribute = MODELS[name].grid.split(":")
    return tuple(getattr(import_module(module), attribute))
