"""Two passes, the second of which needs what the first one gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pairrank.blocks._contracts import Passes

Part = TypeVar("Part")
Other = TypeVar("Other")


def two_passes(
    passes: Passes,
    task: Callable[[int, Any, Any, Any], Part],
    shared: Any,
    merge: Callable[[Part, Part], Part],
    finish: Callable[[Part, Any], tuple[Part, Any]],
    second: Callable[[int, Any, Any, Any], Other],
    add: Callable[[Other, Other], Other],
    conclude: Callable[[Part, Other], Part],
) -> Part:
    """Return the results of `Passes.reduce_twice`, one pass after the other."""
    part, given = finish(passes.reduce(task, shared, merge), shared)
    return conclude(part, passes.reduce(second, given, add))
