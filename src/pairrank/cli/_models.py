"""The table of models, one line each; the rest is read from their classes."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

from pairrank.cli._errors import UsageError
from pairrank.exceptions import PairrankError


class Model(NamedTuple):
    """A ranker's class, and what cannot be read from it."""

    estimator: str
    strength: str
    """The weight of the loss or of the penalty, which --search picks."""
    grid: str
    """The values that --search tries, as module:name."""
    pairs: bool = True
    """Whether it also learns from comparisons."""
    is_optional: bool = False
    """Whether it needs an optional library; then messages do not recommend it."""

    @property
    def type(self) -> Any:
        """The class."""
        return getattr(import_module("pairrank"), self.estimator)

    def values(self) -> tuple[float, ...]:
        """Return the values of the strength that --search tries."""
        module, name = self.grid.split(":")
        return tuple(getattr(import_module(f"pairrank.{module}"), name))


NU_VALUES = tuple(10.0**power for power in range(-6, 5))
"""nu = 1e-6 .. 1e4: the paper names no values, and nu multiplies a sum over rows."""

ROUNDS = (10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""Numbers of weak rankings: more fit the training rows better, and cost more."""

MODELS: dict[str, Model] = {
    "ranksvm": Model("RankSVM", "C", "model_selection.path:PAPER_VALUES"),
    "rankncg": Model("RankNCG", "alpha", "model_selection.cv:PRECISIONS"),
    "rankrls": Model("RankRLS", "alpha", "model_selection.rank_rls_cv:PAPER_ALPHAS"),
    "mprank": Model("MPRank", "C", "model_selection.path:PAPER_VALUES"),
    "svrank": Model("SVRank", "C", "model_selection.path:PAPER_VALUES"),
    "pairwise": Model("PairwiseRanker", "C", "model_selection.path:PAPER_VALUES"),
    "ranknet": Model("RankNet", "alpha", "model_selection.cv:PRECISIONS", is_optional=True),
    "rankboost": Model("RankBoost", "n_estimators", "cli._models:ROUNDS"),
    "hull": Model("ConvexHullRanker", "nu", "cli._models:NU_VALUES", pairs=False),
}
"""Name at the command line -> model."""

RATINGS = Model("BradleyTerry", "alpha", grid="")
"""The model of pairrank ratings."""

_FLAGS = {
    "C": "-C",
    "random_state": "--seed",
    "n_resamples": "--resamples",
    "inner_cv": "--inner-folds",
    "n_components": "--components",
    "method": "--kernel-features",
}

_NEEDS = (
    *((f"kernel__{name}", "kernel", ("rbf", "poly")) for name in ("gamma", "method")),
    *((f"kernel__{name}", "kernel", ("poly",)) for name in ("degree", "coef0")),
    ("kernel__n_components", "kernel", ("rbf", "poly")),
    ("kernel__n_components", "kernel__method", ("auto", "nystroem")),
    *((f"solver__{name}", "solver", ("sgd",)) for name in ("learning_rate", "eta0")),
    ("regularizer", "kernel", ("rbf", "poly")),
    ("patience", "regularization", ("iteration", "hybrid")),
    ("validation_fraction", "regularization", ("iteration", "hybrid")),
    ("alpha", "regularization", ("tikhonov", "hybrid")),
    ("patience", "early_stopping", (True,)),
    ("validation_fraction", "early_stopping", (True,)),
)
"""Parameters that are used only where another parameter has one of some values."""


def learns_differences(ranker: Any) -> bool:
    """Whether a ranker learns differences of labels; others have an order graph."""
    return "graph" not in ranker.get_params(deep=False)


def flag_of(param: str) -> str:
    """Return the option that sets a parameter, or one of an object: kernel__gamma is --gamma."""
    name = param.rpartition("__")[2]
    return _FLAGS.get(name, "--" + name.replace("_", "-"))


def settings_of(hint: Any) -> Any:
    """Return the class among the types of a parameter whose own parameters are options too."""
    return next((part for part in typing.get_args(hint) if hasattr(part, "get_params")), None)


def make_ranker(name: str, params: dict[str, Any], *, search: bool = False) -> Any:
    """Return a new estimator; its errors about parameters become errors of usage.

    `params` are those given at the command line; with `search` the strength is picked.
    """
    from pairrank.estimators.sgd import SGD
    from pairrank.kernels import Kernel

    given = {param: value for param, value in params.items() if "__" not in param}
    ranker, strength = MODELS[name].type(**given), MODELS[name].strength
    values = ranker.get_params() | params
    if search and strength in params:
        raise UsageError(f"--search picks {flag_of(strength)} itself: give one of them.")
    used = [*params, strength] if search else list(params)
    for param, other, allowed in _NEEDS:
        if param in used and other in values and values[other] not in allowed:
            asked = flag_of(param) if param in params else "--search"
            listed = " or ".join(value for value in allowed if isinstance(value, str))
            raise UsageError(f"{asked} needs {f'{flag_of(other)} {listed}'.strip()}.")
    nested = {param: value for param, value in params.items() if param not in given}
    if any(param.startswith("kernel__") for param in nested):
        ranker.set_params(kernel=Kernel(given["kernel"]))
    if any(param.startswith("solver__") for param in nested):
        ranker.set_params(solver=SGD())
    ranker.set_params(**nested)
    with wrong_usage(ranker.get_params()):
        ranker._check_parameters()
        ranker._seed()
    return ranker


@contextmanager
def wrong_usage(params: Iterable[str] = (), kind: Any = UsageError) -> Iterator[None]:
    """Have errors name parameters as options; by default they end the command as wrong usage."""
    try:
        yield
    except PairrankError as error:
        said = in_flags(str(error), params)
        raise kind(said if kind is PairrankError else f"{said}.") from None


def in_flags(message: str, params: Iterable[str]) -> str:
    """Return an estimator's message with its parameters named as options.

    Examples
    --------
    >>> in_flags('C must be above 0, or use loss="hinge"', ["C", "loss"])
    '-C must be above 0, or use --loss hinge'
    >>> in_flags("too large: set alpha (such as alpha=0.1)", ["alpha"])
    'too large: set --alpha (such as --alpha 0.1)'
    >>> in_flags("degree=4 is for poly", ["degree"])
    '--degree 4 is for poly'
    >>> in_flags("kernel='rbf' is exact: leave kernel=None", ["kernel"])
    '--kernel rbf is exact: leave out --kernel'
    """
    for param in params:
        name, flag = param.rpartition("__")[2], flag_of(param)
        message = re.sub(rf"\bleave {name}=None\b", f"leave out {flag}", message)
        message = re.sub(rf"\b([Ss])et {name}\b", rf"\1et {flag}", message)
        message = re.sub(rf"\b{name}=[\"']?([\w.]+)[\"']?", rf"{flag} \1", message)
        message = re.sub(rf"^{name}\b", flag, message)
    return message
