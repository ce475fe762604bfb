"""Partitions: the rows of dask arrays and dataframes, a task for each partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import array, dataframe

from pairrank.exceptions import InputTypeError, PairrankError
from pairrank.preferences import Pairs


@dataclass(frozen=True, eq=False)
class Column:
    """The partitions of one collection, each a task."""

    name: str
    parts: list[Any]
    lengths: list[int] | None
    """The rows of each partition, where dask knows them without computing."""


@dataclass(frozen=True, eq=False)
class Features:
    """What each partition of X has in common; it is sent to every worker."""

    n_features: int
    names: list[Any] | None
    row_bytes: int
    """The bytes of a dense row in memory."""


@dataclass(frozen=True, eq=False)
class Partitions:
    """Rows of collections that are partitioned alike: X, and the arrays with an entry per row."""

    X: Column
    features: Features
    rest: dict[str, Column]
    """y, and those of qid and the weights that are given."""


def partitions_of(X: Any, y: Any, layout: Mapping[str, Any], suffix: str = "") -> Partitions:
    """Return the partitions of X, y and what is given of qid and weights; compute nothing.

    `layout` has the arrays or series with one entry per row by name, None where one is not given.
    `suffix` ends the names in messages, such as "_val". A PairrankError says that one is no
    collection of dask, has chunks of columns, or is partitioned in another way.
    """
    columns = {}
    for name, part in {"X": X, "y": y, **layout}.items():
        if part is not None:
            columns[name] = column_of(part, name + suffix, n_dimensions=2 if name == "X" else 1)
    if "y" not in columns:
        raise InputTypeError(f"y{suffix} is None: give the labels, partitioned as X{suffix} is")
    check_alike(list(columns.values()))
    return Partitions(columns.pop("X"), features_of(X, "X" + suffix), columns)


def column_of(values: Any, name: str, n_dimensions: int = 1) -> Column:
    """Return the partitions of a collection of at most so many dimensions."""
    if isinstance(values, Pairs):
        raise InputTypeError(
            "Pairs number the rows of all partitions, so they need X in memory: give labels, or "
            "use the ranker without Dask"
        )
    if not (isinstance(values, array.Array) or is_dataframe(values)):
        raise InputTypeError(
            f"{name} must be an array, a dataframe or a series of dask, got "
            f"{type(values).__name__}: cut it as X is, with dask.array.from_array(..., "
            "chunks=...), or use the ranker without Dask for rows in memory"
        )
    if is_dataframe(values):
        if values.ndim > n_dimensions:
            raise InputTypeError(f"{name} is a DataFrame; give one column of it, a Series")
        parts, lengths = values.to_delayed(), None
    else:
        if not 1 <= values.ndim <= n_dimensions and values.shape[1:] != (1,):
            wanted = "one dimension" if n_dimensions == 1 else "two dimensions (rows, columns)"
            raise InputTypeError(f"{name} must have {wanted}, got {values.ndim}")
        if values.ndim == 2 and values.numblocks[1] > 1:
            raise PairrankError(
                f"{name} has {values.numblocks[1]} chunks of columns, but a task needs whole rows: "
                f"pass {name}.rechunk({{1: -1}})"
            )
        parts, lengths = values.to_delayed().ravel().tolist(), list(values.chunks[0])
        if np.isnan(lengths).any():
            lengths = None
    return Column(name, parts, lengths)


def features_of(X: Any, name: str) -> Features:
    """Return the number, the names and the size of the features of X, known without computing."""
    if X.ndim != 2:
        raise InputTypeError(f"{name} must have two dimensions (rows, features), got {X.ndim}")
    n_features = X.shape[1]
    if np.isnan(n_features):
        raise PairrankError(
            f"{name} does not know its number of columns: pass {name}.persist() and call "
            "compute_chunk_sizes() on it"
        )
    names = list(X.columns) if is_dataframe(X) else None
    kinds = {str(kind) for kind in X.dtypes} if is_dataframe(X) else {str(X.dtype)}
    size = 4 if all(kind.lower().startswith(("float32", "float[")) for kind in kinds) else 8
    return Features(int(n_features), names, size * int(n_features))


def check_alike(columns: list[Column]) -> None:
    """Raise a PairrankError where collections differ in partitions, as far as dask knows them."""
    first = columns[0]
    for other in columns[1:]:
        if len(other.parts) != len(first.parts):
            raise PairrankError(
                f"{other.name} has {len(other.parts)} partitions and {first.name} "
                f"{len(first.parts)}: cut both at the same rows (rechunk or repartition)"
            )
        for number, (here, there) in enumerate(
            zip(other.lengths or (), first.lengths or (), strict=False)
        ):
            check_lengths(number, other.name, int(here), first.name, int(there))


def check_lengths(number: int, name: str, n_rows: int, other: str, n_others: int) -> None:
    """Raise a PairrankError where two collections differ in a partition's rows."""
    if n_rows != n_others:
        raise PairrankError(
            f"partition {number} of {name} has {n_rows} rows and that of {other} {n_others}: cut "
            "both at the same rows (rechunk or repartition)"
        )


def is_dataframe(values: Any) -> bool:
    """Whether a collection is a DataFrame or a Series of dask."""
    return isinstance(values, dataframe.DataFrame | dataframe.Series)
