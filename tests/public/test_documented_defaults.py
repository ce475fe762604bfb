"""Every default is the one that its docstring names."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re

import pytest

import pairrank

MODULES = [
    "pairrank",
    "pairrank.datasets",
    "pairrank.io",
    "pairrank.losses",
    "pairrank.metrics",
    "pairrank.model_selection",
    "pairrank.report",
    "pairrank.survival",
]
OPTIONAL = {"pairrank.torch": "torch", "pairrank.dask": "distributed"}
"""Modules of large libraries, and what they need."""


def stated(function: object) -> dict[str, object]:
    """Return the defaults that a docstring names, by parameter."""
    found = {}
    pattern = r"^(\w+(?:, \w+)*) : .*\bdefault:? (.+)$"
    for names, default in re.findall(pattern, inspect.getdoc(function) or "", re.MULTILINE):
        value: object = default
        try:
            value = ast.literal_eval(default)
        except (SyntaxError, ValueError):
            continue
        found.update(dict.fromkeys(names.split(", "), value))
    return found


def documented():
    there = [name for name, needs in OPTIONAL.items() if importlib.util.find_spec(needs)]
    for module in map(importlib.import_module, [*MODULES, *there]):
        for name in (name for name in dir(module) if not name.startswith("_")):
            function = getattr(module, name)
            if callable(function) and stated(function):
                yield pytest.param(function, id=f"{module.__name__}.{name}")


@pytest.mark.parametrize("function", list(documented()))
def test_a_default_is_the_documented_one(function):
    parameters = inspect.signature(function).parameters
    for name, default in stated(function).items():
        if name in parameters:
            assert parameters[name].default == default, name


def test_most_parameters_of_rankers_name_their_default():
    assert stated(pairrank.RankSVM).items() >= {"C": 0.1, "tol": 1e-3, "graph": "full"}.items()
