"""Commands from functions: fields of groups become options, and a model's options its class's."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterator
from functools import cache
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperCommand

from pairrank.cli._errors import UsageError
from pairrank.cli._models import MODELS, Model, flag_of, settings_of
from pairrank.cli._options import COLUMNS, GRAPH, PANELS, option, parameter, reader
from pairrank.losses import LOSSES

_OF_A_KERNEL = ("rbf", "poly")
_NONE = "none"
_NOT_OFFERED = (
    *("warm_start", "verbose", "validation_metric", "pairs"),
    *("kernel__function", "kernel__random_state", "solver__average"),
)
"""Parameters without an option: no earlier fit exists, progress is always shown, --metric judges
validation rows, --pairs is a file of comparisons, --kernel is the kernel's function, --seed seeds
its landmarks, and stochastic steps are always averaged."""

_PANELS = {
    **dict.fromkeys(("regularization", "reduction"), "Strength"),
    **dict.fromkeys(("patience", "validation_fraction", "early_stopping"), "Validation"),
    **dict.fromkeys(("batch_size", "learning_rate"), "Solver"),
    **dict.fromkeys(("solver", "pair_sum", "eps", "tol", "max_iter", "random_state"), "Solver"),
    **dict.fromkeys(("solver__learning_rate", "solver__eta0"), "Solver"),
}  # fmt: skip
"""The panel of a parameter in the help, if not "Model"."""


def spread(function: Callable[..., Any], model: str | None = None) -> Callable[..., Any]:
    """Return a command's function with one option per parameter.

    `columns` becomes the options of COLUMNS, and `**params` those of a model in MODELS. A
    parameter of the function itself replaces the option of COLUMNS of the same name.
    """
    own = inspect.signature(function, eval_str=True).parameters
    columns = [each for each in COLUMNS if "columns" in own and each.name not in own]
    shown = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, each in own.items()
        if name != "columns" and each.kind is not each.VAR_KEYWORD
    ]
    if model is not None:
        shown += options_of(MODELS[model])

    def run(**given: Any) -> Any:
        if "columns" in own:
            given["columns"] = {each.name: given.pop(each.name) for each in columns}
        params = {name: given.pop(name) for name in set(given) - set(own)}
        asked = {name: value for name, value in params.items() if value is not None}
        asked = {name: None if value == _NONE else value for name, value in asked.items()}
        return function(**given, **asked)

    shown = sorted([*shown, *columns], key=_panel_index)
    vars(run)["__signature__"] = inspect.Signature(shown)
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    vars(run)["function"] = function
    return run


class ModelCommand(TyperCommand):
    """A command with the options of the model in --model."""

    def make_context(
        self, info_name: Any, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the arguments with the model's own options."""
        callback: Any = self.callback
        function = callback.function
        default = inspect.signature(function).parameters["model"].default
        name = _last_of("--model", args) or str(default)
        if name not in MODELS:
            return super().make_context(info_name, ["--model", name, *args], parent, **extra)
        app = typer.Typer(add_completion=False)
        app.command()(spread(function, name))
        command = typer.main.get_command(app)
        try:
            return command.make_context(info_name, args, parent, **extra)
        except UsageError as error:
            if not hasattr(error, "possibilities"):
                raise
            raise UsageError(_unknown(error, name), error.ctx) from None


def _last_of(flag: str, args: list[str]) -> str | None:
    """Return the last value of an option among the arguments."""
    value = None
    for place, word in enumerate(args):
        if word == flag and place + 1 < len(args):
            value = args[place + 1]
        elif word.startswith(f"{flag}="):
            value = word.partition("=")[2]
    return value


def _unknown(error: Any, model: str) -> str:
    """Return the message for an option that a model does not have."""
    flag = error.option_name
    strengths = {flag_of(each.strength) for each in MODELS.values()}
    known = [
        name
        for name, each in MODELS.items()
        if each.is_installed and flag in {flag_of(other.name) for other in options_of(each)}
    ]
    if flag in strengths:
        return f"Model {model} has no option {flag}; use {flag_of(MODELS[model].strength)}."
    if known and model not in known:
        return f"Model {model} has no option {flag}; it is an option of {', '.join(known)}."
    return str(error.format_message())


@cache
def options_of(model: Model) -> tuple[inspect.Parameter, ...]:
    """Return the parameters of a model's constructor as options.

    Types, choices and defaults come from its signature, help from its docstring. The parameters of
    a parameter that is an object follow it. Those whose values cannot be written as text are left
    out.
    """
    found: list[inspect.Parameter] = []
    for name, hint, given, text in _parameters_of(model.type):
        reading = _parser_of(name, hint, given.default)
        if reading is None or name in _NOT_OFFERED:
            continue
        if given.default is None:
            text = text.replace("None is ", "if left out, ")
        else:
            text += f" [default: {given.default}]"
        panel = "Strength" if name == model.strength else _PANELS.get(name, "Model")
        shown = option(panel, escape(text), flag_of(name), **reading)
        kind: Any = bool | None if hint is bool else Any
        found.append(parameter(name, Annotated[kind, shown], None))
    return tuple(found)


def _parameters_of(
    kind: Any, prefix: str = ""
) -> Iterator[tuple[str, Any, inspect.Parameter, str]]:
    """Yield the names, types and descriptions of a constructor's parameters."""
    hints = typing.get_type_hints(kind.__init__)
    texts = dict(_described(inspect.getdoc(kind) or ""))
    for name, given in inspect.signature(kind).parameters.items():
        yield prefix + name, hints[name], given, texts.get(name, "")
        if (settings := settings_of(hints[name])) is not None:
            yield from _parameters_of(settings, f"{name}__")


def _parser_of(name: str, hint: Any, default: Any) -> dict[str, Any] | None:
    """Return an option's parser and metavar; None if text cannot give the parameter."""
    if name == "graph":
        return GRAPH
    if hint is bool:
        return {}
    if name == "kernel":
        return {"parser": _read_kernel, "metavar": "|".join(_OF_A_KERNEL)}
    if name == "random_state":
        hint = int
    parts = typing.get_args(hint) if typing.get_origin(hint) is not typing.Literal else (hint,)
    parts = parts or (hint,)
    words = [
        word
        for part in parts
        if typing.get_origin(part) is typing.Literal
        for word in typing.get_args(part)
    ]
    number = next((part for part in (float, int) if part in parts), None)
    if name == "loss":
        words = words or list(LOSSES)
    if not words and number is None:
        return None
    if type(None) in parts and default is not None:
        words.append(_NONE)
    metavar = ([] if number is None else ["NUMBER" if number is float else "INTEGER"]) + words
    return {"parser": reader(tuple(words), number), "metavar": "|".join(map(str, metavar))}


def _read_kernel(name: Any) -> Any:
    if name == "precomputed":
        raise typer.BadParameter(
            "'precomputed' takes a matrix of kernel values, which files of rows do not hold: use "
            f"{' or '.join(_OF_A_KERNEL)}, or fit in Python, which takes functions too."
        )
    if name not in _OF_A_KERNEL:
        listed = " or ".join(_OF_A_KERNEL)
        raise typer.BadParameter(f"{name!r} is not {listed}; leave it out for linear scores.")
    return name


def _described(docstring: str) -> Iterator[tuple[str, str]]:
    """Yield each parameter of a numpydoc docstring with the first sentence about it."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?:\n\n|\Z)", docstring, re.DOTALL | re.MULTILINE)
    entries = re.findall(r"^(\w+) :.*\n((?: +.*\n?)+)", section[1] if section else "", re.MULTILINE)
    for name, text in entries:
        sentence = re.split(r"(?<=\.)\s", " ".join(text.split()))[0]
        yield name, re.sub(r"``?|\\", "", sentence)


def _panel_index(shown: inspect.Parameter) -> int:
    """Return the index of a parameter's panel in the help; -1 for one without a panel."""
    described = typing.get_args(shown.annotation)[1:]
    panel = described[0].rich_help_panel if described else None
    return PANELS.index(panel) if panel in PANELS else -1
