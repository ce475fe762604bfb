"""The rows that the passes of RowBlocks hold, for tests of the blocks themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from pairrank.blocks import RowBlocks


def all_rows(rows: RowBlocks) -> Any:
    """Return the X of all blocks of a pass, dense."""
    return rows.passes().describe(_take, None)


def joined(rows: RowBlocks) -> Any:
    """Return all rows of X as one dense matrix."""
    return np.vstack(
        [part.toarray() if hasattr(part, "toarray") else part for part in all_rows(rows)]
    )


def _take(index: int, block: Any, shared: Any) -> Any:
    return block.X
