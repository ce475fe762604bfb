"""Models by name; their options, and what parameters are called there."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pkgutil import resolve_name
from typing import Any

from pairrank.cli._errors import UsageError
from pairrank.estimators import MODELS
from pairrank.exceptions import PairrankError


def class_of(model: str) -> Any:
    """Return the class of a model."""
    return resolve_name(MODELS[model])


def models_where(wanted: Callable[[Any], bool]) -> list[str]:
    """Return the models whose classes are as wanted, without those that would load torch."""
    names = (name for name, place in MODELS.items() if "torch" not in place)
    return [name for name in names if wanted(class_of(name))]


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
    ranker = class_of(name)(**given)
    strength = ranker._strength
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
