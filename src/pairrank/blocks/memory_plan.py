"""MemoryPlan: what the blocks of a fit need together, training and validation rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairrank.exceptions import PairrankError

if TYPE_CHECKING:
    from pairrank.blocks.local_passes import LocalPasses

IN_FLIGHT = 3
"""So many blocks exist at a time: the one in use, the next one, and its columns as decoded."""
INTERPRETER_BYTES = 4e8
"""The memory of Python, the libraries and the sampled rows of a fit, as measured."""


class MemoryPlan:
    """The passes of a fit, and the bytes that they may need together.

    Only one of them reads blocks at a time.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._all: list[LocalPasses] = []

    def join(self, passes: LocalPasses) -> None:
        """Add passes; the blocks of those that join first stay in memory first."""
        self._all.append(passes)
        self.check()

    def check(self) -> None:
        """Raise a PairrankError where rows need more than the limit; drop cached blocks."""
        in_flight = IN_FLIGHT * max(each.largest_block for each in self._all)
        state = sum(each.state_bytes for each in self._all)
        needed = INTERPRETER_BYTES + state + in_flight
        if needed > self.limit:
            room = self.limit - INTERPRETER_BYTES
            smaller = ", or take fewer rows per block (batch_rows)" * (in_flight > room / 2 > 0)
            n_rows = sum(each.planned_rows for each in self._all)
            held = " (validation rows included)" * (len(self._all) > 1)
            raise PairrankError(
                f"memory_limit={self.limit:.3g} bytes is too small: {n_rows:,} rows{held} "
                f"need {state / 1e6:,.0f} MB for labels, queries and layout, blocks in flight "
                f"{in_flight / 1e6:,.0f} MB, Python and its libraries "
                f"{INTERPRETER_BYTES / 1e6:,.0f} MB; raise it{smaller}"
            )
        for each in reversed(self._all):
            while each.cached_bytes and needed + self._cached_bytes > self.limit:
                each.drop_cached()

    @property
    def _cached_bytes(self) -> int:
        return sum(each.cached_bytes for each in self._all)
