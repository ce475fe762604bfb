"""What a worker does with a partition: load, describe, prepare, pass, merge; in one thread each.

Graphs name these functions; they import what is compiled, so that no compiled function travels.
"""

from __future__ import annotations

import copy
import functools
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from pairrank import threads
from pairrank._validation import check_features
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.checking import checked_parts, digest_of, kinds_of, naming
from pairrank.blocks.local_passes import bytes_of
from pairrank.dask.partitions import Features, check_lengths
from pairrank.exceptions import PairrankError


class Loaded(NamedTuple):
    """Checked rows of a partition: labels, features or both, and a checksum of each."""

    block: RowBlock
    of_labels: int = 0
    of_features: int = 0


class Facts(NamedTuple):
    """What the client needs to know of a partition's labels."""

    n_rows: int
    digest: int
    kinds: dict[str, str]
    """The kind of each array: "numbers", "text" or "objects"."""


class Described(NamedTuple):
    """What a partition reports in the first pass."""

    part: Any
    digest: int
    """The checksum of the features."""
    n_bytes: int
    """The bytes of the features."""


def alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a task that works in one thread: dask runs one task on each of its threads."""

    @functools.wraps(function)
    def work(*arguments: Any) -> Any:
        with threads.one_thread():
            return function(*arguments)

    return work


@alone
def load_labels(names: tuple[str, ...], number: int, *parts: Any) -> Loaded:
    """Return the checked labels of a partition, with its queries and weights."""
    given, n_rows = dict(zip(names, parts, strict=True)), len(parts[0])
    with naming(f"partition {number}"):
        for name, part in given.items():
            check_lengths(number, name, len(part), names[0], n_rows)
        block = RowBlock(None, **checked_parts(RowBlock(None, **given), n_rows))
    return Loaded(block, of_labels=_digest_of_labels(block))


@alone
def load_features(number: int, features: Features, X: Any) -> Loaded:
    """Return the checked features of a partition."""
    columns: Any = BaseEstimator()
    columns.n_features_in_ = features.n_features
    if features.names is not None:
        columns.feature_names_in_ = np.asarray(features.names, dtype=object)
    with naming(f"partition {number}"):
        X = check_features(columns, X, reset=False)
        return Loaded(RowBlock(X), of_features=digest_of(X))


def join(number: int, features: Loaded, labels: Loaded) -> Loaded:
    """Return features and labels of a partition together."""
    X, y = features.block.X, labels.block.y
    assert y is not None
    check_lengths(number, "X", X.shape[0], "y", len(y))
    return Loaded(labels.block._replace(X=X), labels.of_labels, features.of_features)


def facts_of(labels: Loaded) -> Facts:
    """Return what the client needs to know of a partition's labels."""
    kinds = kinds_of(labels.block)
    assert labels.block.y is not None
    return Facts(len(labels.block.y), labels.of_labels, kinds)


@alone
def describe(index: int, loaded: Loaded, call: Any, shared: Any) -> Described:
    """Return a block's description and the size of its features."""
    X = loaded.block.X
    part = call(index, loaded.block, shared)
    return Described(part, loaded.of_features, bytes_of(X))


@alone
def prepare(index: int, digest: int, labels: Loaded, call: Any, shared: Any) -> tuple[Any, Any]:
    """Return the state of a block, which stays on the worker, and its report."""
    _check_digest(index, labels.of_labels, digest)
    state, report = call(index, labels.block._replace(X=None), shared)
    return state, report


@alone
def evaluate(
    index: int,
    digest: int,
    features: Loaded,
    prepared: tuple[Any, Any] | None,
    call: Any,
    shared: Any,
) -> Any:
    """Return the result of a pass for a block."""
    _check_digest(index, features.of_features, digest)
    state = None if prepared is None else prepared[0]
    return call(index, features.block.X, state, shared)


@alone
def merge(call: Any, parts: list[Any]) -> Any:
    """Return results merged in their order.

    `call` may write into its first argument, which the worker may need again: it gets a copy.
    """
    return functools.reduce(call, parts[1:], copy.deepcopy(parts[0]))


def _check_digest(index: int, digest: int, known: int) -> None:
    if digest != known:
        raise PairrankError(
            f"partition {index} differs from the first pass: the rows must stay the same during a "
            "fit (no random numbers without a seed, no files that change)"
        )


def _digest_of_labels(block: RowBlock) -> int:
    given = (part for part in block[1:] if part is not None)
    parts = (part.astype(str) if part.dtype.kind == "O" else part for part in given)
    return zlib.crc32(repr([digest_of(part) for part in parts]).encode())
