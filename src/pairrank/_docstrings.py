"""Docstrings completed from shared descriptions, so that each is written once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

_Documented = TypeVar("_Documented", bound=Callable[..., Any])


def entries(section: str) -> dict[str, str]:
    """Return the entries of a numpydoc section by name; names joined by commas share one."""
    found = {}
    for entry in re.split(r"\n(?=\S)", section.strip("\n")):
        for name in entry.partition("\n")[0].partition(" :")[0].split(", "):
            found[name] = entry
    return found


def sections(doc: str) -> list[str]:
    """Cut a numpydoc docstring before each of its section titles."""
    return re.split(r"\n\n(?=[A-Z][a-z]+\n-{4,}(?:\n|$))", inspect.cleandoc(doc))


def completed(doc: str, parameters: list[str], known: dict[str, str]) -> str:
    """Return a numpydoc docstring with its missing descriptions taken from `known`.

    "Parameters" gets an entry for each of `parameters`, in their order. In "Attributes", "Returns",
    "Raises" and "Warns", a line of bare names becomes their entries.
    """
    parts = sections(doc)
    for at, part in enumerate(parts):
        title, _, rest = part.partition("\n")
        rule, _, body = rest.partition("\n")
        own = entries(body)
        if title == "Parameters":
            wanted = [own.get(name) or known.get(name) for name in parameters]
        elif title in ("Attributes", "Returns", "Raises", "Warns"):
            wanted = [
                entry if " :" in entry or "\n" in entry else known.get(name, entry)
                for name, entry in own.items()
            ]
        else:
            continue
        parts[at] = "\n".join([title, rule, *dict.fromkeys(filter(None, wanted))])
    return "\n\n".join(parts)


def described_by(known: dict[str, str]) -> Callable[[_Documented], _Documented]:
    """Return a decorator that completes the docstring of a function or class from `known`."""

    def complete(documented: _Documented) -> _Documented:
        parameters = list(inspect.signature(documented).parameters)
        documented.__doc__ = completed(documented.__doc__ or "", parameters, known)
        return documented

    return complete
