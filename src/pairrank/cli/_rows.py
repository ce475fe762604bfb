"""Rows in and files out: one way from a command's options to what it works on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import typer

from pairrank._validation import check_weights
from pairrank.exceptions import PairrankError

if TYPE_CHECKING:
    from pairrank.io import Rows
    from pairrank.preferences import Levels


ROLE_NAMES = ("qid", "weight")
"""Columns of these names are no features: `convert` writes queries and weights to them."""


class Columns(NamedTuple):
    """How a data file is to be read: its format and the names of its columns."""

    label: str | None = "label"
    qid: str | None = None
    weight: str | None = None
    drop: Sequence[str] = ()
    format: str = "auto"
    dtype: str = "float64"


def load_rows(
    source: str,
    columns: Columns,
    *,
    n_features: int | None = None,
    features: Sequence[str] | None = None,
) -> Rows:
    """Return the rows of a file or of standard input.

    Parameters
    ----------
    source : str
        A path, or "-" for standard input.
    columns : Columns
        Format, special columns and dtype.
    n_features : int, optional
        The features that a model knows: svmlight rows are padded to them, more are refused.
    features : sequence of str, optional
        Their names: the columns of CSV and Parquet that are taken, in this order.

    Raises
    ------
    PairrankError
        If the file cannot be read as rows, or a column `qid` or `weight` would be a feature.
    """
    from pairrank.io import read_rows

    if source != "-" and not Path(source).exists():
        raise PairrankError(f"cannot read {source!r}: there is no such file; check the path")
    rows = read_rows(
        source,
        format=columns.format,
        label=columns.label,
        qid=columns.qid,
        weight=columns.weight,
        drop=() if features is not None else columns.drop,
        features=features,
        n_features=n_features,
        dtype=np.dtype(columns.dtype),
    )
    with named(source):
        if features is None:
            refuse_roles_as_features(rows)
        check_weights(rows.weight, rows.X.shape[0])
    return rows


def refuse_roles_as_features(rows: Rows) -> None:
    """Refuse columns named as a role that none was given to.

    Raises
    ------
    PairrankError
        That names the column and the options.
    """
    for role in ROLE_NAMES:
        if role in (rows.feature_names or ()):
            raise PairrankError(
                f"column {role!r} would be a feature; pass --{role} {role} or --drop {role} "
                "(rename it if it is a feature)"
            )


@contextmanager
def named(source: str) -> Iterator[None]:
    """Let an error about rows say which file they are from."""
    try:
        yield
    except PairrankError as error:
        raise type(error)(f"{source}: {error}") from None


def check_inputs(*sources: str | None) -> None:
    """Refuse standard input in two places, as wrong usage: the second would find it drained."""
    if sources.count("-") > 1:
        raise typer.BadParameter("standard input (-) holds one input, not two: name a file.")


def check_output(path: str) -> None:
    """Refuse an output that cannot be written, before any work is done for it.

    Raises
    ------
    PairrankError
        If the path is a folder, or stands in one that is not there or may not be written.
    """
    if path == "-":
        return
    if not path:
        raise PairrankError("the output's name is empty; name a file, or - for standard output")
    target = Path(path)
    if target.is_dir():
        raise PairrankError(f"{path}: is a folder; name a file to write")
    if not target.parent.is_dir():
        raise PairrankError(f"{path}: its folder does not exist; make it, or name another")
    if not os.access(target.parent, os.W_OK):
        raise PairrankError(f"{path}: its folder may not be written; name another")


def levels_of(rows: Rows, graph: Any = "full") -> Levels:
    """Return who is preferred to whom among the rows."""
    from pairrank.preferences import Levels

    if rows.y is None:
        raise PairrankError("the rows have no labels; name their column with --label")
    return Levels.build(rows.y, rows.qid, graph=graph, sample_weight=rows.weight)


def require_pairs(levels: Levels, source: str) -> None:
    """Refuse rows none of which is preferred to another, before any work is done on them.

    Raises
    ------
    NoPairsError
        That names the file.
    """
    with named(source):
        levels.require_pairs()


def facts_of(rows: Rows, levels: Levels) -> dict[str, Any]:
    """Return the counts that describe rows: rows, features, queries, levels, pairs."""
    return {
        "rows": rows.X.shape[0],
        "features": rows.X.shape[1],
        "queries": levels.n_queries,
        "levels": int(levels.labels.size),
        "n_pairs": int(levels.n_pairs),
    }
