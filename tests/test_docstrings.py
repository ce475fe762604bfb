"""Docstrings: every example runs, and the public face documents each of its parameters."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from numpydoc.validate import validate
from sklearn.base import BaseEstimator

import pairrank
from reference import public_objects

SOURCE = Path(pairrank.__file__).parent
OPTIONAL = {"plotting": "matplotlib", "page": "jinja2", "torch": "torch.nn", "dask": "distributed"}
"""The library that a module or the modules of a package need, by the name of either."""
ASKED = {"GL06", "GL07", "GL08", "PR01", "PR02", "PR03", "SS03", "SS06", "RT01"}


def module_names() -> list[str]:
    names = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = ["pairrank", *path.relative_to(SOURCE).with_suffix("").parts]
        names.append(".".join(parts).removesuffix(".__init__"))
    return names


def marked(names: list[str]) -> list[Any]:
    """Mark what needs a large optional library, so that make test-extras runs it."""
    return [
        pytest.param(name, marks=pytest.mark.extras)
        if ".torch" in name or ".dask" in name
        else name
        for name in names
    ]


@pytest.mark.parametrize("name", marked(module_names()))
def test_examples_run(name):
    for part in OPTIONAL.keys() & name.split("."):
        pytest.importorskip(OPTIONAL[part])
    module = importlib.import_module(name)
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, optionflags=options).failed == 0
    for made in vars(module).values():  # by decorators of other modules: testmod leaves them out
        if getattr(made, "__module__", "") == name and hasattr(made, "__wrapped__"):
            found = doctest.DocTestFinder().find(made, globs=vars(module).copy(), module=False)
            runner = doctest.DocTestRunner(optionflags=options)
            assert [runner.run(each).failed for each in found] == [0] * len(found)


ALL = public_objects()
INSIDE = ("pairrank.losses", "pairrank._")
"""Losses state their parameters with their formula."""


@pytest.mark.parametrize("name", marked([each for each in ALL if not each.startswith(INSIDE)]))
def test_the_public_face_is_documented(name):
    module, _, attribute = name.rpartition(".")
    thing = getattr(importlib.import_module(module), attribute)
    asked = ASKED - {"PR01"} if is_record(thing) else ASKED
    complaints = [f"{code}: {text}" for code, text in validate(name)["errors"] if code in asked]
    if is_record(thing) and not issubclass(thing, BaseException):
        document = thing.__doc__.partition("Attributes\n")[2]
        complaints += [field for field in thing.__annotations__ if field not in document]
    assert complaints == []


def stated_defaults(thing: object) -> dict[str, object]:
    """Return the defaults that a docstring names, by parameter."""
    found = {}
    pattern = r"^(\w+(?:, \w+)*) : .*\bdefault:? (.+)$"
    for names, default in re.findall(pattern, inspect.getdoc(thing) or "", re.MULTILINE):
        with contextlib.suppress(SyntaxError, ValueError):
            found.update(dict.fromkeys(names.split(", "), ast.literal_eval(default)))
    return found


@pytest.mark.parametrize("name", marked(ALL))
def test_a_default_is_the_documented_one(name):
    module, _, attribute = name.rpartition(".")
    thing = getattr(importlib.import_module(module), attribute)
    stated = stated_defaults(thing)
    parameters = inspect.signature(thing).parameters if stated else {}
    defaults = {name: parameters[name].default for name in stated if name in parameters}
    assert defaults == {name: stated[name] for name in defaults}


def test_defaults_are_read_from_docstrings():
    stated = stated_defaults(pairrank.RankSVM)
    assert stated.items() >= {"C": 0.1, "tol": 1e-3, "graph": "full"}.items()


def is_record(thing: object) -> bool:
    """Tell exceptions, named tuples and dataclasses: they document attributes, not parameters."""
    if not inspect.isclass(thing) or issubclass(thing, BaseEstimator):
        return False
    return issubclass(thing, (BaseException, tuple)) or dataclasses.is_dataclass(thing)
