"""The layers hold: imports go down, libraries stay in their rooms, files keep one purpose."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "pairrank"

LAYERS: dict[str, float] = {
    **dict.fromkeys(["exceptions", "_protocols", "_docstrings", "_extras"], 0),
    **dict.fromkeys(["compiled", "threads", "_arrays"], 1),
    **dict.fromkeys(["_validation", "preferences", "losses", "kernels", "design", "solvers"], 2),
    "pair_sums": 2.5,
    **dict.fromkeys(["objective", "metrics", "datasets", "io", "export", "rank_boost"], 3),
    "blocks": 3.5,
    "estimators": 4.0,
    "model_selection": 4.1,
    **dict.fromkeys(["survival", "clicks", "ratings", "plotting"], 4.3),
    "report": 4.35,
    **dict.fromkeys(["torch", "boosting", "dask"], 4.4),
    "comparison": 4.5,
    "cli": 5,
    **dict.fromkeys(["__init__", "__main__"], 6),
}
"""A room is a module or package right under pairrank; imports go to its layer or a lower one."""

STRANGERS = {
    "solvers": {"_validation", "preferences", "losses", "kernels", "design", "compiled"},
    "losses": {"solvers", "kernels", "design", "preferences", "compiled", "_validation"},
    "preferences": {"losses", "solvers", "kernels", "design"},
    "pair_sums": {"losses", "solvers", "kernels", "design"},
    "kernels": {"losses", "solvers", "preferences"},
    "_validation": {"losses", "solvers", "kernels"},
}
"""Rooms of one layer (or below) that must not know one another."""

SKLEARN_ROOMS = {"_validation", "kernels", "estimators", "model_selection", "blocks", "ratings"}
LEAVES = {"plotting", "cli", "dask", "torch", "boosting", "comparison"}
FRAMES = {"_validation", "io", "estimators", "cli", "ratings", "comparison", "dask"}
LIBRARIES: dict[str, set[str]] = {
    "sklearn": SKLEARN_ROOMS | LEAVES | {"threads", "export", "report"},
    "numba": {"compiled"},
    "llvmlite": {"compiled"},
    "torch": {"torch"},
    "dask": {"dask"},
    "distributed": {"dask"},
    "matplotlib": {"plotting"},
    "lightgbm": {"boosting", "comparison"},
    "xgboost": {"boosting", "comparison"},
    "onnx": {"export"},
    "jinja2": {"report", "comparison"},
    "typer": {"cli"},
    "rich": {"cli"},
    "joblib": {"boosting", "comparison", "threads"},
    "threadpoolctl": SKLEARN_ROOMS | {"threads"},
    **dict.fromkeys(["pandas", "polars"], FRAMES),
    "pyarrow": {"io"},
}
"""Libraries with a room of their own; the standard library, numpy and scipy are everywhere's."""

EVERYWHERE = {"numpy", "scipy", "pairrank"} | sys.stdlib_module_names
COMPILED_MAY_USE = {"numpy", "numba", "llvmlite", "pairrank"} | sys.stdlib_module_names

MAX_LINES = 400
MAX_CAPTION = 110


def room_of(module: str) -> str:
    """Return the part of a dotted name right under pairrank (`__init__` for pairrank itself)."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def is_type_checking(node: ast.AST) -> bool:
    if not isinstance(node, ast.If):
        return False
    test = node.test
    return "TYPE_CHECKING" in (getattr(test, "id", None), getattr(test, "attr", None))


def imports(module: str, tree: ast.Module, *, is_package: bool) -> list[tuple[str, str | None]]:
    """Return (module, name) of every import that can run: in functions and by `require` too."""
    found: list[tuple[str, str | None]] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if is_type_checking(node):
            waiting += node.orelse  # type: ignore[attr-defined]
            continue
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) == "require":
            found.append((ast.literal_eval(node.args[0]), None))
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                here = module.split(".")
                up = here[: len(here) - node.level + is_package]
                base = ".".join([*up, base] if base else up)
            found += [(base, alias.name) for alias in node.names]
        waiting += ast.iter_child_nodes(node)
    return found


@functools.cache
def read_modules(root: Path = SOURCE) -> dict[str, tuple[ast.Module, bool]]:
    """Return the syntax tree of every module by its dotted name, and whether it is a package."""
    modules = {}
    for path in sorted(root.rglob("*.py")):
        parts = list(path.relative_to(root.parent).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        modules[name] = (ast.parse(path.read_text(encoding="utf-8")), is_package)
    return modules


def import_graph(modules: dict[str, tuple[ast.Module, bool]]) -> dict[str, set[str]]:
    """Return what each module of pairrank imports of pairrank, submodules resolved."""
    graph: dict[str, set[str]] = {}
    for module, (tree, is_package) in modules.items():
        targets = set()
        for base, name in imports(module, tree, is_package=is_package):
            full = f"{base}.{name}" if name else base
            if base.split(".")[0] == "pairrank":
                targets.add(full if full in modules else base)
        graph[module] = targets - {module}
    return graph


def layer_violations(modules: dict[str, tuple[ast.Module, bool]]) -> list[str]:
    found = []
    for module, targets in import_graph(modules).items():
        room = room_of(module)
        if room not in LAYERS:
            found.append(f"{module}: the room {room!r} stands in no layer")
            continue
        for target in sorted(targets):
            other = room_of(target)
            if LAYERS.get(other, 99) > LAYERS[room]:
                found.append(f"{module} imports {target}, a layer above its own")
            elif other in STRANGERS.get(room, set()):
                found.append(f"{module} imports {target}: {room} must not know {other}")
    return found


def library_violations(modules: dict[str, tuple[ast.Module, bool]]) -> list[str]:
    found = []
    for module, (tree, is_package) in modules.items():
        room = room_of(module)
        for base, name in imports(module, tree, is_package=is_package):
            top = base.split(".")[0]
            allowed = LIBRARIES.get(top)
            special = base.startswith("scipy.special") or (base, name) == ("scipy", "special")
            if allowed is not None and room not in allowed:
                found.append(f"{module} imports {base}, which belongs in {sorted(allowed)}")
            elif allowed is None and top not in EVERYWHERE:
                found.append(f"{module} imports {base}, which is no declared library")
            elif room == "compiled" and top not in COMPILED_MAY_USE and not special:
                found.append(f"{module} imports {base}: sums take numba, numpy and scipy.special")
            elif (top, name) in {("numba", "njit"), ("numba", "jit")} and module[-4:] != "_jit":
                found.append(f"{module} imports numba.{name}: the decorator is in compiled/_jit")
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the import circles, each as the walk that closes it."""
    found, done = [], set()

    def walk(module: str, trail: list[str]) -> None:
        if module in trail:
            found.append([*trail[trail.index(module) :], module])
        elif module not in done:
            for target in sorted(graph.get(module, ())):
                walk(target, [*trail, module])
            done.add(module)

    for module in sorted(graph):
        walk(module, [])
    return found


def synthetic(**sources: str) -> dict[str, tuple[ast.Module, bool]]:
    """Return modules from their source; `a__b` is pairrank.a.b."""
    return {
        "pairrank." + name.replace("__", "."): (ast.parse(text), False)
        for name, text in sources.items()
    }


def test_imports_go_down_only_without_circles_and_libraries_stay_in_their_rooms():
    assert layer_violations(read_modules()) == []
    assert circles(import_graph(read_modules())) == []
    assert library_violations(read_modules()) == []


@pytest.mark.parametrize(
    ("room", "text", "complaint"),
    [
        ("compiled__x", "def f():\n    from ..preferences import Levels", "a layer above"),
        ("metrics", "import pairrank", "a layer above"),
        ("solvers__tron", "import pairrank.preferences.levels", "must not know"),
        ("cellar", "import numpy", "stands in no layer"),
        ("solvers__tron", "def f():\n    import sklearn", "which belongs in"),
        ("estimators__svm", 'torch = require("torch", "torch", "losses")', "which belongs in"),
        ("objective", "import requests", "no declared library"),
        ("compiled__hinge", "from scipy import sparse", "sums take numba"),
        ("compiled__hinge", "from numba import njit", "in compiled/_jit"),
    ],
)
def test_a_wrong_import_is_found(room, text, complaint):
    modules = synthetic(**{room: text})
    (found,) = [*layer_violations(modules), *library_violations(modules)]
    assert complaint in found


def test_imports_for_types_alone_are_free():
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sklearn, pairrank.cli"
    assert layer_violations(synthetic(metrics=text)) == []
    assert library_violations(synthetic(metrics=text)) == []


def test_a_circle_is_found():
    modules = synthetic(io__a="from pairrank.io import b", io__b="from .a import thing")
    assert circles(import_graph(modules)) == [["pairrank.io.a", "pairrank.io.b", "pairrank.io.a"]]


def test_a_file_has_a_caption_and_one_purpose():
    for path in (*SOURCE.rglob("*.py"), *(SOURCE.parents[1] / "reproduction").rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines() or [""]
        assert len(lines) <= MAX_LINES, f"{path} has outgrown one purpose: split it"
        assert lines[0].startswith('"""'), f"{path}: the first line is its caption, a docstring"
        assert 12 <= len(lines[0].strip('" ')) <= MAX_CAPTION, f"{path}: a caption of one line"


HEAVY = [
    *["numba", "sklearn.model_selection", "sklearn.linear_model", "matplotlib", "pandas"],
    *["polars", "pyarrow", "typer", "rich", "clarabel", "jinja2"],
]

USES = {
    "pass": [*HEAVY, "dask", "lightgbm", "xgboost", "torch"],
    "import pairrank.export": ["sklearn.feature_selection"],
    "pairrank.RankSVM": ["dask", "torch"],
    "pairrank.boosting.AllPairsObjective()([0, 1], [0.0, 0.0])": ["lightgbm", "xgboost"],
    "import pairrank.cli; pairrank.cli.main()": ["torch"],
}
"""What a user does, one after the other, and what must not be loaded after that."""


@pytest.mark.parametrize("_", ["plain", pytest.param("extras", marks=pytest.mark.extras)])
def test_nothing_is_loaded_before_it_is_needed(_):
    code = f"""
import contextlib, io, sys, sklearn.base
before, sys.argv = set(sys.modules), ["pairrank", "train", "--help"]
import pairrank
for use, absent in {USES!r}.items():
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        exec(use)
    assert not set(absent) & (set(sys.modules) - before), use
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stderr == ""
