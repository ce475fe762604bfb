"""Docstrings completed from shared descriptions, so that each is written once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_Documented = TypeVar("_Documented", bound=Callable[..., Any])
_ORDER = (
    *("Parameters", "Attributes", "Returns", "Raises", "Warns"),
    *("See Also", "Notes", "References"),
)


def entries(section: str) -> dict[str, str]:
    """Return the entries of a numpydoc section by name; names joined by commas share one."""
    found = {}
    for entry in filter(None, re.split(r"\n+(?=\S)", section.strip("\n"))):
        for name in entry.partition("\n")[0].partition(" :")[0].split(", "):
            found[name] = entry
    return found


def sections(doc: str) -> tuple[str, dict[str, str]]:
    """Return the text before the first section of a numpydoc docstring, and sections by title."""
    intro, *parts = re.split(r"\n\n(?=[A-Z][a-z]+(?: Also)?\n-{4,}(?:\n|$))", inspect.cleandoc(doc))
    titled = (part.split("\n", 2) for part in parts)
    return intro, {title: "".join(body) for title, _, *body in titled}


def completed(doc: str, parameters: list[str], known: dict[str, str]) -> str:
    """Return a numpydoc docstring with its missing descriptions taken from `known`.

    "Parameters" gets an entry for each of `parameters`, in their order. In "Attributes", a line
    of bare names becomes their entries. Sections that are missing are added if `known` has them.
    """
    intro, own = sections(doc)
    found = {title: known[title] for title in _ORDER if title in known} | own
    described = known | entries(own.get("Parameters", ""))
    attributes = entries(known.get("Attributes", "")) | entries(own.get("Attributes", ""))
    wanted: dict[str, list[Any]] = {
        "Parameters": [described.get(name) for name in parameters],
        "Attributes": [e if " :" in e else known[name] for name, e in attributes.items()],
    }
    found |= {title: "\n".join(dict.fromkeys(filter(None, each))) for title, each in wanted.items()}
    last = len(_ORDER)
    titles = sorted(found, key=lambda title: _ORDER.index(title) if title in _ORDER else last)
    parts = (f"{each}\n{'-' * len(each)}\n{found[each]}" for each in titles if found[each])
    return "\n\n".join([intro, *parts])


def parameters_of(documented: Any) -> dict[str, str]:
    """Return the descriptions of the parameters of a class or function, by name."""
    return entries(sections(documented.__doc__ or "")[1].get("Parameters", ""))


def described_by(*known: dict[str, str]) -> Callable[[_Documented], _Documented]:
    """Return a decorator that completes the docstring of a function or class.

    Later descriptions replace earlier ones; those in the docstring replace all.
    """
    together: dict[str, str] = {}
    for each in known:
        together |= each

    def complete(documented: _Documented) -> _Documented:
        every = inspect.signature(documented).parameters.values()
        parameters = [
            f"**{each.name}" if each.kind is each.VAR_KEYWORD else each.name for each in every
        ]
        documented.__doc__ = completed(documented.__doc__ or "", parameters, together)
        return documented

    return complete


def keywords_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function that are passed by keyword only, by name."""
    parameters = inspect.signature(function).parameters
    return {name: each for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}


def showing(keywords: Iterable[inspect.Parameter]) -> Callable[[_Documented], _Documented]:
    """Return a decorator that shows keywords in a signature in place of its ``**`` parameter."""

    def show(function: _Documented) -> _Documented:
        signature = inspect.signature(function, follow_wrapped=False)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        names = {each.name for each in own}
        added = [each for each in keywords if each.name not in names]
        shown = signature.replace(parameters=[*own, *added])
        function.__signature__ = shown  # type: ignore[attr-defined]
        return function

    return show
