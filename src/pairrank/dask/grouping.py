"""Groups of blocks that share a task: those that one worker keeps."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

BLOCKS_TOGETHER = 8
"""One task of a pass has at most so many blocks, so that dask can move work between workers."""


def groups_of(homes: list[str], n_threads: Mapping[str, int]) -> list[tuple[int, ...]]:
    """Return the blocks of each task, ascending: a task for each thread of a worker, or more.

    Parameters
    ----------
    homes : list of str
        The worker that keeps each block.
    n_threads : mapping
        The threads of each worker.
    """
    groups: list[tuple[int, ...]] = []
    for home in dict.fromkeys(homes):
        own = [index for index, other in enumerate(homes) if other == home]
        n_tasks = max(n_threads.get(home, 1), -(-len(own) // BLOCKS_TOGETHER))
        for together in np.array_split(own, min(n_tasks, len(own))):
            groups.append(tuple(together.tolist()))
    return groups
