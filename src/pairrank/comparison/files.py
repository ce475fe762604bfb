"""The files of a comparison, by the ends of their names."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from pairrank.comparison.page import page_of
from pairrank.comparison.tables import latex, markdown
from pairrank.exceptions import PairrankError
from pairrank.io._atomic import atomic_write
from pairrank.io.columns import write_columns

if TYPE_CHECKING:
    from pairrank.comparison.results import ComparisonResults

TABLES = ("scores", "queries", "summary", "differences")
"""The tables of results: attributes that hold columns of arrays."""

TABLE_FILES = (".csv", ".parquet")


def record_of(results: ComparisonResults) -> dict[str, Any]:
    """Return everything as lists, numbers and text; NaN and infinity become None."""
    tables = {
        name: {key: _listed(values) for key, values in getattr(results, name).items()}
        for name in TABLES
    }
    return {
        "models": results.models,
        "metrics": results.metrics,
        "best": results.best_,
        "interrupted": results.interrupted,
        "settings": results.settings,
        **tables,
    }


def _listed(values: Any) -> list[Any]:
    return [
        None if isinstance(each, float) and not math.isfinite(each) else each
        for each in values.tolist()
    ]


def _json(results: ComparisonResults) -> str:
    return json.dumps(record_of(results), allow_nan=False, default=str, indent=1) + "\n"


TEXT_FILES: dict[str, Callable[[ComparisonResults], str]] = {
    ".html": page_of,
    ".md": markdown,
    ".tex": latex,
    ".json": _json,
}
"""Suffix -> the text of the file."""


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the end of a file's name; raise a PairrankError if it is not known."""
    suffix, known = Path(path).suffix.lower(), (*TEXT_FILES, *TABLE_FILES)
    if suffix not in known:
        raise PairrankError(
            f"{os.fspath(path)}: a comparison is written to a file that ends in {', '.join(known)}"
        )
    return suffix


def write_results(
    results: ComparisonResults, path: str | os.PathLike[str], table: dict[str, NDArray[Any]]
) -> None:
    """Write the results, or a table of them, in the format of the file's name."""
    suffix = suffix_of(path)
    if suffix in TABLE_FILES:
        write_columns(path, table)
        return
    text = TEXT_FILES[suffix](results)
    with atomic_write(path, "w") as file:
        file.write(text)
