"""Tasks of passes that tests send to workers, which import this file by its name."""

from __future__ import annotations

import time
from typing import Any


def keep_labels(index: int, block: Any, state: Any, shared: Any) -> Any:
    """Return the labels as the state, and how many there are as the report."""
    assert block.X is None
    return block.y * shared, len(block.y)


def gradient(index: int, X: Any, state: Any, shared: Any) -> Any:
    """Return the sum over rows of label times features, and the shared vector's score sum."""
    return [X.T @ state, float((X @ shared).sum()), [index]]


def add(first: Any, second: Any) -> Any:
    """Add the second result into the first, as a merge may."""
    first[0] += second[0]
    return [first[0], first[1] + second[1], first[2] + second[2]]


def sleep(index: int, X: Any, state: Any, shared: Any) -> Any:
    """Take so many seconds."""
    time.sleep(shared)
    return index


def count_threads(index: int, block: Any, shared: Any) -> Any:
    """Return how many threads the task's work and its linear algebra may use."""
    from threadpoolctl import threadpool_info

    from pairrank import threads

    blas = {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}
    return threads.n_threads(), tuple(blas)


def changed_once(block: Any, path: str) -> Any:
    """Return a block as it is at the first reading of the file's marks, and other rows later."""
    if len(block) != 40:
        return block
    with open(path, "a+") as marks:
        marks.write("x")
        marks.seek(0)
        n_readings = len(marks.read())
    return block + float(n_readings > 1)
