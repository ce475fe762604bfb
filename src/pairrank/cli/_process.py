"""The process of the command line: signals, closed or full standard streams, and the width."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
from _thread import interrupt_main
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_DELAY = 0.02
_NARROWEST = 20
"""A smaller COLUMNS is ignored: some programs set it to 0."""

_received = signal.SIGINT


def prepare() -> None:
    """Make the process ready for a command, before any library is loaded."""
    for number in _SIGNALS:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, exit_at_once)
    _prepare_streams()
    for name in ("COLUMNS", "TERMINAL_WIDTH"):
        width = os.environ.get(name, "")
        if not width.isdecimal() or int(width) < _NARROWEST:
            os.environ.pop(name, None)


def exit_at_once(number: int, frame: FrameType | None) -> None:
    """End the process at once, without the traceback of a KeyboardInterrupt during an import."""
    os._exit(128 + number)


def interrupted_code() -> int:
    """Return the exit code after an interrupt: 130 for Ctrl-C, 143 for SIGTERM."""
    return 128 + _received


class Interruptible:
    """A context in which Ctrl-C and SIGTERM raise KeyboardInterrupt; they are ignored after it.

    Signals that were ignored before, such as Ctrl-C in a shell's background jobs, stay ignored.
    Python drops a KeyboardInterrupt that is raised in a finaliser or in a callback of a C library,
    such as the compiler: it is raised again after a short delay. `dropped` says whether this
    happened, because it may be the cause of a later error.
    """

    def __init__(self) -> None:
        self.dropped = False
        self._handled: list[signal.Signals] = []

    def __enter__(self) -> Interruptible:
        global _received
        _received = signal.SIGINT
        self._handled = [number for number in _SIGNALS if signal.getsignal(number) is exit_at_once]
        for number in self._handled:
            signal.signal(number, _interrupt)
        self._hook = sys.unraisablehook
        sys.unraisablehook = self._raise_again
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._handled:
            signal.signal(number, signal.SIG_IGN)
        sys.unraisablehook = self._hook
        _clear_interrupt()

    def _raise_again(self, dropped: Any) -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            self._hook(dropped)
            return
        self.dropped = True
        later = threading.Timer(_DELAY, interrupt_main)
        later.daemon = True
        later.start()


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _received
    _received = signal.Signals(number)
    raise KeyboardInterrupt


def _clear_interrupt() -> None:
    """Keep the exit code after a KeyboardInterrupt inside an `exec` of text.

    Python remembers such an interrupt (named tuples and compiled loops are made by `exec`) and ends
    the process by the signal, even if it was caught. The next `exec` of text clears that.
    """
    exec("", {})


class _StandardError(io.FileIO):
    """Standard error that never fails, so that a lost message does not end the command."""

    def write(self, data: Any) -> int:
        """Write the data if possible, and report all of it as written."""
        with contextlib.suppress(OSError):
            super().write(data)
        return memoryview(data).nbytes


def _prepare_streams() -> None:
    """Open standard streams that the shell closed, and make standard error safe to write.

    Without this, the next file to be opened would get a closed descriptor, and receive the printed
    text. Writing to an opened one still fails; `sys.stdin` stays None, so that a closed standard
    input is not taken for an empty one.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(_StandardError(2, "wb", closefd=False)),
        encoding=sys.stdout.encoding if sys.stderr is None else sys.stderr.encoding,
        errors="backslashreplace",
        line_buffering=True,
    )


def silence_stdout() -> None:
    """Redirect standard output to the null device, so that its flush at exit cannot fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
