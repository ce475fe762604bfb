"""Rows in and files out: one way from a command's options to what it works on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from pairrank.cli._graphs import check_order
from pairrank.exceptions import NoPairsError, PairrankError
from pairrank.preferences import Differences, Levels, Pairs, Preferences

if TYPE_CHECKING:
    from pairrank.io import Rows

ROLE_NAMES = ("qid", "weight")
"""Columns of these names are no features: `convert` writes queries and weights to them."""


class Columns(NamedTuple):
    """How a data file is to be read: its format and the names of its columns."""

    label: str | None = "label"
    qid: str | None = None
    weight: str | None = None
    drop: Sequence[str] = ()
    ignore: Sequence[str] = ()
    format: str = "auto"
    dtype: str = "float64"


def load_rows(
    source: str,
    columns: Columns,
    *,
    n_features: int | None = None,
    features: Sequence[str] | None = None,
    pairs: str | None = None,
) -> Rows:
    """Return the rows of a file or of standard input, with their labels or comparisons as `y`.

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
    pairs : str, optional
        A file of comparisons of the rows; their labels, if any, are then not looked at.

    Raises
    ------
    PairrankError
        If a file cannot be read as rows or as comparisons of them, or a column `qid` or `weight`
        would be a feature.
    """
    from pairrank._validation import check_weights
    from pairrank.io import read_pairs, read_rows

    for path in (source, pairs):
        if path not in (None, "-") and not Path(path).exists():
            raise PairrankError(f"cannot read {path!r}: there is no such file; check the path")
    if pairs is not None:
        columns = columns._replace(label=None, ignore=[columns.label] if columns.label else [])
    rows = read_rows(
        source,
        format=columns.format,
        label=columns.label,
        qid=columns.qid,
        weight=columns.weight,
        drop=() if features is not None else columns.drop,
        ignore=columns.ignore,
        features=features,
        n_features=n_features,
        dtype=np.dtype(columns.dtype),
    )
    with named(source):
        if features is None:
            refuse_roles_as_features(rows)
        check_weights(rows.weight, rows.X.shape[0])
    if pairs is None:
        return rows
    compared: Any = read_pairs(pairs, n_rows=rows.X.shape[0])
    return rows._replace(y=compared)


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


def check_output(path: str, *inputs: str | None) -> None:
    """Refuse an output that cannot be written, or is an input, before any work is done for it.

    Raises
    ------
    PairrankError
        If the path is a folder or a read-only file, its folder is not there or may not be written,
        or it is one of the inputs, which would be lost.
    """
    from pairrank.io import refuse_read_only

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
    refuse_read_only(path)
    if target.exists():
        for source in inputs:
            if source and source != "-" and Path(source).exists() and target.samefile(source):
                raise PairrankError(
                    f"{path}: is an input too, and would be lost; name another file"
                )


def preferences_of(rows: Rows, graph: Any = "full") -> Preferences:
    """Return who is preferred to whom among the rows: by the graph, or by comparisons.

    Raises
    ------
    PairrankError
        If there are no labels, text without edges, or a comparison across queries.
    """
    if isinstance(rows.y, Pairs):
        return rows.y.bound(rows.X.shape[0], qid=rows.qid, sample_weight=rows.weight)
    labels = _labels(rows)
    check_order(labels, graph)
    return Levels.build(labels, rows.qid, graph=graph, sample_weight=rows.weight)


def learnt_from(
    rows: Rows, graph: Any, source: str, *, differences: bool
) -> Preferences | Differences:
    """Return what a model learns from; refuse rows without it, before any work on them.

    Parameters
    ----------
    rows : Rows
    graph : "full", "chain" or OrderGraph
        The preferences among labels, for models that learn preferences.
    source : str
        The file that errors name.
    differences : bool
        Whether the model learns how far labels differ: equal ones will then do as well.

    Raises
    ------
    PairrankError
        That names the file, if there is nothing to learn from.
    """
    with named(source):
        if differences and not isinstance(rows.y, Pairs):
            return Differences.build(_labels(rows), rows.qid, sample_weight=rows.weight)
        preferences = _comparisons(rows) if differences else preferences_of(rows, graph)
        preferences.require_pairs()
    return preferences


def count_judged(rows: Rows, graph: Any, source: str) -> int:
    """Return how many preferences the rows hold to judge by; ties and magnitudes are none.

    Raises
    ------
    PairrankError
        That names the file, if there is none.
    """
    with named(source):
        if not isinstance(rows.y, Pairs):
            preferences = preferences_of(rows, graph)
            preferences.require_pairs()
            return int(preferences.n_pairs)
        pairs = _comparisons(rows)
        pairs.require_pairs()
        if pairs.magnitude is None:
            return pairs.n_pairs
        n_preferred = int(np.count_nonzero(pairs.magnitude))
        if not n_preferred:
            raise NoPairsError("every comparison is a tie (magnitude 0): none prefers a row")
        return n_preferred


def _comparisons(rows: Rows) -> Pairs:
    """Return comparisons over the rows, with weights and any magnitudes."""
    pairs: Any = rows.y
    n_rows = rows.X.shape[0]
    bound: Pairs = pairs.bound(n_rows, qid=rows.qid, sample_weight=rows.weight, ties=False)
    return bound


def _labels(rows: Rows) -> NDArray[Any]:
    if rows.y is None:
        raise PairrankError("the rows have no labels; name their column with --label")
    return rows.y


def facts_of(rows: Rows, preferences: Preferences | Differences) -> dict[str, Any]:
    """Return the counts that describe rows: rows, features, queries, levels, pairs."""
    facts: dict[str, Any] = {"rows": rows.X.shape[0], "features": rows.X.shape[1]}
    if isinstance(preferences, Levels):
        facts["queries"] = preferences.n_queries
        facts["levels"] = int(preferences.labels.size)
    elif isinstance(preferences, Differences):
        counted = slice(None) if rows.weight is None else rows.weight > 0
        facts["queries"] = int(np.count_nonzero(preferences.query_weight))
        facts["levels"] = int(np.unique(np.asarray(rows.y)[counted]).size)
    else:
        facts["queries"] = 1 if rows.qid is None else np.unique(rows.qid).size
    facts["n_pairs"] = int(preferences.n_pairs)
    return facts
