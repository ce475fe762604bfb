"""What pairrank offers, and what docs/reference lists."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

from pairrank.exceptions import MissingLibraryError

PAGES = Path(__file__).resolve().parents[1] / "docs" / "reference"
FACES = [
    *("pairrank", "pairrank.dask.metrics"),
    *(f"pairrank.{name}" for name in ("metrics", "datasets", "export", "io", "plotting")),
    *(f"pairrank.{name}" for name in ("survival", "clicks", "ratings", "report", "boosting")),
    *(f"pairrank.{name}" for name in ("comparison", "exceptions", "losses", "torch", "dask")),
    "pairrank.model_selection",
]


def documented() -> dict[str, list[str]]:
    """Return the names that the reference lists, by module."""
    names: dict[str, list[str]] = {}
    for page in sorted(PAGES.glob("*.rst")):
        module, directive = "pairrank", ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if started := re.match(r"\.\. (\w+):: ?(\S*)", line):
                directive = started[1]
                module = started[2] if directive == "currentmodule" else module
            elif directive == "autosummary" and (listed := re.fullmatch(r"   (\w+)", line)):
                names.setdefault(module, []).append(listed[1])
    return names


def public_objects() -> list[str]:
    """Return the dotted names of the functions and classes that the faces offer."""
    found = set()
    for face in FACES:
        try:
            module = importlib.import_module(face)
        except (MissingLibraryError, ModuleNotFoundError):
            continue
        for name in set(getattr(module, "__all__", ())) | set(dir(module)):
            try:
                thing = getattr(module, name)
            except MissingLibraryError:
                continue
            code = inspect.isfunction(thing) or inspect.isclass(thing)
            if code and not hasattr(module, "__path__") and thing.__module__ != face:
                continue  # a single file offers its own functions, not those that it imports
            if code and not name.startswith("_") and thing.__module__.startswith("pairrank"):
                found.add(f"{thing.__module__}.{thing.__qualname__}")
    return sorted(found)
