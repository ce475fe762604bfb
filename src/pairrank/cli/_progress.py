"""Progress on a terminal while rows are read and models fitted, and the seconds of each."""

from __future__ import annotations

import math
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.filesize import decimal
from rich.live import Live
from rich.text import Text

if TYPE_CHECKING:
    from pairrank.blocks.local_passes import Reading

_PER_SECOND = 4
_COMPILING = "(compiles for this machine, once)"


class Progress:
    """A line on standard error that says what is done, with new seconds all the time.

    It is shown on a terminal only, unless quiet, and removed at the end. It is a callback of
    solvers; elsewhere than on a terminal each of their iterations is a line that stays. The line
    says so when functions had to be compiled.
    """

    def __init__(self, doing: str = "fitting", *, quiet: bool) -> None:
        self.console = Console(stderr=True, quiet=quiet)
        self.is_shown = self.console.is_terminal and not quiet
        self._doing, self._done, self._pass = doing, "", ""
        self._start, self._n_compiled = time.monotonic(), n_compiled()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self._start = time.monotonic()
        if self.is_shown:
            live = Live(
                console=self.console,
                get_renderable=lambda: Text(self.text, no_wrap=True, overflow="ellipsis"),
                refresh_per_second=_PER_SECOND,
                transient=True,
            )
            self._open.enter_context(live)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @property
    def text(self) -> str:
        """The line now."""
        seconds = f"{time.monotonic() - self._start:.0f} s"
        compiling = _COMPILING if n_compiled() > self._n_compiled else ""
        return "  ".join(filter(None, (self._doing, self._done, self._pass, seconds, compiling)))

    def keep(self, message: str) -> None:
        """Print a line that stays."""
        self.console.print(Text(message), soft_wrap=True)

    def __call__(self, step: Any) -> None:
        """Show one iteration: a `Step`, or a `BoundStep`."""
        gap, left = gap_of(step), ""
        if not math.isnan(gap):
            left = f"  gap {gap:.3g}"
        elif not math.isnan(step.gradient_norm):
            left = f"  gradient {step.gradient_norm:.3g}"
        self._doing, self._done = f"{step.n_iter:4d}", f"objective {step.value:.6g}{left}"
        if not self.is_shown:
            self.keep(f"{self._doing}  {self._done}  {step.seconds:.2f} s")

    def reading(self, reading: Reading) -> None:
        """Show how far a pass over blocks has come: a hook of RowBlocks."""
        of_all = "" if reading.all_blocks is None else f" of {reading.all_blocks:,}"
        self._pass = (
            f"pass {reading.number}: {reading.n_blocks:,}{of_all} blocks, {reading.n_rows:,} rows, "
            f"{decimal(reading.n_bytes)}"
        )

    def read(self, n_bytes: int, size: int, n_rows: int) -> None:
        """Show how much of a file is read: a callback of `read_rows`; 0 is unknown."""
        of_all = f" of {decimal(size)}" if size else ""
        self._done = f"{decimal(n_bytes)}{of_all}{f'  {n_rows:,} rows' if n_rows else ''}"


class Stopwatch:
    """Seconds by what they were spent on."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def on(self, what: str) -> None:
        """Count the seconds since the last call."""
        before, self._last = self._last, time.perf_counter()
        self.seconds[f"seconds {what}"] = self._last - before


def gap_of(step: Any) -> float:
    """Return how far the objective may be above its minimum; NaN if the solver gives no bound."""
    if hasattr(step, "lower_bound"):
        return float(step.value - step.lower_bound)
    return float(step.gap)


def n_compiled() -> int:
    """Return how many functions this process has compiled; 0 where none was needed yet."""
    count = getattr(sys.modules.get("pairrank.compiled._jit"), "n_compiled", None)
    return 0 if count is None else int(count())
