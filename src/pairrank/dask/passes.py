"""DaskPasses: passes over the partitions of a cluster, each a graph of few large tasks."""

from __future__ import annotations

import functools
import itertools
import uuid
import warnings
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import distributed
from dask.core import literal

from pairrank.blocks._contracts import RowBlock
from pairrank.dask import tasks
from pairrank.dask.clients import computed, kept, n_workers, worker_memory
from pairrank.dask.partitions import Graph, Partitions, check_lengths
from pairrank.dask.sharing import parcels_of, pickled_bytes
from pairrank.exceptions import LargeTransferWarning, NoPairsError, PairrankError

Part = TypeVar("Part")
Persist = Literal["auto"] | bool

MERGED_TOGETHER = 8
"""So many results of a pass are merged by one task: fewer tasks, and a tree that is not deep."""
SHARE_OF_MEMORY = 0.5
_AFTER_LABELS = -1
"""The client waits for facts about labels while the workers load features."""
LARGE_PASS = 1e9
"""A pass in which more bytes than these may travel gives a warning."""


class DaskPasses:
    """Passes over rows on a cluster; implements `Passes` of `pairrank.blocks._contracts`.

    A block is a partition that has rows; `n_blocks` of them are found at once. Blocks stay on the
    workers if `persist` says so, as tasks that are computed again if a worker dies. No task is
    bound to a worker.

    Parameters
    ----------
    partitions : Partitions
    client : distributed.Client
    persist : "auto", True or False
        Whether features stay in the memory of the workers: "auto" if they fit in half of it.
        If not, each pass reads them again.
    """

    is_remote = True

    def __init__(
        self, partitions: Partitions, client: distributed.Client, persist: Persist = "auto"
    ) -> None:
        self.partitions, self.client, self.persist = partitions, client, persist
        self.n_passes = 0
        """The round trips for all blocks so far."""
        self._token = uuid.uuid4().hex[:12]
        self._numbers = itertools.count()
        self._labels: list[Any] = []
        self._features: list[Any] = []
        self._prepared: list[Any] = []
        self._digests: list[int] = []
        self._warned = False
        lengths = partitions.X.lengths
        self._places = [at for at, n_rows in enumerate(lengths or ()) if n_rows]
        labels = self._keep_labels()
        if lengths is not None and self._places:
            self._keep_features(sum(lengths) * partitions.features.row_bytes)
        self._measure(labels)

    @property
    def n_rows(self) -> int:
        """The number of rows of all blocks."""
        return sum(self.n_rows_of)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.partitions.features.n_features

    def describe(self, task: Callable[[int, RowBlock, Any], Part], shared: Any) -> list[Part]:
        """Return `task(index, row_block, shared)` of every block in order: the first pass."""
        if not self._features:
            self._keep_features(self.n_rows * self.partitions.features.row_bytes)
        graph, shared_key = self._new_graph(shared)
        keys = []
        rows = zip(self._places, self._features_in(graph), self._labels, strict=True)
        for index, of_block in enumerate(rows):
            key = self._key("describe", index)
            graph[key] = (tasks.describe, index, *of_block, task, shared_key)
            keys.append(key)
        found = self._computed(graph, keys)
        self._digests = [digest for _, digest, _ in found]
        if not self._features:
            self._keep_features(sum(size for *_, size in found), last=True)
        return [part for part, *_ in found]

    def prepare(
        self, task: Callable[[int, RowBlock, Any], tuple[Any, Part]], shared: Any
    ) -> list[Part]:
        """Set the state of each block; return a report of each in order."""
        graph, shared_key = self._new_graph(shared)
        states = [self._key("prepare", index) for index in range(self.n_blocks)]
        for index, key in enumerate(states):
            digest = self._facts[index].digest
            labels = self._labels[index]
            graph[key] = (tasks.prepare, index, labels, digest, task, shared_key)
        self._prepared = kept(self.client, graph, states)
        return self._each("report", tasks.report_of, self._prepared)

    def reduce(
        self,
        task: Callable[[int, Any, Any, Any], Part],
        shared: Any,
        merge: Callable[[Part, Part], Part],
    ) -> Part:
        """Return the merged results of `task(index, X, state, shared)` of every block, one pass."""
        parcels: list[Any] = [None] * self.n_blocks
        if hasattr(shared, "of_block"):
            shared, parcels = parcels_of(shared.of_block, self.n_blocks)
        graph, shared_key = self._new_graph(shared)
        keys = []
        states = self._prepared or [None] * self.n_blocks
        for index, features in enumerate(self._features_in(graph)):
            key = self._key("evaluate", index)
            of_block = features, self._digests[index], states[index]
            graph[key] = (tasks.evaluate, index, *of_block, task, shared_key, parcels[index])
            keys.append(key)
        merge_key = self._key("merge", 0)
        graph[merge_key] = (literal(merge),)
        while len(keys) > 1:
            keys = self._merged_in(graph, keys, merge_key)
        (counted,) = self._computed(graph, keys)
        sent = n_workers(self.client) * pickled_bytes(shared) + sum(map(pickled_bytes, parcels))
        self._warn_of_bytes(counted.n_bytes + sent)
        return counted.part

    def _keep_labels(self) -> list[Any]:
        """Have the workers load and keep the labels of each partition."""
        columns = self.partitions.rest.values()
        names, several = tuple(self.partitions.rest), self.partitions.several
        load = functools.partial(tasks.load_labels, names, several)
        graph: Graph = {}
        for column in columns:
            graph |= column.graph
        keys = [self._key("labels", number) for number in range(self.partitions.n_partitions)]
        for number, key in enumerate(keys):
            parts = [column.keys[number] for column in columns]
            graph[key] = (load, number, *parts)
        return kept(self.client, graph, keys)

    def _measure(self, labels: list[Any]) -> None:
        """Ask for the rows of each partition; leave out empty partitions."""
        facts = self._each("facts", tasks.facts_of, labels)
        for number, (length, one) in enumerate(
            zip(self.partitions.X.lengths or (), facts, strict=False)
        ):
            check_lengths(number, "y", one.n_rows, "X", int(length))
        self._places = [number for number, one in enumerate(facts) if one.n_rows]
        self._labels = [labels[number] for number in self._places]
        self._facts = [facts[number] for number in self._places]
        self.n_rows_of = [one.n_rows for one in self._facts]
        self.n_blocks = len(self._facts)
        if not self._facts:
            raise NoPairsError("the collections have no rows: there is nothing to learn")
        _check_kinds(self._places, self._facts)

    def _keep_features(self, n_bytes: float, *, last: bool = False) -> None:
        """Have the workers keep the features, if they should and the bytes fit."""
        fits = n_bytes <= SHARE_OF_MEMORY * worker_memory(self.client)
        if self.persist is True or (self.persist == "auto" and fits):
            graph: Graph = {}
            keys = self._features_in(graph)
            self._features = kept(self.client, graph, keys, priority=_AFTER_LABELS)
        elif last and self.persist == "auto":
            warnings.warn(
                f"X has {n_bytes / 1e9:.3g} GB, more than half of the memory of the workers, so "
                "each pass of the fit reads it again: add workers, or pass float32 X, or leave "
                "persist=False to say that this is meant",
                LargeTransferWarning,
                stacklevel=2,
            )

    def _features_in(self, graph: Graph) -> list[Any]:
        """Return the features of each block: those kept, or tasks added to the graph."""
        if self._features:
            return self._features
        column, keys = self.partitions.X, []
        graph |= column.graph
        for place in self._places:
            key = self._key("features", place)
            graph[key] = (tasks.load_features, place, self.partitions.features, column.keys[place])
            keys.append(key)
        return keys

    def _merged_in(self, graph: Graph, keys: list[str], merge: str) -> list[str]:
        """Add one level of a tree of merges to the graph; return its keys."""
        merged = []
        for start in range(0, len(keys), MERGED_TOGETHER):
            key = self._key("merge", start)
            graph[key] = (tasks.merge, merge, keys[start : start + MERGED_TOGETHER])
            merged.append(key)
        return merged

    def _each(self, name: str, function: Callable[[Any], Any], futures: list[Any]) -> list[Any]:
        """Return the function of each value that workers keep."""
        graph = {self._key(name, at): (function, future) for at, future in enumerate(futures)}
        return self._computed(graph, list(graph))

    def _new_graph(self, shared: Any) -> tuple[Graph, str]:
        """Return a graph with one node, which holds what all tasks of a pass share."""
        key = self._key("shared", 0)
        return {key: (literal(shared),)}, key

    def _key(self, name: str, index: int) -> str:
        """Return a key that no other task has, by which Dask's dashboard groups tasks."""
        return f"pairrank_{name}-{self._token}-{next(self._numbers)}-{index}"

    def _computed(self, graph: Graph, keys: list[Any]) -> list[Any]:
        self.n_passes += 1
        return computed(self.client, graph, keys)

    def _warn_of_bytes(self, n_bytes: int) -> None:
        if n_bytes <= LARGE_PASS or self._warned:
            return
        self._warned = True
        warnings.warn(
            f"each pass of the fit sends up to {n_bytes / 1e9:.3g} GB between the workers and the "
            "client, because queries cross partitions: cut the partitions where queries end, or, "
            "if labels are many, round them to few levels",
            LargeTransferWarning,
            stacklevel=2,
        )


def _check_kinds(places: list[int], facts: list[tasks.Facts]) -> None:
    """Raise a PairrankError where an array is numbers in one partition and text in another."""
    for place, one in zip(places, facts, strict=True):
        for name, kind in one.kinds.items():
            first = facts[0].kinds[name]
            if kind != first:
                raise PairrankError(
                    f"{name} holds {kind} in partition {place} and {first} in partition "
                    f"{places[0]}: give one kind"
                )
