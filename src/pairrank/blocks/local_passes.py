"""LocalPasses: passes over blocks on one machine, which stay in memory if they fit."""

from __future__ import annotations

import bisect
import contextlib
import copy
import itertools
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from scipy import sparse

from pairrank import threads
from pairrank.blocks._contracts import RowBlock
from pairrank.blocks.checking import Checks, digest_of
from pairrank.blocks.cutting import cut_again, cut_at_queries, kept_of
from pairrank.blocks.sources import Source
from pairrank.exceptions import NoPairsError, PairrankError

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

Part = TypeVar("Part")

STATE_BYTES = 12
"""The memory of a layout per row: place, query and level of a row of a crossing query."""
HELD_BYTES = 40
"""The memory per validation row: label, query, place, and its score twice."""
IN_FLIGHT = 3
"""So many blocks exist at a time: the one in use, the next one, and its columns as decoded."""
INTERPRETER_BYTES = 4e8
"""The memory of Python, the libraries and the sampled rows of a fit, as measured."""


class Reading(NamedTuple):
    """How far a pass over blocks has come."""

    number: int
    """The number of the pass, from 1."""
    n_blocks: int
    n_rows: int
    n_bytes: int
    """Bytes of X so far, as they are in memory."""
    all_blocks: int | None
    """The number of blocks; None in the first pass."""


ReadingHook = Callable[[Reading], object]


class LocalPasses:
    """Passes over the blocks of a source, in order; `Passes` on one machine.

    Call `describe` first: it reads all blocks, keeps all but X, and a checksum of X. Blocks that
    fit into the memory limit stay in memory, so that later passes read the others only.

    `beside` are the passes over training rows where these are over validation rows: the limit of
    the former is that of both together.
    """

    _caches = True
    """Whether there is still room for blocks in memory."""

    def __init__(
        self,
        source: Source,
        memory_limit: float,
        report: ReadingHook | None = None,
        scaler: StandardScaler | None = None,
        beside: LocalPasses | None = None,
    ) -> None:
        self.checks = Checks(source, scaler=scaler)
        self.memory_limit, self.report, self.n_passes = memory_limit, report, 0
        self._row_bytes = STATE_BYTES if beside is None else HELD_BYTES
        self._together: list[LocalPasses] = [] if beside is None else beside._together
        self._together.append(self)
        self._rows: list[RowBlock] = []
        """What each block has besides X."""
        self._sizes: list[int] = []
        self._seen: list[tuple[int, int, int]] = []
        """The number, the rows and the digest of each block of the source."""
        self._cached: list[Any] = []
        self._states: list[Any] = []
        self._largest_block = self._kept_bytes = 0
        self._planned_rows = source.n_rows or 0
        self._fit_memory()

    @property
    def n_blocks(self) -> int:
        """The number of blocks with rows, after the first pass."""
        return len(self._sizes)

    @property
    def n_rows(self) -> int:
        """The number of rows, after the first pass."""
        return sum(self._sizes)

    @property
    def n_features(self) -> int:
        """The number of features, after the first pass."""
        return int(self.checks.n_features)

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the features, after the first pass, if there are any."""
        return self.checks.feature_names

    def describe(self, task: Callable[[int, RowBlock, Any], Part], shared: Any) -> list[Part]:
        """Return `task(index, row_block, shared)` of every block in order: the first pass."""
        found = []
        with self._pass(cut_at_queries(self._first())) as blocks:
            for index, rows in enumerate(blocks):
                self._keep(rows)
                with threads.blas_for(rows.X):
                    found.append(task(index, rows, shared))
                del rows
        self._states = [None] * len(found)
        if not found:
            raise NoPairsError(f"{self.checks.source.name} has no rows: there is nothing to learn")
        return found

    def prepare(
        self, task: Callable[[int, RowBlock, Any, Any], tuple[Any, Part]], shared: Any
    ) -> list[Part]:
        """Set the state of each block and return its report, both from `task`; reads no X.

        Threads share the blocks.
        """
        results = threads.run(
            lambda index: task(index, self._rows[index], self._states[index], shared),
            range(self.n_blocks),
        )
        self._states = [state for state, _ in results]
        return [report for _, report in results]

    def reduce(
        self,
        task: Callable[[int, Any, Any, Any], Part],
        shared: Any,
        merge: Callable[[Part, Part], Part],
    ) -> Part:
        """Return the merged results of `task(index, X, state, shared)` of every block, one pass.

        Results are merged in the order of the blocks.
        """
        merged: Any = None
        with self._pass(self._again()) as blocks:
            for index, rows in enumerate(blocks):
                part = task(index, rows.X, self._states[index], shared)
                merged = merge(merged, part) if index else part
                del rows
        return merged

    @contextlib.contextmanager
    def _pass(self, blocks: Generator[RowBlock, None, None]) -> Iterator[Iterator[RowBlock]]:
        self.n_passes += 1
        with contextlib.closing(blocks):
            yield reported(blocks, self.report, self.n_passes, self.n_blocks or None)

    def _first(self) -> Generator[RowBlock, None, None]:
        """Yield the blocks of the source in the first pass, and keep what later passes compare."""
        with contextlib.closing(self.checks.read()) as blocks:
            for number, rows in blocks:
                self._seen.append((number, rows.X.shape[0], digest_of(rows.X)))
                yield rows
                del rows

    def _again(self) -> Generator[RowBlock, None, None]:
        """Yield the blocks of a later pass: those in memory, then those of the source.

        Scores are not kept for the second pass of crossing rows, because X' g needs X in any case.
        For 20 float32 features X w is a tenth of the processor time of a pass, and scores
        take 8 bytes per row: cached blocks save about as much time by the same memory.
        """
        for X in self._cached:
            yield RowBlock(X)
        first, left = sum(self._sizes[: len(self._cached)]), self._sizes[len(self._cached) :]
        if left:
            ends = list(itertools.accumulate(n_rows for _, n_rows, _ in self._seen))
            start = bisect.bisect_right(ends, first)
            skipped = first - ends[start] + self._seen[start][1]
            with contextlib.closing(self._verified(start)) as read:
                for X in cut_again(read, left, skipped):
                    yield RowBlock(X)
                    del X

    def _verified(self, start: int) -> Generator[Any, None, None]:
        """Yield X of the source's blocks; raise a PairrankError at one that has changed."""
        seen = iter(self._seen[start:])
        first = self._seen[start][0]
        with contextlib.closing(self.checks.read(first, labelled=False)) as blocks:
            for number, rows in blocks:
                X = rows.X
                if next(seen, None) != (number, X.shape[0], digest_of(X)):
                    raise self._changed(number)
                del rows
                yield X
                del X
        if (missing := next(seen, None)) is not None:
            raise self._changed(missing[0])

    def _changed(self, number: int) -> PairrankError:
        return PairrankError(
            f"block {number} of {self.checks.source.name} differs from the first pass: the rows "
            "must stay the same during a fit (no new shuffle or augmentation in each pass)"
        )

    def _keep(self, rows: RowBlock) -> None:
        """Keep what a block has besides X, and a copy of X while there is room."""
        self._rows.append(kept_of(rows))
        self._kept_bytes += sum(part.nbytes for part in self._rows[-1] if part is not None)
        self._sizes.append(rows.X.shape[0])
        self._planned_rows = max(self._planned_rows, self.n_rows)
        self._largest_block = max(self._largest_block, bytes_of(rows.X))
        if self._caches:
            self._cached.append(copy.deepcopy(rows.X))
        self._fit_memory()

    def _fit_memory(self) -> None:
        """Raise a PairrankError where rows need more than the limit; drop cached blocks.

        Only one of the passes reads blocks at a time. The blocks of training rows stay first.
        """
        passes = self._together
        limit, n_rows = passes[0].memory_limit, sum(each._planned_rows for each in passes)
        needed = INTERPRETER_BYTES + sum(each._kept_bytes for each in passes)
        needed += sum(each._row_bytes * each._planned_rows for each in passes)
        needed += IN_FLIGHT * max(each._largest_block for each in passes)
        if needed > limit:
            raise PairrankError(
                f"memory_limit={limit:.3g} bytes is too small: {n_rows:,} rows (validation rows "
                f"included) need {needed:.3g} bytes for labels, queries, layout, three blocks and "
                f"Python itself ({INTERPRETER_BYTES:.0e}); raise it, or take fewer rows per block "
                "(batch_rows)"
            )
        needed += sum(bytes_of(X) for each in passes for X in each._cached)
        for each in reversed(passes):
            while each._cached and needed > limit:
                each._caches = False
                needed -= bytes_of(each._cached.pop())


def reported(
    blocks: Iterator[RowBlock],
    report: ReadingHook | None,
    number: int = 1,
    all_blocks: int | None = None,
) -> Iterator[RowBlock]:
    """Yield the blocks of a pass; report each after it was used."""
    n_rows = n_bytes = 0
    for count, rows in enumerate(blocks, 1):
        yield rows
        n_rows += rows.X.shape[0]
        n_bytes += bytes_of(rows.X)
        del rows
        if report is not None:
            report(Reading(number, count, n_rows, n_bytes, all_blocks))


def bytes_of(X: Any) -> int:
    """Return the bytes of a dense or CSR matrix."""
    if sparse.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)
