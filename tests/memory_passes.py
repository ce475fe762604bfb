"""MemoryPasses: blocks in memory as tests go over them, and rows cut into such blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from pairrank.blocks._contracts import RowBlock


class MemoryPasses:
    """The plain definition of `Passes`: blocks in a list, merged as a tree.

    `n_described`, `n_prepared` and `n_reduced` count the passes of each kind.
    """

    def __init__(self, blocks: Iterable[RowBlock]) -> None:
        self.blocks = list(blocks)
        self.n_blocks = len(self.blocks)
        self.n_rows = sum(block.X.shape[0] for block in self.blocks if block.X is not None)
        self.states: list[Any] = [None] * self.n_blocks
        self.n_described = self.n_prepared = self.n_reduced = 0

    def describe(self, task: Callable[[int, RowBlock, Any], Any], shared: Any) -> list[Any]:
        self.n_described += 1
        return [task(index, block, shared) for index, block in enumerate(self.blocks)]

    def prepare(self, task: Callable[[int, RowBlock, Any], Any], shared: Any) -> list[Any]:
        self.n_prepared += 1
        reports = []
        for index, block in enumerate(self.blocks):
            state, report = task(index, block._replace(X=None), shared)
            self.states[index] = state
            reports.append(report)
        return reports

    def reduce(
        self,
        task: Callable[[int, Any, Any, Any], Any],
        shared: Any,
        merge: Callable[[Any, Any], Any],
    ) -> Any:
        self.n_reduced += 1
        parts = []
        for index, (block, state) in enumerate(zip(self.blocks, self.states, strict=True)):
            parts.append(task(index, block.X, state, shared))
        while len(parts) > 1:
            pairs = zip(parts[::2], parts[1::2], strict=False)
            odd = parts[-1:] if len(parts) % 2 else []
            parts = [merge(first, second) for first, second in pairs] + odd
        return parts[0]


def cut_rows(X: Any, y: Any, ends: Iterable[int], **aligned: Any) -> MemoryPasses:
    """Return rows cut into blocks that end at `ends`, and at the last row."""
    borders = [0, *ends, X.shape[0]]
    blocks = []
    for start, stop in pairwise(borders):
        part = slice(start, stop)
        arrays = {name: np.asarray(values)[part] for name, values in aligned.items()}
        blocks.append(RowBlock(X[part], np.asarray(y)[part], **arrays))
    return MemoryPasses(blocks)
