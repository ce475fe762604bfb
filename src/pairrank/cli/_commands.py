"""Commands from functions: fields of groups become options, and a model's options its class's."""

from __future__ import annotations

import argparse
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from functools import cache
from pkgutil import resolve_name
from typing import Any

import typer
from rich.markup import escape
from typer.core import TyperCommand

from pairrank._docstrings import parameters_of
from pairrank.cli._errors import UsageError
from pairrank.cli._models import class_of, flag_of, models_where, settings_of
from pairrank.cli._options import GRAPH, PANELS, choice, option, parameter, reader
from pairrank.estimators import MODELS
from pairrank.losses import LOSSES

_NONE = "none"
_RATINGS = "pairrank.ratings:BradleyTerry"
_NOT_OFFERED = (
    *("warm_start", "verbose", "validation_metric", "pairs"),
    *("kernel__function", "kernel__random_state", "solver__average"),
)
"""Parameters without an option: no earlier fit exists, progress is always shown, --metric judges
validation rows, --pairs is a file of comparisons, --kernel is the kernel's function, --seed seeds
its landmarks, and stochastic steps are always averaged."""

_PANELS = {
    **dict.fromkeys(("alpha", "regularization", "reduction"), "Strength"),
    **dict.fromkeys(("patience", "validation_fraction", "early_stopping"), "Validation"),
    **dict.fromkeys(("batch_size", "learning_rate"), "Solver"),
    **dict.fromkeys(("solver", "pair_sum", "eps", "tol", "max_iter", "random_state"), "Solver"),
    **dict.fromkeys(("solver__learning_rate", "solver__eta0"), "Solver"),
    **dict.fromkeys(("scale", "anchor", "level"), "Output"),
}  # fmt: skip
"""The panel of a parameter in the help, if not "Model"."""


def spread(function: Callable[..., Any], kind: Any = None) -> Callable[..., Any]:
    """Return a command's function with one option per parameter.

    `columns` becomes the options in its annotation, and `**params` those of a model's class. A
    parameter of the function itself replaces an option of the same name.
    """
    own = inspect.signature(function, eval_str=True).parameters
    offered = typing.get_args(own["columns"].annotation)[1] if "columns" in own else ()
    columns = [each for each in offered if each.name not in own]
    shown = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, each in own.items()
        if name != "columns" and each.kind is not each.VAR_KEYWORD
    ]
    if kind is not None:
        shown += options_of(kind)

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
    """A command with the options of the model in --model, or of ratings."""

    def make_context(
        self, info_name: Any, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the arguments with the model's own options."""
        callback: Any = self.callback
        function = callback.function
        choice = inspect.signature(function).parameters.get("model")
        flag = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        flag.add_argument("--model", nargs="?")
        name = "" if choice is None else flag.parse_known_args(args)[0].model or choice.default
        if name and name not in MODELS:
            return super().make_context(info_name, ["--model", name, *args], parent, **extra)
        app = typer.Typer(add_completion=False)
        app.command()(spread(function, resolve_name(MODELS.get(name, _RATINGS))))
        command = typer.main.get_command(app)
        try:
            return command.make_context(info_name, args, parent, **extra)
        except UsageError as error:
            if not (name and hasattr(error, "possibilities")):
                raise
            raise UsageError(_unknown(error, name), error.ctx) from None


def _unknown(error: Any, model: str) -> str:
    """Return the message for an option that a model does not have."""
    flag = error.option_name
    if models_where(lambda kind: flag == flag_of(kind._strength)):
        return f"Model {model} has no option {flag}; use {flag_of(class_of(model)._strength)}."
    known = models_where(lambda kind: flag in {flag_of(each.name) for each in options_of(kind)})
    if known and model not in known:
        return f"Model {model} has no option {flag}; it is an option of {', '.join(known)}."
    return str(error.format_message())


@cache
def options_of(kind: Any) -> tuple[inspect.Parameter, ...]:
    """Return the parameters of a class's constructor as options.

    Types, choices and defaults come from its signature, help from its docstring. The parameters of
    a parameter that is an object follow it. Those whose values cannot be written as text are left
    out.
    """
    found: list[inspect.Parameter] = []
    for name, hint, given, text in _parameters_of(kind):
        reading = _parser_of(name, hint, given.default)
        if reading is None or name in _NOT_OFFERED:
            continue
        if given.default is None:
            text = text.replace("None is ", "if left out, ")
        else:
            text += f" [default: {given.default}]"
        is_strength = name == getattr(kind, "_strength", None)
        panel = "Strength" if is_strength else _PANELS.get(name, "Model")
        shown = option(panel, escape(text), flag_of(name), **reading)
        found.append(parameter(name, bool | None if hint is bool else Any, shown))
    return tuple(found)


def _parameters_of(
    kind: Any, prefix: str = ""
) -> Iterator[tuple[str, Any, inspect.Parameter, str]]:
    """Yield the names, types and descriptions of a constructor's parameters."""
    hints, texts = typing.get_type_hints(kind.__init__), parameters_of(kind)
    for name, given in inspect.signature(kind).parameters.items():
        text = " ".join(texts.get(name, "").partition("\n")[2].split())
        sentence = re.sub(r"``?|\\", "", re.split(r"(?<=\.)\s", text)[0])
        yield prefix + name, hints[name], given, sentence
        if (settings := settings_of(hints[name])) is not None:
            yield from _parameters_of(settings, f"{name}__")


def _parser_of(name: str, hint: Any, default: Any) -> dict[str, Any] | None:
    """Return an option's parser and metavar; None if text cannot give the parameter."""
    if name in _READERS:
        return _READERS[name]
    if hint is bool:
        return {}
    is_union = typing.get_origin(hint) not in (None, typing.Literal)
    parts = typing.get_args(hint) if is_union else (int if name == "random_state" else hint,)
    literals = (part for part in parts if typing.get_origin(part) is typing.Literal)
    words = [word for part in literals for word in typing.get_args(part)]
    number = next((part for part in (float, int) if part in parts), None)
    if name == "loss":
        words = words or list(LOSSES)
    if not words and number is None:
        return None
    if type(None) in parts and default is not None:
        words.append(_NONE)
    metavar = ([] if number is None else ["NUMBER" if number is float else "INTEGER"]) + words
    return {"parser": reader(tuple(words), number), "metavar": "|".join(map(str, metavar))}


def _read_anchor(text: Any) -> Any:
    name, _, value = str(text).rpartition("=")
    try:
        return {name.strip(): float(value)} if name else float(value)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not NUMBER or NAME=NUMBER.") from None


_READERS: dict[str, dict[str, Any]] = {
    "graph": GRAPH,
    "kernel": choice("rbf", "poly"),
    "anchor": {"parser": _read_anchor, "metavar": "NUMBER|NAME=NUMBER"},
}
"""Parsers of parameters whose types do not tell how text is read."""


def _panel_index(shown: inspect.Parameter) -> int:
    """Return the index of a parameter's panel in the help; -1 for one without a panel."""
    described = typing.get_args(shown.annotation)[1:]
    panel = described[0].rich_help_panel if described else None
    return PANELS.index(panel) if panel in PANELS else -1
