"""MemoryPasses: blocks in memory as tests go over them, and rows cut into such blocks."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pairrank.blocks._contracts import RowBlock


class MemoryPasses:
    """The plain definition of `Passes`: blocks in a list, and results that are pickled.

    They are merged as a tree or, where `order` is given, one by one.
    """

    order: Sequence[int] | None = None

    def __init__(self, blocks: Iterable[RowBlock]) -> None:
        self.blocks = list(blocks)
        self.n_blocks = len(self.blocks)
        self.n_rows = sum(block.X.shape[0] for block in self.blocks if block.X is not None)
        self.states: list[Any] = [None] * self.n_blocks

    def describe(self, task: Callable[[int, RowBlock, Any], Any], shared: Any) -> list[Any]:
        return [task(index, block, shared) for index, block in enumerate(self.blocks)]

    def prepare(self, task: Callable[[int, RowBlock, Any, Any], Any], shared: Any) -> list[Any]:
        blocks = enumerate(zip(self.blocks, self.states, strict=True))
        found = [task(at, block._replace(X=None), state, shared) for at, (block, state) in blocks]
        self.states = [state for state, _ in found]
        return [report for _, report in found]

    def reduce(
        self,
        task: Callable[[int, Any, Any, Any], Any],
        shared: Any,
        merge: Callable[[Any, Any], Any],
    ) -> Any:
        sent = pickle.loads(pickle.dumps(shared))
        parts = [
            pickle.loads(pickle.dumps(task(index, block.X, state, sent)))
            for index, (block, state) in enumerate(zip(self.blocks, self.states, strict=True))
        ]
        if self.order is not None:
            return functools.reduce(merge, (parts[at] for at in self.order))
        while len(parts) > 1:
            both = [merge(*pair) for pair in zip(parts[::2], parts[1::2], strict=False)]
            parts = both + parts[len(parts) & ~1 :]
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
