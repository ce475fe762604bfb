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
    """Checked rows of a partition, and a checksum of X, or of the labels where X is None."""

    block: RowBlock
    digest: int


class Facts(NamedTuple):
    """What the client needs to know of a partition's labels."""

    n_rows: int
    digest: int
    kinds: dict[str, str]
    """The kind of each array: "numbers", "text" or "objects"."""


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
    return Loaded(block, _digest_of_labels(block))


@alone
def load_block(number: int, features: Features, X: Any, labels: Loaded) -> Loaded:
    """Return the checked features of a partition with its labels."""
    columns: Any = BaseEstimator()
    columns.n_features_in_ = features.n_features
    if features.names is not None:
        columns.feature_names_in_ = np.asarray(features.names, dtype=object)
    with naming(f"partition {number}"):
        X = check_features(columns, X, reset=False)
    check_lengths(number, "X", X.shape[0], "y", len(labels.block.labels))
    return Loaded(labels.block._replace(X=X), digest_of(X))


def facts_of(labels: Loaded) -> Facts:
    """Return what the client needs to know of a partition's labels."""
    return Facts(len(labels.block.labels), labels.digest, kinds_of(labels.block))


@alone
def describe(index: int, loaded: Loaded, call: Any, shared: Any) -> tuple[Any, int, int]:
    """Return a block's description, and the checksum and the bytes of its features."""
    return call(index, loaded.block, shared), loaded.digest, bytes_of(loaded.block.X)


@alone
def prepare(
    index: int, digest: int, labels: Loaded, before: tuple[Any, Any], call: Any, shared: Any
) -> tuple[Any, Any]:
    """Return the state of a block, which stays on the worker, and its report."""
    _check_digest(index, labels.digest, digest)
    state, report = call(index, labels.block, before[0], shared)
    return state, report


@alone
def evaluate(
    index: int,
    digest: int,
    loaded: Loaded,
    prepared: tuple[Any, Any],
    call: Any,
    shared: Any,
) -> Any:
    """Return the result of a pass for a block."""
    _check_digest(index, loaded.digest, digest)
    return call(index, loaded.block.X, prepared[0], shared)


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
