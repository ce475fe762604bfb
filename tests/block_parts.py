"""The blocks that a pass of a fit goes over, for tests of the blocks themselves."""

from __future__ import annotations

from typing import Any

from pairrank import RowBlocks


def parts_of(rows: RowBlocks) -> Any:
    """Return the X of all blocks of a pass."""
    return rows._passes().describe(_take, None)


def _take(index: int, block: Any, shared: Any) -> Any:
    return block.X
