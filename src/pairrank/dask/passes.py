"""DaskPasses: passes over the partitions of a cluster, each a graph of few large tasks."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import distributed

from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.checking import check_kinds, naming
from pairrank.dask import tasks
from pairrank.dask.clients import computed, kept, shared_by_tasks, task_of, worker_memory
from pairrank.dask.partitions import Partitions, check_lengths
from pairrank.exceptions import NoPairsError, PairrankWarning

Part = TypeVar("Part")
Persist = Literal["auto"] | bool

MERGED_TOGETHER = 8
"""The results of so many tasks are merged by one: fewer tasks, and a tree that is not deep."""
SHARE_OF_MEMORY = 0.5


class DaskPasses:
    """Passes over rows on a cluster; implements `Passes` of `pairrank.blocks._contracts`.

    A block is a partition that has rows. Blocks stay on the workers if `persist` says so, as tasks
    that are computed again if a worker dies. No task is bound to a worker. A pass has a task for
    each block, which costs the client and the scheduler as much time as 100,000 rows.

    `persist` says whether blocks stay in the memory of the workers: "auto" if their features fit in
    half of it. If not, each pass reads these again.
    """

    def __init__(
        self, partitions: Partitions, client: distributed.Client, persist: Persist = "auto"
    ) -> None:
        self.partitions, self.client, self.persist = partitions, client, persist
        self.n_passes = 0
        """The round trips for all blocks so far."""
        self._kept: list[Any] = []
        """The blocks, if workers keep them; they always keep the labels."""
        self._digests: list[int] = []
        self._load_labels()
        self._prepared: list[Any] = [(None, None)] * self.n_blocks
        """The state and the report of each block."""

    @property
    def n_blocks(self) -> int:
        """The number of partitions that have rows."""
        return len(self._places)

    @property
    def n_rows(self) -> int:
        """The number of rows of all blocks."""
        return sum(facts.n_rows for facts in self._facts)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.partitions.features.n_features

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features, if they are text."""
        names = self.partitions.features.names
        return names if names and all(isinstance(name, str) for name in names) else None

    def describe(self, task: Callable[[int, RowBlock, Any], Part], shared: Any) -> list[Part]:
        """Return `task(index, row_block, shared)` of every block in order: the first pass."""
        if not self._kept:
            self._keep_blocks(self.n_rows * self.partitions.features.row_bytes)
        given = shared_by_tasks(shared)
        described = [
            task_of(tasks.describe, index, block, task, given)
            for index, block in enumerate(self._blocks())
        ]
        found, self._digests, n_bytes = map(list, zip(*self._computed(described), strict=True))
        if not self._kept:
            self._keep_blocks(sum(n_bytes), last=True)
        return found

    def prepare(
        self, task: Callable[[int, RowBlock, Any, Any], tuple[Any, Part]], shared: Any
    ) -> list[Part]:
        """Set the state of each block; return a report of each in order."""
        given = shared_by_tasks(shared)
        blocks = zip(self._facts, self._labels, self._prepared, strict=True)
        states = [
            task_of(tasks.prepare, index, facts.digest, labels, before, task, given)
            for index, (facts, labels, before) in enumerate(blocks)
        ]
        self._prepared = kept(self.client, states)
        return self._each(operator.itemgetter(1), self._prepared)

    def reduce(
        self,
        task: Callable[[int, Any, Any, Any], Part],
        shared: Any,
        merge: Callable[[Part, Part], Part],
    ) -> Part:
        """Return the merged results of `task(index, X, state, shared)` of every block, one pass."""
        given = shared_by_tasks(shared)
        blocks = zip(self._digests, self._blocks(), self._prepared, strict=True)
        parts = [
            task_of(tasks.evaluate, index, digest, block, state, task, given)
            for index, (digest, block, state) in enumerate(blocks)
        ]
        while len(parts) > 1:
            parts = [
                task_of(tasks.merge, merge, parts[start : start + MERGED_TOGETHER])
                for start in range(0, len(parts), MERGED_TOGETHER)
            ]
        return self._computed(parts)[0]

    def _load_labels(self) -> None:
        """Have the workers load and keep labels; ask for the rows of each partition."""
        columns = self.partitions.rest
        load = functools.partial(tasks.load_labels, tuple(columns))
        parts = zip(*(column.parts for column in columns.values()), strict=True)
        labels = kept(self.client, [task_of(load, at, *each) for at, each in enumerate(parts)])
        facts = self._each(tasks.facts_of, labels)
        X, numbers = self.partitions.X, list(range(len(facts)))
        lengths = X.lengths
        if lengths is None:  # those of partitions with labels are compared when these are loaded
            numbers = [number for number in numbers if not facts[number].n_rows]
            lengths = self._each(len, [X.parts[number] for number in numbers])
        for number, length in zip(numbers, lengths, strict=True):
            check_lengths(number, "y", facts[number].n_rows, "X", int(length))
        self._places = [number for number, one in enumerate(facts) if one.n_rows]
        if not self._places:
            raise NoPairsError("the collections have no rows: there is nothing to learn")
        self._labels = [labels[number] for number in self._places]
        self._facts: list[tasks.Facts] = [facts[number] for number in self._places]
        for place, one in zip(self._places, self._facts, strict=True):
            with naming(f"partition {place}"):
                check_kinds(one.kinds, self._facts[0].kinds)

    def _keep_blocks(self, n_bytes: float, *, last: bool = False) -> None:
        """Have the workers keep the blocks, if they should and the bytes fit."""
        fits = n_bytes <= SHARE_OF_MEMORY * worker_memory(self.client)
        if self.persist is True or (self.persist == "auto" and fits):
            self._kept = kept(self.client, self._blocks())
        elif last and self.persist == "auto":
            warnings.warn(
                f"X has {n_bytes / 1e9:.3g} GB, more than half of the memory of the workers, so "
                "each pass of the fit reads it again: add workers, or pass float32 X, or leave "
                "persist=False to say that this is meant",
                PairrankWarning,
                stacklevel=2,
            )

    def _blocks(self) -> list[Any]:
        """Return the blocks that are kept, or else tasks that load them."""
        if self._kept:
            return self._kept
        parts, features = self.partitions.X.parts, self.partitions.features
        return [
            task_of(tasks.load_block, place, features, parts[place], labels)
            for place, labels in zip(self._places, self._labels, strict=True)
        ]

    def _each(self, function: Callable[[Any], Any], values: list[Any]) -> list[Any]:
        """Return the function of each value of a task or a future."""
        return self._computed([task_of(function, value) for value in values])

    def _computed(self, parts: list[Any]) -> list[Any]:
        self.n_passes += 1
        return computed(self.client, parts)
