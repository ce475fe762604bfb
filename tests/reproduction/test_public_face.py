"""The reproduction uses pairrank as a user does, and its files stay small."""

import ast
from pathlib import Path

import pytest

import pairrank

ROOM = Path(__file__).resolve().parents[2] / "reproduction"
FILES = sorted(ROOM.rglob("*.py"))
MODULES = set(pairrank._MODULES) | {"dask"}


def imports_of(path):
    """Yield (module, names) of every import of pairrank in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pairrank":
            yield node.module, [alias.name for alias in node.names]
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "pairrank":
                    yield alias.name, []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOM).as_posix())
def test_only_the_public_face_is_used(path):
    for module, names in imports_of(path):
        parts = module.split(".")
        assert len(parts) <= 2, f"{module} is inside a room"
        assert len(parts) == 1 or parts[1] in MODULES, f"{module} is not public"
        assert not [name for name in names if name.startswith("_")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOM).as_posix())
def test_files_are_small_and_have_a_caption(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 350
    assert lines[0].startswith('"""')
    assert lines[0].endswith('."""')
