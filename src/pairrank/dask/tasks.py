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
from pairrank._validation import ALIGNED, check_features, check_labels, check_weights
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.checking import digest_of
from pairrank.blocks.local_passes import bytes_of
from pairrank.dask.partitions import Features, check_lengths
from pairrank.dask.sharing import Parcel, opened, pickled_bytes
from pairrank.estimators._targets import checked_targets
from pairrank.exceptions import PairrankError


class Loaded(NamedTuple):
    """Checked rows of a partition and a checksum of them."""

    block: RowBlock
    digest: int


class Facts(NamedTuple):
    """What the client needs to know of a partition's labels."""

    n_rows: int
    digest: int
    kinds: dict[str, str]
    """The kind of each array: "numbers", "text" or "objects"."""


class Counted(NamedTuple):
    """A result of a pass, and the bytes of all the results that were merged to it."""

    part: Any
    n_bytes: int


def alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a task that works in one thread: dask runs one task on each of its threads."""

    @functools.wraps(function)
    def work(*arguments: Any) -> Any:
        with threads.one_thread():
            return function(*arguments)

    return work


@alone
def load_labels(names: tuple[str, ...], several: bool, number: int, *parts: Any) -> Loaded:
    """Return the checked labels of a partition, with its queries and weights."""
    first, *others = names
    with _named(number):
        y = checked_targets(parts[0]) if several else check_labels(parts[0])
        for name, part in zip(others, parts[1:], strict=True):
            check_lengths(number, name, len(part), first, len(y))
        checked = {name: _check(name, part) for name, part in zip(others, parts[1:], strict=True)}
    block = RowBlock(None, y, **checked)
    return Loaded(block, _digest_of_labels(block))


@alone
def load_features(number: int, features: Features, X: Any) -> Loaded:
    """Return the checked features of a partition."""
    columns = _Columns()
    columns.n_features_in_ = features.n_features
    if features.names is not None:
        columns.feature_names_in_ = np.asarray(features.names, dtype=object)
    with _named(number):
        X = check_features(columns, X, reset=False)
    return Loaded(RowBlock(X), digest_of(X))


def facts_of(labels: Loaded) -> Facts:
    """Return what the client needs to know of a partition's labels."""
    parts = {name: part for name, part in labels.block._asdict().items() if part is not None}
    kinds = {name: _KINDS.get(part.dtype.kind, "numbers") for name, part in parts.items()}
    return Facts(len(parts["y"]), labels.digest, kinds)


@alone
def describe(
    index: int, number: int, features: Loaded, labels: Loaded, call: Any, shared: Any
) -> Any:
    """Return a block's description, and the checksum and the bytes of its features."""
    assert labels.block.y is not None
    check_lengths(number, "X", features.block.X.shape[0], "y", len(labels.block.y))
    block = labels.block._replace(X=features.block.X)
    return call(index, block, shared), features.digest, bytes_of(features.block.X)


@alone
def prepare(index: int, labels: Loaded, digest: int, call: Any, shared: Any) -> Any:
    """Return a block's state and its report."""
    _check_digest(index, labels, digest)
    return call(index, labels.block, shared)


def report_of(prepared: Any) -> Any:
    """Return what travels of a prepared block."""
    return prepared[1]


@alone
def evaluate(
    index: int,
    features: Loaded,
    digest: int,
    prepared: Any,
    call: Any,
    shared: Any,
    parcel: Parcel | None,
) -> Counted:
    """Return the result of a pass for one block; `parcel` has what the block alone is sent."""
    _check_digest(index, features, digest)
    if parcel is not None:
        shared = opened(parcel, shared)
    part = call(index, features.block.X, None if prepared is None else prepared[0], shared)
    return Counted(part, pickled_bytes(part))


@alone
def merge(call: Callable[[Any, Any], Any], counted: list[Counted]) -> Counted:
    """Return the merged results of a pass, which `call` merges two by two.

    `call` may write into its first argument, which the worker may need again: it gets a copy.
    """
    if len(counted) == 1:
        return counted[0]
    merged = functools.reduce(
        call, (each.part for each in counted[1:]), copy.deepcopy(counted[0].part)
    )
    return Counted(merged, sum(each.n_bytes for each in counted))


_KINDS = {"U": "text", "S": "text", "O": "objects"}


class _Columns(BaseEstimator):
    """The features that every partition must have, as `check_features` reads them."""

    n_features_in_: int
    feature_names_in_: Any


class _named:
    """Puts the number of the partition in front of an error's message."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, PairrankError):
            raise type(error)(f"partition {self._number}: {error}") from error


def _check(name: str, part: Any) -> Any:
    """Check an array with an entry per row; a partition may have weights of 0 only."""
    if name == "qid":
        return ALIGNED[name](part, len(part))
    return check_weights(part, len(part), name, all_zero=True)


def _check_digest(index: int, loaded: Loaded, digest: int) -> None:
    if loaded.digest != digest:
        raise PairrankError(
            f"block {index} differs from the first pass: the rows must stay the same during a fit "
            "(no random numbers without a seed, no files that change)"
        )


def _digest_of_labels(block: RowBlock) -> int:
    digest = 0
    for part in block[1:]:
        if part is not None:
            is_object = part.dtype.kind == "O"
            content: Any = repr(part.tolist()).encode() if is_object else np.ascontiguousarray(part)
            digest = zlib.crc32(content, zlib.crc32(part.dtype.str.encode(), digest))
    return digest
