"""What a worker does with a partition: load, describe, prepare, pass, merge; in one thread each.

Graphs name these functions; they import what is compiled, so that no compiled function travels.
"""

from __future__ import annotations

import copy
import functools
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import distributed
import numpy as np
from sklearn.base import BaseEstimator

from pairrank import threads
from pairrank._validation import ALIGNED, check_features, check_labels, check_weights
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.checking import digest_of
from pairrank.blocks.local_passes import bytes_of
from pairrank.dask.partitions import Features, check_lengths
from pairrank.estimators._targets import checked_targets
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
    home: str
    """The address of the worker, which keeps the block if any does."""


class Group(NamedTuple):
    """The blocks of one task: their numbers, and the checksums of the first pass."""

    indices: tuple[int, ...]
    digests: tuple[int, ...]


class Prepared(NamedTuple):
    """The states of the blocks of a group, which stay on the worker, and what travels of them."""

    states: list[Any]
    reports: list[Any]


Results = dict[tuple[int, int], Any]
"""Results of a pass by their place in the tree of merges, see `merged_in_order`."""


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
    return Loaded(block, of_labels=_digest_of_labels(block))


@alone
def load_features(number: int, features: Features, X: Any) -> Loaded:
    """Return the checked features of a partition."""
    columns = _Columns()
    columns.n_features_in_ = features.n_features
    if features.names is not None:
        columns.feature_names_in_ = np.asarray(features.names, dtype=object)
    with _named(number):
        X = check_features(columns, X, reset=False, finite=False)
        return Loaded(RowBlock(X), of_features=digest_of(X, finite=True))


def join(number: int, features: Loaded, labels: Loaded) -> Loaded:
    """Return features and labels of a partition together."""
    X, y = features.block.X, labels.block.y
    assert y is not None
    check_lengths(number, "X", X.shape[0], "y", len(y))
    return Loaded(labels.block._replace(X=X), labels.of_labels, features.of_features)


def facts_of(labels: Loaded) -> Facts:
    """Return what the client needs to know of a partition's labels."""
    block = labels.block._replace(X=None)
    parts = {name: part for name, part in block._asdict().items() if part is not None}
    kinds = {name: _KINDS.get(part.dtype.kind, "numbers") for name, part in parts.items()}
    return Facts(len(parts["y"]), labels.of_labels, kinds)


@alone
def describe(index: int, loaded: Loaded, call: Any, shared: Any) -> Described:
    """Return a block's description and the size of its features."""
    X = loaded.block.X
    part = call(index, loaded.block, shared)
    home = distributed.get_worker().address
    return Described(part, loaded.of_features, bytes_of(X), home)


@alone
def prepare(group: Group, loaded: list[Loaded], call: Any, shared: Any) -> Prepared:
    """Return the state and the report of each block of a group."""
    prepared = Prepared([], [])
    for index, digest, labels in zip(*group, loaded, strict=True):
        _check_digest(index, labels.of_labels, digest)
        state, report = call(index, labels.block._replace(X=None), shared)
        prepared.states.append(state)
        prepared.reports.append(report)
    return prepared


def reports_of(prepared: Prepared) -> list[Any]:
    """Return what travels of prepared blocks."""
    return prepared.reports


@alone
def evaluate(
    group: Group,
    n_blocks: int,
    loaded: list[Loaded],
    prepared: Prepared | None,
    call: Any,
    merge: Any,
    shared: Any,
) -> Results:
    """Return the results of a pass for a group of blocks, merged as far as the group reaches."""
    parts = {}
    for at, (index, digest, features) in enumerate(zip(*group, loaded, strict=True)):
        _check_digest(index, features.of_features, digest)
        state = None if prepared is None else prepared.states[at]
        parts[0, index] = call(index, features.block.X, state, shared)
    return merged_in_order(merge, n_blocks, parts)


@alone
def merge_groups(call: Any, n_blocks: int, groups: list[Results]) -> Results:
    """Return the results of several groups, merged as far as they reach.

    `call` may write into its first argument, which the worker may need again: it gets a copy.
    """
    parts = {place: part for group in groups for place, part in group.items()}
    return merged_in_order(call, n_blocks, parts, copies=True)


def merged_in_order(
    call: Callable[[Any, Any], Any],
    n_blocks: int,
    parts: Results,
    *,
    copies: bool = False,
) -> Results:
    """Return the results of some blocks, merged two by two in a binary tree over all blocks.

    The key of a result is its level in the tree and its place there; (0, index) is a block. Two
    neighbours are merged if both are known, so the order of merges depends on the number of blocks
    only, not on the tasks that do them. With `copies` the results given are not written into.
    """
    parts, own, level = dict(parts), set() if copies else set(parts), 0
    while n_blocks > 1:
        for place in sorted(at for known, at in parts if known == level and at % 2 == 0):
            left, right = (level, place), (level, place + 1)
            above = level + 1, place // 2
            if place + 1 == n_blocks:
                is_own, parts[above] = left in own, parts.pop(left)
            elif right in parts:
                first = parts.pop(left)
                first = first if left in own else copy.deepcopy(first)
                is_own, parts[above] = True, call(first, parts.pop(right))
            else:
                continue
            if is_own:
                own.add(above)
        n_blocks, level = -(-n_blocks // 2), level + 1
    return parts


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


def _check_digest(index: int, digest: int, known: int) -> None:
    if digest != known:
        raise PairrankError(
            f"partition {index} differs from the first pass: the rows must stay the same during a "
            "fit (no random numbers without a seed, no files that change)"
        )


def _digest_of_labels(block: RowBlock) -> int:
    digest = 0
    for part in block[1:]:
        if part is not None:
            is_object = part.dtype.kind == "O"
            content = repr(part.tolist() if is_object else digest_of(part)).encode()
            digest = zlib.crc32(content, digest)
    return digest
