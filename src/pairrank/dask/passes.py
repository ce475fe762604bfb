"""DaskPasses: passes over the partitions of a cluster, each a graph of few large tasks."""

from __future__ import annotations

import functools
import itertools
import uuid
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import distributed
from dask.core import literal

from pairrank.blocks._contracts import RowBlock, SecondPass
from pairrank.blocks.two_passes import two_passes
from pairrank.dask import tasks
from pairrank.dask.clients import begun, computed, kept, streamed, worker_memory
from pairrank.dask.grouping import groups_of
from pairrank.dask.partitions import Graph, Partitions, check_lengths
from pairrank.dask.reports import Reports
from pairrank.dask.sharing import parcels_of, pickled_bytes
from pairrank.exceptions import LargeTransferWarning, NoPairsError, PairrankError

Part = TypeVar("Part")
Persist = Literal["auto"] | bool

MERGED_TOGETHER = 8
"""The results of so many tasks are merged by one: fewer tasks, and a tree that is not deep."""
SHARE_OF_MEMORY = 0.5
SMALL = 1 << 18
"""At most so many bytes travel with tasks to spare them a task of their own."""
LARGE_PASS = 1e9
"""A pass in which more bytes than these may travel gives a warning."""


class DaskPasses:
    """Passes over rows on a cluster; implements `Passes` of `pairrank.blocks._contracts`.

    A block is a partition that has rows. Blocks stay on the workers if `persist` says so, as tasks
    that are computed again if a worker dies. No task is bound to a worker. Blocks that one worker
    keeps share the tasks of a pass, because a task costs the client and the scheduler as much time
    as 100,000 rows.

    Parameters
    ----------
    partitions : Partitions
    client : distributed.Client
    persist : "auto", True or False
        Whether blocks stay in the memory of the workers: "auto" if their features fit in half of
        it. If not, each pass reads these again.
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
        self._kept: list[Any] = []
        """Features and labels of each block, if workers keep them."""
        self._groups: list[tuple[int, ...]] = []
        self._prepared: list[Any] = []
        self._facts: list[tasks.Facts] = []
        self._digests: list[int] = []
        self._warned = False
        lengths = partitions.X.lengths
        if lengths is None:
            self._measure()
            return
        self._set_places([at for at, n_rows in enumerate(lengths) if n_rows], lengths)
        if not self._keep_blocks(self.n_rows * partitions.features.row_bytes):
            self._measure()

    @property
    def works_meanwhile(self) -> bool:
        """Whether workers keep the blocks: a pass then costs no reading."""
        return bool(self._kept)

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
        if not self._kept:
            self._keep_blocks(self.n_rows * self.partitions.features.row_bytes)
        graph: Graph = {}
        given = self._shared_in(graph, shared, self.n_blocks)
        keys = []
        for index, block in enumerate(self._blocks_in(graph)):
            key = self._key("describe", index)
            graph[key] = (tasks.describe, index, block, task, given)
            keys.append(key)
        self.n_passes += 1
        started = kept(self.client, graph, keys)
        n_threads = self.client.nthreads()
        found: list[tasks.Described] = streamed(self.client, started)
        self._facts = [each.facts for each in found]
        _check_kinds(self._places, self._facts)
        self._digests = [each.digest for each in found]
        if not self._kept:
            self._keep_blocks(sum(each.n_bytes for each in found), last=True)
        self._groups = [(index,) for index in range(self.n_blocks)]
        if self._kept:
            self._groups = groups_of([each.home for each in found], n_threads)
        return [each.part for each in found]

    def prepare(
        self, task: Callable[[int, RowBlock, Any], tuple[Any, Part]], shared: Any
    ) -> Sequence[Part]:
        """Set the state of each block; return a report of each in order.

        The workers start at once. Reading the reports waits for them.
        """
        graph: Graph = {}
        given = self._shared_in(graph, shared, len(self._groups))
        rows = self._kept or self._labels
        keys = []
        for number, indices in enumerate(self._groups):
            key = self._key("prepare", number)
            group = tasks.Group(indices, tuple(self._facts[index].digest for index in indices))
            loaded = [rows[index] for index in indices]
            graph[key] = (tasks.prepare, _data(group), loaded, task, given)
            keys.append(key)
        self._prepared = kept(self.client, graph, keys)
        return Reports(functools.partial(self._reports, self._prepared))

    def reduce(
        self,
        task: Callable[[int, Any, Any, Any], Part],
        shared: Any,
        merge: Callable[[Part, Part], Part],
    ) -> Part:
        """Return the merged results of `task(index, X, state, shared)` of every block, one pass."""
        return self.begin(task, shared, merge)()

    def begin(
        self,
        task: Callable[[int, Any, Any, Any], Part],
        shared: Any,
        merge: Callable[[Part, Part], Part],
        second: SecondPass | None = None,
    ) -> Callable[[], Part]:
        """Start a pass, or two that are one graph; return what waits for the result.

        Two passes start when their result is asked for, if only this process can finish the first.
        """
        if second is not None and not second.anywhere:
            return functools.partial(two_passes, self, task, shared, merge, second)
        parcels: list[Any] | None = None
        if second is None and hasattr(shared, "of_block"):
            shared, parcels = parcels_of(shared.of_block, self.n_blocks)
        to_each, to_one = pickled_bytes(shared), sum(map(pickled_bytes, parcels or ()))
        graph: Graph = {}
        given = self._shared_in(graph, shared, len(self._groups) + (second is not None))
        merged = self._evaluated_in(graph, task, given, merge, parcels)
        last = self._key("result", 0)
        if second is None:
            graph[last] = (tasks.whole, merged)
        else:
            finished = self._key("finish", 0)
            graph[finished] = (tasks.finish, _data(second.finish), given, merged)
            others = self._evaluated_in(graph, second.task, finished, second.merge)
            graph[last] = (tasks.conclude, _data(second.conclude), finished, others)
        self.n_passes += 1
        wait = begun(self.client, graph, [last])

        def result() -> Part:
            (counted,) = wait()
            self._warn_of_bytes(counted.n_bytes + to_one + len(self._groups) * to_each)
            part: Part = counted.part
            return part

        return result

    def _evaluated_in(
        self, graph: Graph, task: Any, shared: Any, merge: Any, parcels: list[Any] | None = None
    ) -> Any:
        """Add the tasks of a pass to a graph; return the key of the merged result, or its task."""
        blocks = self._blocks_in(graph, labelled=False)
        merge = self._shared_in(graph, merge, len(self._groups))
        keys: list[Any] = []
        for number, indices in enumerate(self._groups):
            key = self._key("evaluate", number)
            group = tasks.Group(indices, tuple(self._digests[index] for index in indices))
            own = None if parcels is None else _data([parcels[index] for index in indices])
            graph[key] = (
                tasks.evaluate,
                _data(group),
                self.n_blocks,
                [blocks[index] for index in indices],
                self._prepared[number] if self._prepared else None,
                task,
                merge,
                shared,
                own,
            )
            keys.append(key)
        while len(keys) > MERGED_TOGETHER:
            keys = self._merged_in(graph, keys, merge)
        return keys[0] if len(keys) == 1 else (tasks.merge_groups, merge, self.n_blocks, keys)

    def _measure(self) -> None:
        """Have the workers load and keep labels; ask for the rows of each partition."""
        columns = self.partitions.rest.values()
        graph: Graph = {}
        for column in columns:
            graph |= column.graph
        keys = [self._key("labels", number) for number in range(self.partitions.n_partitions)]
        for number, key in enumerate(keys):
            graph[key] = self._load_labels(number)
        labels = kept(self.client, graph, keys)
        facts = self._each("facts", tasks.facts_of, labels)
        n_rows_of = [one.n_rows for one in facts]
        for number, (length, n_rows) in enumerate(
            zip(self.partitions.X.lengths or (), n_rows_of, strict=False)
        ):
            check_lengths(number, "y", n_rows, "X", int(length))
        self._set_places([number for number, n_rows in enumerate(n_rows_of) if n_rows], n_rows_of)
        self._labels = [labels[number] for number in self._places]
        _check_kinds(self._places, [facts[number] for number in self._places])

    def _set_places(self, places: list[int], n_rows_of: list[int]) -> None:
        """Keep which partitions have rows, and how many."""
        if not places:
            raise NoPairsError("the collections have no rows: there is nothing to learn")
        self._places, self.n_blocks = places, len(places)
        self.n_rows_of = [int(n_rows_of[place]) for place in places]

    def _load_labels(self, number: int) -> Any:
        """Return the task that loads the labels of a partition."""
        names, several = tuple(self.partitions.rest), self.partitions.several
        load = functools.partial(tasks.load_labels, names, several, number)
        return (load, *(column.keys[number] for column in self.partitions.rest.values()))

    def _keep_blocks(self, n_bytes: float, *, last: bool = False) -> bool:
        """Have the workers keep the blocks, if they should and the bytes fit; return whether."""
        fits = n_bytes <= SHARE_OF_MEMORY * worker_memory(self.client)
        if self.persist is True or (self.persist == "auto" and fits):
            graph: Graph = {}
            self._kept = kept(self.client, graph, self._blocks_in(graph))
            self._labels = []
        elif last and self.persist == "auto":
            warnings.warn(
                f"X has {n_bytes / 1e9:.3g} GB, more than half of the memory of the workers, so "
                "each pass of the fit reads it again: add workers, or pass float32 X, or leave "
                "persist=False to say that this is meant",
                LargeTransferWarning,
                stacklevel=2,
            )
        return bool(self._kept)

    def _blocks_in(self, graph: Graph, *, labelled: bool = True) -> list[Any]:
        """Return the blocks that are kept, or else keys of tasks that are added to the graph."""
        if self._kept:
            return self._kept
        column, features, keys = self.partitions.X, self.partitions.features, []
        graph |= column.graph
        if labelled and not self._labels:
            for other in self.partitions.rest.values():
                graph |= other.graph
        for index, place in enumerate(self._places):
            key = self._key("block", place)
            graph[key] = (tasks.load_features, place, features, column.keys[place])
            if labelled:
                n_rows = self.n_rows_of[index]
                labels = self._labels[index] if self._labels else self._load_labels(place)
                graph[key] = (tasks.join, place, n_rows, graph[key], labels)
            keys.append(key)
        return keys

    def _merged_in(self, graph: Graph, keys: list[Any], merge: Any) -> list[Any]:
        """Add one level of a tree of merges to the graph; return its keys."""
        merged = []
        for start in range(0, len(keys), MERGED_TOGETHER):
            key = self._key("merge", start)
            together = keys[start : start + MERGED_TOGETHER]
            graph[key] = (tasks.merge_groups, merge, self.n_blocks, together)
            merged.append(key)
        return merged

    def _reports(self, prepared: list[Any]) -> list[Any]:
        """Return the reports of prepared blocks, in order."""
        reports: list[Any] = [None] * self.n_blocks
        found = self._each("report", tasks.reports_of, prepared)
        for indices, several in zip(self._groups, found, strict=True):
            for index, report in zip(indices, several, strict=True):
                reports[index] = report
        return reports

    def _each(self, name: str, function: Callable[[Any], Any], futures: list[Any]) -> list[Any]:
        """Return the function of each value that workers keep."""
        graph = {self._key(name, at): (function, future) for at, future in enumerate(futures)}
        return self._computed(graph, list(graph))

    def _shared_in(self, graph: Graph, shared: Any, n_tasks: int) -> Any:
        """Return what tasks share: with each task if it is small, else the key of a task."""
        if n_tasks * pickled_bytes(shared) <= SMALL:
            return _data(shared)
        key = self._key("shared", 0)
        graph[key] = _data(shared)
        return key

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


def _data(value: Any) -> tuple[Any]:
    """Return a value as a part of a graph in which dask looks for no keys."""
    return (literal(value),)


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
