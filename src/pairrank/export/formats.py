"""The table of export formats: their writers, and how what reads them computes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from pairrank._validation import check_choice
from pairrank.exceptions import PairrankError
from pairrank.export import engines, onnx_graph, programs
from pairrank.export.arithmetic import DOUBLE, MIXED, SINGLE, Arithmetic
from pairrank.export.linear import LinearModel
from pairrank.io._streams import COMPRESSED_SUFFIXES


class Format(NamedTuple):
    """A format of exported models.

    Attributes
    ----------
    write : callable
        From a LinearModel to the content of the file.
    arithmetic : Arithmetic
        How the scores are computed from the file.
    suffix : str
        Of file names; formats may share it.
    has_names : bool
        Whether features have names in the file.
    has_title : bool
        Whether the model has a name in the file.
    """

    write: Callable[[LinearModel], str | bytes]
    arithmetic: Arithmetic
    suffix: str
    has_names: bool = True
    has_title: bool = False


_PLUGIN = Format(engines.learning_to_rank_plugin, SINGLE, ".json", has_title=True)

FORMATS: dict[str, Format] = {
    "elasticsearch": _PLUGIN,
    "opensearch": _PLUGIN,
    "solr": Format(engines.solr, SINGLE, ".json", has_title=True),
    "ranklib": Format(engines.ranklib, MIXED, ".ranklib", has_names=False),
    "onnx": Format(onnx_graph.as_onnx, SINGLE._replace(adds_offset=True), ".onnx"),
    "json": Format(programs.as_json, DOUBLE, ".json"),
    "csv": Format(programs.as_csv, DOUBLE._replace(adds_offset=False), ".csv"),
    "sql": Format(programs.as_sql, DOUBLE, ".sql"),
    "python": Format(programs.as_python, DOUBLE, ".py"),
}
"""Name -> format: a new one is a line here and a writer."""


def format_named(name: str | None, path: object) -> str:
    """Return the name of a format, by a file's suffix if the name is None.

    Raises a PairrankError for an unknown name, and if the suffix leaves a choice.
    """
    if name is not None:
        check_choice(name, "format", tuple(FORMATS))
        return name
    shown = os.fspath(path) if isinstance(path, str | os.PathLike) else "a file object"
    stem = str(shown).lower()
    for suffix in COMPRESSED_SUFFIXES:
        stem = stem.removesuffix(suffix)
    found = [name for name, each in FORMATS.items() if stem.endswith(each.suffix)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(found or FORMATS)
    raise PairrankError(f"{shown}: the name does not tell the format: give format, one of {listed}")
