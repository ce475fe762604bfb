"""Two passes, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pairrank.blocks._contracts import Passes, SecondPass

Part = TypeVar("Part")


def two_passes(
    passes: Passes,
    task: Callable[[int, Any, Any, Any], Part],
    shared: Any,
    merge: Callable[[Part, Part], Part],
    second: SecondPass,
) -> Part:
    """Return what `second` concludes; this process finishes the first pass."""
    part, given = second.finish(passes.reduce(task, shared, merge), shared)
    result: Part = second.conclude(part, passes.reduce(second.task, given, second.merge))
    return result
