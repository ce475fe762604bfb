"""Progress on a terminal while rows are read and models fitted, and the seconds of each."""

from __future__ import annotations

import math
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.filesize import decimal
from rich.live import Live
from rich.text import Text

if TYPE_CHECKING:
    from pairrank.blocks.local_passes import Reading

_PER_SECOND = 4
_SETTLED = 1.0
"""Seconds of reading before the time left is shown."""


class Line(ABC):
    """A line on standard error that shows a text, with new seconds all the time, until it ends.

    It is shown on a terminal only, unless quiet, and removed at the end. `text` gets the seconds
    since `start`. Messages about compiling are printed above it.
    """

    def __init__(self, *, quiet: bool) -> None:
        self.console = Console(stderr=True, quiet=quiet)
        self.is_shown = self.console.is_terminal and not quiet
        self.start = time.monotonic()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self.start = time.monotonic()
        if self.is_shown:
            self._open.enter_context(compiling_announced(self.keep))
            live = Live(
                console=self.console,
                get_renderable=self._renderable,
                refresh_per_second=_PER_SECOND,
                transient=True,
            )
            self._open.enter_context(live)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @abstractmethod
    def text(self, seconds: float) -> str:
        """Return the line after some seconds."""

    def _renderable(self) -> Text:
        text = self.text(time.monotonic() - self.start)
        return Text(text, no_wrap=True, overflow="ellipsis")

    def keep(self, message: str) -> None:
        """Print a line that stays."""
        self.console.print(Text(message), soft_wrap=True)


class Progress(Line):
    """The progress of fits on standard error: objective, duality gap or gradient norm, seconds.

    On a terminal one line is rewritten; elsewhere there is a line per iteration, which stays. It is
    a callback of solvers.
    """

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._last, self._reading = "fitting", ""

    def __call__(self, step: Any) -> None:
        """Show one iteration: a `Step`, or a `BoundStep`."""
        gap, left = gap_of(step), ""
        if not math.isnan(gap):
            left = f"  gap {gap:.3g}"
        elif not math.isnan(step.gradient_norm):
            left = f"  gradient {step.gradient_norm:.3g}"
        self._last = f"{step.n_iter:4d}  objective {step.value:.6g}{left}"
        if not self.is_shown:
            self.keep(f"{self._last}  {step.seconds:.2f} s")

    def reading(self, reading: Reading) -> None:
        """Show how far a pass over blocks has come, on a terminal only."""
        self._reading = f"  {reading_text(reading)}"

    def count(self, n_done: int, n_all: int) -> None:
        """Show how many users are done, on a terminal only."""
        self._last = f"{n_done:,} of {n_all:,} users"

    def text(self, seconds: float) -> str:
        """Return the line after some seconds of the fit."""
        return f"{self._last}{self._reading}  {seconds:.0f} s"


class BlockLine(Line):
    """The progress of one pass over blocks; a hook of RowBlocks."""

    def __init__(self, name: str, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._name, self._last = name, ""

    def __call__(self, reading: Reading) -> None:
        """Take how far the pass has come."""
        self._last = reading_text(reading)

    def text(self, seconds: float) -> str:
        """Return the line after some seconds of the pass."""
        return f"reading {self._name}  {self._last}  {seconds:.0f} s"


def reading_text(reading: Reading) -> str:
    """Return how far a pass over blocks has come."""
    of_all = "" if reading.all_blocks is None else f" of {reading.all_blocks:,}"
    return (
        f"pass {reading.number}: {reading.n_blocks:,}{of_all} blocks, {reading.n_rows:,} rows, "
        f"{decimal(reading.n_bytes)}"
    )


class ReadingLine(Line):
    """The progress of reading a file: bytes, rows so far, seconds left; a callback of `read_rows`.

    Seconds left assume that the rest takes as long per byte as what has been read after the first
    block, which also loads the parser. A second pass over the bytes parses them.
    """

    def __init__(self, name: str, *, quiet: bool) -> None:
        super().__init__(quiet=quiet)
        self._name, self._verb = name, "reading"
        self._now = (0, 0, 0)
        self._first = 0

    def __call__(self, n_bytes: int, size: int, n_rows: int) -> None:
        """Take what has been read; 0 is an unknown size, or number of rows."""
        before = self._now[0]
        if n_bytes < before:
            self._verb = "parsing"
        if before == 0 or n_bytes < before or n_bytes == size:
            self._first, self.start = n_bytes, time.monotonic()
        self._now = (n_bytes, size, n_rows)

    def text(self, seconds: float) -> str:
        """Return the line some seconds after the first block of this pass."""
        n_bytes, size, n_rows = self._now
        if 0 < size <= n_bytes:
            return f"parsing {self._name}  {seconds:.0f} s"
        parts = [f"{self._verb} {self._name}", decimal(n_bytes)]
        if size:
            parts[-1] += f" of {decimal(size)}"
        if n_rows:
            parts.append(f"{n_rows:,} rows")
        if self._first < n_bytes < size and seconds >= _SETTLED:
            left = seconds * (size - n_bytes) / (n_bytes - self._first)
            parts.append(f"{left:.0f} s left")
        return "  ".join(parts)


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


@contextmanager
def compiling_announced(say: Callable[[str], None]) -> Iterator[None]:
    """Say once on standard error, if it is a terminal, when loops have to be compiled."""
    if not Console(stderr=True).is_terminal:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        begun = _n_compiled()
        while not ended.wait(1.0 / _PER_SECOND):
            if _n_compiled() > begun:
                say("compiling for this machine, once; this takes 1 to 15 s per kind of model")
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _n_compiled() -> int:
    """Return how many functions were compiled; 0 where none was needed yet."""
    count = getattr(sys.modules.get("pairrank.compiled._jit"), "n_compiled", None)
    return 0 if count is None else int(count())
