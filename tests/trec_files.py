"""TREC runs and qrels as dicts, read as their definition says."""

from __future__ import annotations

import gzip
from collections import defaultdict
from pathlib import Path
from typing import Any


def values_of(text: bytes, place: int, kind: type) -> dict[str, dict[str, Any]]:
    """Return `{query: {document: value}}` for lines whose value is the cell of that place."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for line in text.decode().split("\n")[:-1]:
        cells = line.split()
        assert cells[2] not in found[cells[0]]
        found[cells[0]][cells[2]] = kind(cells[place])
    return dict(found)


def run_of(text: bytes) -> dict[str, dict[str, float]]:
    """Return the scores of a run."""
    return values_of(text, 4, float)


def qrels_of(text: bytes) -> dict[str, dict[str, int]]:
    """Return the grades of qrels."""
    return values_of(text, 3, int)


def content_of(path: Path) -> bytes:
    """Return the content of a file, decompressed if its name ends in .gz."""
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data
