"""Tests in this folder, and the reproduction, use documented names and the command line only.

What is public is read from docs/reference, so these tests outlive any change inside.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import reference

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
FILES = sorted(set(Path(__file__).parent.rglob("*.py")) - {Path(__file__)})
FILES += sorted((ROOT / "reproduction").rglob("*.py"))
ENTRY = {"pairrank.cli": {"main"}}
"""Public, and not in the reference: what the command calls."""


def public_names() -> dict[str, set[str]]:
    """Return the names that the reference lists, by module, modules too."""
    names: dict[str, set[str]] = defaultdict(set, {k: set(v) for k, v in ENTRY.items()})
    for module, listed in reference.documented().items():
        names[module].update(listed)
    for module in list(names):
        parent, _, name = module.rpartition(".")
        if parent:
            names[parent].add(name)
    return names


PUBLIC = public_names()


def is_public(dotted: str) -> bool:
    """Tell whether a dotted name is documented, or an attribute of what is."""
    module, *rest = dotted.split(".")
    for name in rest:
        if module not in PUBLIC:
            return True
        if name not in PUBLIC[module] and not (name.startswith("__") and name.endswith("__")):
            return False
        module = f"{module}.{name}"
    return True


def chain(node: ast.AST) -> str:
    """Return `a.b.c` of an attribute of an attribute of a name; "" for anything else."""
    if isinstance(node, ast.Attribute) and (before := chain(node.value)):
        return f"{before}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def used(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every name of pairrank in a file, with its line: imports, attributes, texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield node.lineno, chain(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            for name in re.findall(r"(?:from|import) +(pairrank(?:\.\w+)*)", node.value):
                yield node.lineno, name
            if re.fullmatch(r"pairrank(\.\w+)+", node.value):
                yield node.lineno, node.value


CONVENTIONS = {"_replace", "_asdict", "_fields", "_make", "_exit"}
"""Public by the standard library's own documentation."""


def is_private(name: str) -> bool:
    """Tell whether a name is private: `_repr_html_` and the like are the conventions of others."""
    return name.startswith("_") and not name.endswith("_") and name not in CONVENTIONS


def private_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield every private attribute that is asked of something else than the test's own class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if chain(node.value) not in ("self", "cls"):
                yield node.lineno, node.attr
        elif isinstance(node, ast.Call) and chain(node.func).endswith(("attr", "attrgetter")):
            for given in node.args:
                name = given.value if isinstance(given, ast.Constant) else None
                if isinstance(name, str) and is_private(name):
                    yield node.lineno, name


def helpers_of(tree: ast.AST) -> Iterator[Path]:
    """Yield the files of tests/ that a file imports."""
    for node in ast.walk(tree):
        modules = [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        for module in modules:
            place = TESTS.joinpath(*str(module).split("."))
            files = place.with_suffix(".py"), place / "__init__.py"
            yield from (file for file in files if file.is_file())


def faults_of(path: Path, seen: set[Path]) -> Iterator[str]:
    """Yield what a file, or a helper that it imports, uses of the inside of pairrank."""
    if path in seen:
        return
    seen.add(path)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    place = path.relative_to(ROOT).as_posix()
    for line, name in used(tree):
        if name.split(".")[0] == "pairrank" and not is_public(name):
            yield f"{place}:{line}: {name}"
    for line, name in private_names(tree):
        yield f"{place}:{line}: {name}"
    for helper in helpers_of(tree):
        yield from faults_of(helper, seen)


def test_only_the_public_face_is_used():
    seen: set[Path] = set()
    assert not sorted({fault for path in FILES for fault in faults_of(path, seen)})


@pytest.mark.parametrize(
    "line",
    [
        "from pairrank.solvers import tron",
        "import pairrank; pairrank.objective.PairObjective",
        "model._fit_rows(X)",
        "text = 'from pairrank.compiled import _jit'",
        "monkeypatch.setattr('pairrank.threads.pool', None)",
    ],
)
def test_the_inside_is_noticed(line):
    tree = ast.parse(line)
    inside = [name for _, name in used(tree) if name.startswith("pairrank") and not is_public(name)]
    assert inside or list(private_names(tree))
